#include "base/described.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/json_schema.h"

namespace nl {
namespace {

using nlohmann::json;

struct Inner {
  std::string name;
  int64_t time_ns = 0;
  static constexpr auto fields() {
    return std::tuple{field("name", &Inner::name, "of the kernel"), field("time_ns", &Inner::time_ns)};
  }
};

struct Outer {
  bool ok = false;
  double share = 0;
  std::optional<int64_t> known;
  std::optional<std::string> note;
  std::vector<Inner> rows;
  std::map<std::string, int64_t> counts;
  std::vector<bool> flags;
  static constexpr auto fields() {
    return std::tuple{field("ok", &Outer::ok),       field("share", &Outer::share),
                      field("known", &Outer::known), field_if_any("note", &Outer::note),
                      field("rows", &Outer::rows),   field("counts", &Outer::counts),
                      field("flags", &Outer::flags)};
  }
};

TEST(Described, GivesTheTreeOfItsFields) {
  const Outer value{true, 0.5, std::nullopt, std::nullopt, {{"a", 1}, {"b", 2}}, {{"x", 3}}, {true, false}};
  EXPECT_EQ(to_json_tree(value), json::parse(R"({"ok": true, "share": 0.5, "known": null, "counts": {"x": 3},
    "rows": [{"name": "a", "time_ns": 1}, {"name": "b", "time_ns": 2}], "flags": [true, false]})"));
}

TEST(Described, LeavesOutWhatIsNotThere) {
  Outer value;
  EXPECT_FALSE(to_json_tree(value).contains("note"));
  value.note = "said";
  EXPECT_EQ(to_json_tree(value)["note"], "said");
}

TEST(Described, GivesTheSchemaThatItsTreesFollow) {
  const json schema = schema_of<Outer>();
  EXPECT_EQ(schema["properties"]["rows"]["items"]["properties"]["name"],
            json::parse(R"({"type": "string", "description": "of the kernel"})"));
  const JsonSchema checker(schema.dump(), "value");
  Outer value;
  EXPECT_TRUE(checker.validate(to_json_tree(value)));
  value = {true, 0.5, 7, "said", {{"a", 1}}, {{"x", 3}}, {true}};
  json tree = to_json_tree(value);
  EXPECT_TRUE(checker.validate(tree));
  tree["rows"][0]["time_ns"] = "long";
  EXPECT_FALSE(checker.validate(tree));
  const auto& required = schema["required"];
  EXPECT_EQ(std::count(required.begin(), required.end(), "note"), 0);
  EXPECT_EQ(std::count(required.begin(), required.end(), "known"), 1);
}

}  // namespace
}  // namespace nl
