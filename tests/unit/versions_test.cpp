#include "model/versions.h"

#include <gtest/gtest.h>

#include "source_folder.h"
#include "store/run_document.h"

namespace nl::model {
namespace {

using nlohmann::json;

void add_b(json& document) {
  document["b"] = document["a"];
}
void rename_b(json& document) {
  document["c"] = document["b"];
  document.erase("b");
}
constexpr VersionStep kSteps[] = {add_b, rename_b};

TEST(Versions, ReadsTheNumber) {
  EXPECT_EQ(version_of("neurolens.run/12", "neurolens.run/"), 12);
  for (const char* other : {"", "neurolens.run/", "neurolens.run/0", "neurolens.run/-1", "neurolens.run/1x",
                            "neurolens.runs/1"}) {
    EXPECT_EQ(version_of(other, "neurolens.run/"), 0) << other;
  }
}

TEST(Versions, AppliesTheStepsThatAreMissing) {
  json first = {{"schema", "x/1"}, {"a", 5}};
  ASSERT_TRUE(migrate(first, "x/", kSteps));
  EXPECT_EQ(first, (json{{"schema", "x/3"}, {"a", 5}, {"c", 5}}));
  json second = {{"schema", "x/2"}, {"b", 7}};
  ASSERT_TRUE(migrate(second, "x/", kSteps));
  EXPECT_EQ(second, (json{{"schema", "x/3"}, {"c", 7}}));
  json third = second;
  ASSERT_TRUE(migrate(third, "x/", kSteps));
  EXPECT_EQ(third, second);
}

TEST(Versions, RefusesNewerAndOtherDocuments) {
  json newer = {{"schema", "x/4"}};
  const auto refused = migrate(newer, "x/", kSteps);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(refused.error().hint.empty());
  for (json other : {json::array(), json::object(), json{{"schema", 3}}, json{{"schema", "y/1"}}}) {
    EXPECT_EQ(migrate(other, "x/", kSteps).error().code, ErrorCode::kBadInput) << other;
  }
}

TEST(Versions, RunOfVersionOneIsReadAsThePresentOne) {
  const auto document = store::read_run_document(source_folder() + "/tests/fixtures/run_1/run.json");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ((*document)["schema"], "neurolens.run/" + std::to_string(store::kSchemaVersion));
  EXPECT_EQ((*document)["revision"]["schema"], 1) << "what it was written with";
}

}  // namespace
}  // namespace nl::model
