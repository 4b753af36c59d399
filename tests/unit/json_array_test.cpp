#include "ingest/json/json_array.h"

#include <gtest/gtest.h>

#include <random>

#include "base/json.h"
#include "ingest/json/json_cursor.h"

namespace nl::ingest {
namespace {

using nlohmann::json;

/// All elements of all windows, and the envelope.
Result<std::pair<json, json>> split(const std::string& text, JsonArrayLimits limits) {
  NL_TRY(auto source, open_memory(text));
  JsonArraySplitter splitter(*source, "events", limits);
  json elements = json::array();
  JsonWindow window;
  for (;;) {
    NL_TRY(const bool more, splitter.next(window));
    if (!more) break;
    for (auto& element : json::parse(std::string(window.text, window.size)))
      elements.push_back(std::move(element));
  }
  return std::pair{elements, json::parse(splitter.envelope())};
}

std::string nasty_text(std::mt19937& random) {
  static const char* const kBits[] = {"},{", "\"", "\\",  "\\\\", "],", "[",  "{", "}",
                                      "]",   ",",  "\"}", "é",    "\n", "😀", "x"};
  std::string text;
  for (size_t n = random() % 12; n > 0; n--) text += kBits[random() % std::size(kBits)];
  return text;
}

TEST(JsonArraySplitter, CutsOnlyBetweenElements) {
  std::mt19937 random(3);
  json elements = json::array();
  for (int i = 0; i < 20'000; i++) {
    elements.push_back(
        {{"name", nasty_text(random)}, {nasty_text(random), {{"nest", {1, {{"a", nasty_text(random)}}}}}}});
  }
  const json document = {{"a", {{"events", "not this"}}}, {"events", elements}, {"z", {1, 2}}};
  for (const int indent : {-1, 1}) {
    JsonArrayLimits limits;
    limits.window_bytes = 100'000;
    const auto got = split(document.dump(indent), limits);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->first, elements);
    EXPECT_EQ(got->second, (json{{"a", {{"events", "not this"}}}, {"events", json::array()}, {"z", {1, 2}}}));
  }
}

TEST(JsonArraySplitter, ALargeElementDoesNotMakeLaterWindowsLarge) {
  std::string text = "[\"" + std::string(3'000'000, 'x') + "\"";
  for (int i = 0; i < 500'000; i++) text += ",1";
  text += "]";
  auto source = open_memory(text).value();
  JsonArrayLimits limits;
  limits.window_bytes = 100'000;
  JsonArraySplitter splitter(*source, "", limits);
  JsonWindow window;
  int windows = 0;
  while (splitter.next(window).value()) {
    EXPECT_LE(window.size, windows == 0 ? 3'200'000u : 110'000u);
    windows++;
  }
  EXPECT_GT(windows, 8);
}

TEST(JsonArraySplitter, RefusesTheWrongBracket) {
  EXPECT_EQ(split("[1,2}", {}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(split("{\"events\":[1,2}]", {}).error().code, ErrorCode::kBadInput);
}

TEST(JsonArraySplitter, GrowsForLargeElementsUpToTheLimit) {
  const json document = {{"events", {std::string(500'000, 'x'), 1}}};
  JsonArrayLimits limits;
  limits.window_bytes = 70'000;
  EXPECT_EQ(split(document.dump(), limits)->first, document["events"]);
  limits.max_element_bytes = 200'000;
  const auto refused = split(document.dump(), limits);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
}

TEST(JsonArraySplitter, TakesATopLevelArray) {
  EXPECT_EQ(split(" [1, {\"a\": []}, 3] ", {})->first, (json{1, {{"a", json::array()}}, 3}));
}

TEST(JsonArraySplitter, TakesSeveralArraysOfOneObject) {
  std::mt19937 random(5);
  json expected = {{"a", json::array()}, {"b", json::array()}, {"c", json::array()}};
  std::string text = R"({"x": {"a": [1]}, "b": [)";
  const auto add = [&](const char* key, int count) {
    for (int i = 0; i < count; i++) {
      const json element = {{"n", i}, {"text", nasty_text(random)}};
      text += (i == 0 ? "" : ", ") + element.dump();
      expected[key].push_back(element);
    }
  };
  add("b", 9'000);
  text += R"( ], "m": ["]", {"c": []}], "a" : [)";
  add("a", 5'000);
  text += R"(], "c": [], "b": [7], "z": 1})";
  auto source = open_memory(text).value();
  JsonArrayLimits limits;
  limits.window_bytes = 70'000;
  JsonArraySplitter splitter(*source, std::vector<std::string>{"a", "b", "c"}, limits);
  json got = {{"a", json::array()}, {"b", json::array()}, {"c", json::array()}};
  JsonWindow window;
  size_t whole = 0;
  while (splitter.next(window).value()) {
    whole += window.is_whole ? 1 : 0;
    for (auto& element : json::parse(std::string(window.text, window.size))) {
      got[std::string(1, "abc"[window.array])].push_back(std::move(element));
    }
  }
  EXPECT_EQ(got, expected);
  EXPECT_EQ(whole, 1) << "only the empty array fits into one window";
  const json envelope = json::parse(splitter.envelope());
  EXPECT_EQ(envelope["b"], json{7}) << "the second one is not an array of ours";
  EXPECT_EQ(envelope["m"], (json{"]", {{"c", json::array()}}}));
  EXPECT_EQ(envelope["a"], json::array());
}

TEST(JsonArraySplitter, WindowsKnowWhereTheyAre) {
  const std::string text = R"({"k": 1, "b": [ 10, 11 ], "a": [20]})";
  auto source = open_memory(text).value();
  JsonArraySplitter splitter(*source, std::vector<std::string>{"a", "b"});
  JsonWindow window;
  while (splitter.next(window).value()) {
    EXPECT_EQ(text.substr(static_cast<size_t>(window.offset), window.size - 1),
              std::string(window.text + 1, window.size - 1));
  }
}

TEST(JsonScan, BothBuildsAgree) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; round++) {
    std::string text;
    while (text.size() < 640) text += "\"\\[]{},:x "[random() % 10];
    text.resize(640);
    JsonScanState a, b;
    size_t comma_a = kNoOffset, comma_b = kNoOffset;
    const size_t end_a = json_scan_any(text.data(), 0, 640, a, &comma_a);
    const size_t end_b = json_scan()(text.data(), 0, 640, b, &comma_b);
    ASSERT_EQ(end_a, end_b);
    ASSERT_EQ(comma_a, comma_b);
  }
}

TEST(JsonCursor, ChecksScalars) {
  for (const char* good :
       {"0", "-1", "1.5", "1e5", "-0.1E-2", "true", "false", "null", "\"\"", "\"\\u00e9\\n\""}) {
    EXPECT_TRUE(is_json_scalar(good)) << good;
  }
  for (const char* bad :
       {"", "01", "1.", ".5", "-", "nan", "inf", "True", "\"\\q\"", "\"\\u00g0\"", "+1", "1e", "\"\\u12\""}) {
    EXPECT_FALSE(is_json_scalar(bad)) << bad;
  }
}

}  // namespace
}  // namespace nl::ingest
