// The cutter of answers by itself, on an answer made up here.

#include <gtest/gtest.h>

#include "base/json_schema.h"
#include "ops/budget.h"
#include "ops/envelope.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kResult[] = R"({
  "type": "object", "additionalProperties": false,
  "required": ["verdict", "rows", "places", "figures", "maybe", "pairs"],
  "properties": {
    "verdict": {"type": "string"},
    "rows": {"type": "array", "items": {"type": "object"}}, "name": {"type": "string"},
    "places": {"type": "array", "items": {"type": "object", "required": ["weight", "inner"],
      "properties": {"weight": {"type": "integer"}, "inner": {"type": "array"}}}},
    "figures": {"type": "object", "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "object"}]}},
    "maybe": {"anyOf": [{"type": "object", "required": ["text"]}, {"type": "null"}]},
    "extra": {"type": "object"},
    "unnamed": {"type": "array"},
    "pairs": {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2}}}})";

constexpr Cut kCuts[] = {{"/name", 51},
                         {"/figures"},
                         {"/extra"},
                         {"/pairs"},
                         {"/places/*/inner", 1},
                         {"/rows", 2},
                         {"/places", 1, "weight"},
                         {"/maybe"},
                         {"/rows"}};

const Operation kOperation{.name = "made_up",
                           .summary = "",
                           .use_when = "",
                           .not_when = "",
                           .example = "{}",
                           .parameters = R"({"properties": {}})",
                           .result = kResult,
                           .effect = Effect::kRead,
                           .reach = {},
                           .cuts = kCuts,
                           .run = nullptr,
                           .text = nullptr};

/// Of characters with two bytes.
std::string long_name() {
  std::string name;
  for (int i = 0; i < 100; i++) name += "\xC3\xA4";
  return name;
}

json answer() {
  json data = {{"verdict", "this is what it is about"},
               {"rows", json::array()},
               {"name", long_name()},
               {"places", json::array()},
               {"figures", {{"large", 900}, {"small", 1}, {"unknown", {{"absent", "nobody measured it"}}}}},
               {"maybe", {{"text", std::string(90, 'm')}}},
               {"extra", {{"text", std::string(90, 'e')}}},
               {"unnamed", json::array()},
               {"pairs", json::array()}};
  for (int i = 0; i < 10; i++) {
    data["rows"].push_back({{"number", i}, {"text", "a row \xC3\xA4 of some length"}});
    data["unnamed"].push_back("an entry of a list that no cut names");
    data["pairs"].push_back({i, i * i});
  }
  for (const int weight : {3, 9, 5}) {
    json place = {{"weight", weight}, {"inner", json::array()}};
    for (int i = 0; i < 3 + weight; i++) place["inner"].push_back(std::string(12, 'i'));
    data["places"].push_back(std::move(place));
  }
  return data;
}

struct CutAnswer {
  json data;
  json left_out;
  size_t bytes = 0;
};

Result<CutAnswer> cut(int64_t tokens) {
  Context context;
  Outcome outcome;
  outcome.data = answer();
  outcome.next = {{"show", R"({"run": "a"})"}};
  NL_CHECK(cut_to_budget(kOperation, tokens, context, outcome));
  const size_t bytes = compact_json(envelope_of("made_up", outcome, context.spell)).size() + 1;
  return CutAnswer{outcome.data, outcome.left_out, bytes};
}

json place_of(const json& left_out, const std::string& where) {
  for (const json& one : left_out) {
    if (one["where"] == where) return one;
  }
  return nullptr;
}

bool holds(const json& large, const json& small) {
  if (small.is_null() || large == small) return true;
  if (large.is_string() && small.is_string())
    return large.get<std::string>().starts_with(small.get<std::string>());
  if (large.type() != small.type() || !large.is_structured()) return false;
  if (large.is_object()) {
    for (const auto& [key, value] : small.items()) {
      if (!large.contains(key) || !holds(large[key], value)) return false;
    }
    return true;
  }
  size_t from = 0;  // rows stay in their order
  for (const json& row : small) {
    while (from < large.size() && !holds(large[from], row)) from++;
    if (from++ >= large.size()) return false;
  }
  return true;
}

