// What the operation profile takes for Python, and what of a folder of passes it believes.

#include "ops/capture/profile_python.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"

namespace nl::ops {
namespace {

using nlohmann::json;

TEST(PythonTarget, ScriptsAndFunctions) {
  for (const char* python : {"a.py", "/x/a.py", "a.py:main", "/x y/a.py:Net.run", "pack.mod:f", "m:f"})
    EXPECT_TRUE(is_python_target(python)) << python;
  for (const char* other : {"a.onnx", "a.plan", "m:", ":f", "m:f:g", "m f:g", "dir/m:f", ""})
    EXPECT_FALSE(is_python_target(other)) << other;
}

class TakenPasses : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_folders(from_));
    ASSERT_TRUE(make_folders(to_));
    ASSERT_TRUE(write_file_durably(from_ + "/trace.json", "{}"));
  }
  void TearDown() override { remove_tree(folder_); }

  Result<MeasuredProfile> take(const json& passes) {
    EXPECT_TRUE(write_file_durably(from_ + "/passes.json", passes.dump()));
    return take_python_passes(from_, to_);
  }
  static json passes() {
    return {{"framework",
             {{"name", "torch"}, {"version", "2"}, {"path", "/t"}, {"provider", "CPU"}, {"threads", 2}}},
            {"target", "net"},
            {"profiles", {"trace.json"}},
            {"files", json::array()},
            {"notes", {"odd"}},
            {"labels", {{"model", "net"}}},
            {"inputs", json::array()},
            {"memory", {{"peak_bytes", nullptr}, {"stages", json::array()}}},
            {"clock", json::object()},
            {"iterations", json::array()}};
  }

  std::string folder_ = testing::TempDir() + "neurolens-passes-" + std::to_string(::getpid());
  std::string from_ = folder_ + "/from", to_ = folder_ + "/to";
};

TEST_F(TakenPasses, AreCopiedAndDescribed) {
  const auto measured = take(passes());
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_EQ(measured->profiles, std::vector<std::string>{"trace.json"});
  EXPECT_TRUE(path_exists(to_ + "/trace.json"));
  EXPECT_EQ(measured->library["name"], "torch");
  EXPECT_EQ(measured->warnings, std::vector<std::string>{"odd"});
  EXPECT_FALSE(measured->document.contains("profiles"));
}

TEST_F(TakenPasses, DoNotReachOutOfTheirFolder) {
  for (const char* name : {"../from/trace.json", "/etc/passwd", "..", ".hidden", "a/b", ""}) {
    json document = passes();
    document["profiles"] = {name};
    const auto measured = take(document);
    EXPECT_TRUE(!measured && measured.error().code == ErrorCode::kBadInput) << name;
  }
}

TEST_F(TakenPasses, OfAnotherShapeAreRefused) {
  for (const char* member : {"framework", "profiles", "inputs", "memory", "iterations", "labels"}) {
    json document = passes();
    document[member] = 7;
    const auto measured = take(document);
    EXPECT_TRUE(!measured && measured.error().code == ErrorCode::kBadInput) << member;
    document.erase(member);
    EXPECT_FALSE(take(document)) << member;
  }
  ASSERT_TRUE(write_file_durably(from_ + "/passes.json", "{\"framework\":"));
  EXPECT_FALSE(take_python_passes(from_, to_));
}

}  // namespace
}  // namespace nl::ops
