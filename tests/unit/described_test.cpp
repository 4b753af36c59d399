#include "base/described.h"

#include <gtest/gtest.h>

#include <cmath>

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

enum class Colour { kRed, kBlue };
std::string_view colour_name(Colour colour) {
  return colour == Colour::kRed ? "red" : "blue";
}

struct Point {
  int64_t x = 0;
  std::optional<double> y;
  static constexpr bool kIsRow = true;
  static constexpr auto fields() { return std::tuple{field("x", &Point::x), field("y", &Point::y)}; }
};

}  // namespace

template <>
struct DescribedAs<Colour> : DescribedEnum<Colour, colour_name, 2> {};

namespace {

struct Joined {
  Inner inner;
  std::optional<Point> none;
  std::optional<Inner> maybe = {};
  Known<double> gain = Absent{"no metrics"};
  Known<Inner> peaks = Absent{"no device"};
  Colour colour = Colour::kBlue;
  std::vector<Point> points = {};
  std::array<int64_t, 2> pair = {};
  static constexpr auto fields() {
    return std::tuple{merged(&Joined::inner),
                      merged(&Joined::maybe),
                      field_known("gain", &Joined::gain),
                      field("peaks", &Joined::peaks),
                      field("colour", &Joined::colour),
                      field("points", &Joined::points),
                      field("pair", &Joined::pair),
                      field_if_any("none", &Joined::none)};
  }
};

TEST(Described, MergesStructsAndKeepsReasons) {
  Joined value{{"a", 1}, {}};
  value.points = {{1, 2.5}, {3, std::nullopt}};
  EXPECT_EQ(to_json_tree(value), json::parse(R"({"name": "a", "time_ns": 1, "gain": null,
    "absent_reason": "no metrics", "peaks": {"absent": "no device"}, "colour": "blue",
    "points": [[1, 2.5], [3, null]], "pair": [0, 0]})"));
  value.maybe = Inner{"b", 2};
  value.gain = 0.5;
  value.peaks = Inner{"c", 3};
  const json tree = to_json_tree(value);
  EXPECT_EQ(tree["name"], "b");
  EXPECT_EQ(tree["gain"], 0.5);
  EXPECT_FALSE(tree.contains("absent_reason"));
  EXPECT_EQ(tree["peaks"]["time_ns"], 3);
}

TEST(Described, ChecksEnumsRowsAndMergedFields) {
  const JsonSchema checker(std::string(schema_text<Joined>()), "value");
  Joined value{{"a", 1}, {}};
  value.points = {{1, 2.5}};
  const json tree = to_json_tree(value);
  EXPECT_TRUE(checker.validate(tree));
  for (const auto& [pointer, wrong] : std::initializer_list<std::pair<const char*, json>>{
           {"/colour", "green"}, {"/points/0", json::array({1})}, {"/name", 1}, {"/peaks", json::object()}}) {
    json bad = tree;
    bad[json::json_pointer(pointer)] = wrong;
    EXPECT_FALSE(checker.validate(bad)) << pointer;
  }
}

struct Range {
  double low = 0;
  std::optional<double> high;
  static constexpr auto fields() {
    return std::tuple{field_maybe_endless("low", &Range::low), field_maybe_endless("high", &Range::high)};
  }
};

struct NamedRange : Range {
  std::string name;
  static constexpr auto fields() {
    return std::tuple_cat(Range::fields(), std::tuple{field("name", &NamedRange::name)});
  }
};

TEST(Described, WritesInfinityAsNull) {
  const JsonSchema checker(std::string(schema_text<Range>()), "value");
  EXPECT_EQ(to_json_tree(Range{-INFINITY, 2}), json::parse(R"({"low": null, "high": 2.0})"));
  EXPECT_EQ(to_json_tree(Range{1, std::nullopt}), json::parse(R"({"low": 1.0})"));
  EXPECT_TRUE(checker.validate(to_json_tree(Range{-INFINITY, INFINITY})));
  EXPECT_FALSE(checker.validate(json::parse(R"({"high": 2.0})")));
}

TEST(Described, AStructAddsToTheFieldsOfItsBase) {
  NamedRange value;
  value.name = "a";
  EXPECT_EQ(to_json_tree(value), json::parse(R"({"low": 0.0, "name": "a"})"));
  EXPECT_TRUE(JsonSchema(std::string(schema_text<NamedRange>()), "value").validate(to_json_tree(value)));
}

}  // namespace
}  // namespace nl
