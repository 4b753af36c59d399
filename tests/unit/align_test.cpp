#include <gtest/gtest.h>

#include <string>

#include "align/alignment.h"
#include "align_cases.h"

namespace nl::align {
namespace {

using align_cases::Dice;
using align_cases::Editor;
using align_cases::Knowledge;
using align_cases::make_model;
using align_cases::Model;
using align_cases::Texts;

Sequence letters(const std::string& text) {
  Sequence sequence;
  for (const char c : text) sequence.nodes.push_back({kNone, static_cast<uint32_t>(c), 0, 0, 1000});
  return sequence;
}

/// Matches as "base-other", with the kind in front unless it is same.
std::string matches(const Alignment& alignment) {
  std::string text;
  const auto list = [&text](std::span<const uint32_t> indexes) {
    for (const uint32_t i : indexes) text += (i == indexes.front() ? "" : "+") + std::to_string(i);
  };
  for (const Match& match : alignment.matches) {
    text += text.empty() ? "" : " ";
    if (match.kind != Kind::kSame) text += std::string(kind_name(match.kind)) + ":";
    list(alignment.base_of(match));
    text += "-";
    list(alignment.other_of(match));
  }
  return text;
}

std::string matches(const std::string& base, const std::string& other) {
  return matches(*align(letters(base), letters(other)));
}

TEST(Align, FollowsInsertedDeletedAndMoved) {
  EXPECT_EQ(matches("abcd", "abcd"), "0-0 1-1 2-2 3-3");
  EXPECT_EQ(matches("acd", "abcd"), "0-0 1-2 2-3");
  EXPECT_EQ(matches("abxcd", "abcd"), "0-0 1-1 3-2 4-3");
  EXPECT_EQ(matches("abcdefg", "acdefbg"), "0-0 moved:1-5 2-1 3-2 4-3 5-4 6-6");
  EXPECT_EQ(matches("", "abcd"), "");
  EXPECT_EQ(matches("ab", ""), "");
}

TEST(Align, RefusesBrokenTrees) {
  Sequence sequence = letters("ab");
  sequence.nodes[0].parent = 3;
  EXPECT_EQ(align(sequence, letters("a")).error().code, ErrorCode::kBadInput);
  sequence.nodes[0].parent = 0;
  sequence.groups = {{1, 7}, {0, 8}};
  EXPECT_EQ(align(letters("a"), sequence).error().code, ErrorCode::kBadInput);
}

TEST(Align, SelfIsAllSame) {
  for (const Model model : align_cases::kModels) {
    Dice dice(1);
    Texts texts;
    const Sequence run = make_model(model, 500, {}, texts, dice);
    const auto result = align(run, run);
    ASSERT_EQ(result->matches.size(), run.nodes.size());
    for (const Match& match : result->matches) {
      EXPECT_EQ(match.base, match.other);
      EXPECT_EQ(match.kind, Kind::kSame);
      EXPECT_EQ(match.confidence, 1);
    }
  }
}

}  // namespace
}  // namespace nl::align