TEST(AnswerBudget, LeavesAnAnswerAloneThatFits) {
  const auto found = cut(10'000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->data, answer());
  EXPECT_TRUE(found->left_out.is_null());
}

TEST(AnswerBudget, HoldsForEveryBudget) {
  const JsonSchema schema(kResult, "made_up");
  json smaller;
  int64_t least = 0;
  for (int64_t tokens = 20; tokens < 700; tokens++) {
    SCOPED_TRACE(tokens);
    const auto found = cut(tokens);
    if (!found) {
      EXPECT_EQ(found.error().code, ErrorCode::kLimit);
      EXPECT_TRUE(smaller.is_null()) << "a smaller budget was enough";
      least = std::stoll(found.error().hint.substr(found.error().hint.rfind(' ')));
      EXPECT_GT(least, tokens);
      continue;
    }
    EXPECT_TRUE(!smaller.is_null() || tokens == least) << "not the least budget that works";
    EXPECT_LE(found->bytes, static_cast<size_t>(tokens * kBytesPerToken));
    const auto faults = schema.faults(found->data, 5);
    ASSERT_TRUE(faults);
    for (const auto& fault : *faults) ADD_FAILURE() << fault_text(fault);
    EXPECT_EQ(found->data["verdict"], answer()["verdict"]);
    EXPECT_TRUE(holds(found->data, smaller)) << "a smaller budget showed more";
    smaller = found->data;
  }
  EXPECT_EQ(smaller, answer());
}

TEST(AnswerBudget, CutsWhatMattersLeastAndCountsIt) {
  size_t before = 0;
  for (int64_t tokens = 600; tokens > 60; tokens--) {
    const auto found = cut(tokens);
    if (!found) break;
    SCOPED_TRACE(tokens);
    const json &data = found->data, &out = found->left_out;
    const bool is_cut = !out.is_null();
    EXPECT_TRUE(!is_cut || !place_of(out, "/unnamed").is_null()) << "goes first";
    EXPECT_TRUE(data["unnamed"].empty() || data["rows"] == answer()["rows"]);
    for (const char* list : {"rows", "unnamed", "pairs"}) {
      const json entry = is_cut ? place_of(out, "/" + std::string(list)) : json();
      const size_t shown = data[list].size();
      EXPECT_EQ(entry.is_null() ? 0 : entry["rows"].get<size_t>(), 10 - shown) << list;
      EXPECT_TRUE(entry.is_null() || entry["of"] == 10) << list;
    }
    before = data["rows"].size();
  }
  EXPECT_EQ(before, 0u);
}

/// What is not known goes before small figures, rows of little weight before others.
TEST(AnswerBudget, WeighsEntriesAndRows) {
  bool has_seen_figures = false, has_seen_places = false;
  for (int64_t tokens = 600; tokens > 60; tokens--) {
    const auto found = cut(tokens);
    if (!found) break;
    const json& figures = found->data["figures"];
    EXPECT_NE(figures.contains("unknown"), figures.size() < 3) << figures;
    EXPECT_NE(figures.contains("large"), figures.empty()) << figures;
    has_seen_figures = has_seen_figures || figures.size() == 1;
    const json& places = found->data["places"];
    if (places.size() != 1) continue;
    EXPECT_EQ(places[0]["weight"], 9);
    const json entry = place_of(found->left_out, "/places/*/inner");
    EXPECT_EQ(entry["of"], 3 * 3 + 17) << "of all places, those that are not shown as well";
    EXPECT_EQ(entry["rows"].get<size_t>() + places[0]["inner"].size(), entry["of"].get<size_t>());
    has_seen_places = true;
  }
  EXPECT_TRUE(has_seen_figures);
  EXPECT_TRUE(has_seen_places);
}

TEST(AnswerBudget, KeepsTheBeginningOfANamedText) {
  const auto found = cut(300);
  ASSERT_TRUE(found) << found.error().hint;
  EXPECT_EQ(found->data["name"], long_name().substr(0, 50)) << "no half of a character";
  EXPECT_EQ(place_of(found->left_out, "/name"), json({{"where", "/name"}, {"rows", 150}, {"of", 200}}));
}

}  // namespace
}  // namespace nl::ops
