#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>

#include "align/alignment.h"
#include "align_cases.h"

namespace nl::align {
namespace {

using align_cases::Case;
using align_cases::Dice;
using align_cases::Edit;
using align_cases::Editor;
using align_cases::Knowledge;
using align_cases::make_model;
using align_cases::Model;
using align_cases::Referee;
using align_cases::Score;
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

TEST(Align, KnowsReshapedRenamedFusedAndSplit) {
  Sequence base = letters("abcdefgh"), other = base;
  for (Node& node : base.nodes) node.shape = 7;
  other = base;
  other.nodes[2].shape = 8;
  other.nodes[5].name = 'F';
  EXPECT_EQ(matches(*align(base, other)), "0-0 1-1 reshaped:2-2 3-3 4-4 renamed:5-5 6-6 7-7");
  other = base;
  other.nodes[3].name = 'X';
  other.nodes[3].weight_ns = 1800;
  other.nodes.erase(other.nodes.begin() + 4, other.nodes.begin() + 6);
  EXPECT_EQ(matches(*align(base, other)), "0-0 1-1 2-2 fused:3+4+5-3 6-4 7-5");
  EXPECT_EQ(matches(*align(other, base)), "0-0 1-1 2-2 split:3-3+4+5 4-6 5-7");
}

TEST(Align, TellsWhatAgrees) {
  const auto result = align(letters("abc"), letters("abc"));
  EXPECT_EQ(agreed_names(result->matches[1].agreed),
            (std::vector<std::string_view>{"name", "before", "behind", "unambiguous"}));
}

TEST(Align, DoubtsWhichOfEqualNodesIsGone) {
  const auto result = align(letters("xaay"), letters("xay"));
  ASSERT_EQ(result->matches.size(), 3u);
  EXPECT_GT(result->matches[0].confidence, 0.8);
  EXPECT_LE(result->matches[1].confidence, 0.5);
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

#ifdef __OPTIMIZE__
constexpr uint32_t kNodes = 1500, kCases = 4, kHostile = 20'000;
#else
constexpr uint32_t kNodes = 400, kCases = 1, kHostile = 5'000;
#endif

/// Every node is in one match or in none, and none is in two.
void expect_all_accounted(const Sequence& base, const Sequence& other, const Alignment& alignment) {
  std::vector<int> seen_base(base.nodes.size(), 0), seen_other(other.nodes.size(), 0);
  for (const Match& match : alignment.matches) {
    for (const uint32_t i : alignment.base_of(match)) seen_base.at(i)++;
    for (const uint32_t i : alignment.other_of(match)) seen_other.at(i)++;
    EXPECT_GE(match.confidence, 0);
    EXPECT_LE(match.confidence, 1);
  }
  for (const uint32_t i : alignment.unmatched_base) seen_base.at(i)++;
  for (const uint32_t i : alignment.unmatched_other) seen_other.at(i)++;
  EXPECT_TRUE(std::all_of(seen_base.begin(), seen_base.end(), [](int n) { return n == 1; }));
  EXPECT_TRUE(std::all_of(seen_other.begin(), seen_other.end(), [](int n) { return n == 1; }));
}

/// "kind base other confidence", with the sides swapped if asked for, in order.
std::vector<std::string> lines_of(const Alignment& alignment, bool swapped) {
  std::vector<std::string> lines;
  for (const Match& match : alignment.matches) {
    const auto base = alignment.base_of(match), other = alignment.other_of(match);
    std::string left, right;
    for (const uint32_t i : swapped ? other : base) left += " " + std::to_string(i);
    for (const uint32_t i : swapped ? base : other) right += " " + std::to_string(i);
    const bool is_merge = match.kind == Kind::kFused || match.kind == Kind::kSplit;
    lines.push_back((is_merge ? "merge" : std::string(kind_name(match.kind))) + left + " :" + right + " " +
                    std::to_string(match.confidence) + " " + std::to_string(match.agreed));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

struct Setting {
  const char* text;
  Knowledge knowledge;
};
constexpr Setting kSettings[] = {{"names", {false, false, false, false}},
                                 {"names, families", {false, false, true, true}},
                                 {"names, families, shapes", {false, true, true, true}},
                                 {"names, families, tree", {true, false, true, true}},
                                 {"all", {true, true, true, true}}};

Case edited(Model model, const Knowledge& knowledge, double rate, uint64_t seed, Texts& texts) {
  Dice dice(seed);
  return Editor(make_model(model, kNodes, knowledge, texts, dice), texts, dice).edit(rate);
}

TEST(Align, AccountsForAllNodesAndMirrors) {
  for (const Model model : align_cases::kModels) {
    for (const Setting& setting : kSettings) {
      Texts texts;
      const Case c = edited(model, setting.knowledge, 0.2, 77, texts);
      const auto there = align(c.base, c.other), back = align(c.other, c.base);
      expect_all_accounted(c.base, c.other, *there);
      expect_all_accounted(c.other, c.base, *back);
      EXPECT_EQ(lines_of(*there, false), lines_of(*back, true)) << model_name(model) << " " << setting.text;
    }
  }
}

void print_line(Model model, const char* setting, const Score& score) {
  std::printf("%-13s %-25s", model_name(model), setting);
  for (size_t e = 0; e < align_cases::kEdits; e++) {
    const auto& tally = score.edits[e];
    const double share = e == 0 ? tally.known_share()
                                : static_cast<double>(tally.recognised) /
                                      static_cast<double>(std::max<uint64_t>(1, tally.total));
    std::printf(" %s %5.1f%%", edit_name(static_cast<Edit>(e)), 100 * share);
  }
  std::printf("\n");
}

/// A fifth of all nodes is edited. Untouched nodes count as wrong if matched to a twin, except in stretches
/// where another explanation keeps as many nodes as the truth.
TEST(Align, KeepsUntouchedNodesAmongManyEdits) {
  Score sum;
  for (const Model model : align_cases::kModels) {
    for (const Setting& setting : kSettings) {
      Score score;
      for (uint64_t seed = 0; seed < kCases; seed++) {
        Texts texts;
        const Case c = edited(model, setting.knowledge, 0.2, 500 + seed, texts);
        const auto names = texts.views();
        Options options;
        if (setting.knowledge.words) options.names = names;
        const auto result = align(c.base, c.other, options);
        Referee(c, *result).judge(score);
        Referee(c, *result).judge(sum);
      }
      print_line(model, setting.text, score);
      const auto& untouched = score.edits[static_cast<size_t>(Edit::kUntouched)];
      EXPECT_GE(untouched.known_share(), 0.99) << model_name(model) << ", " << setting.text;
      EXPECT_LE(untouched.ambiguous, untouched.total / 25) << model_name(model) << ", " << setting.text;
    }
  }
  const auto recognised = [&sum](Edit edit) {
    const auto& tally = sum.edits[static_cast<size_t>(edit)];
    return static_cast<double>(tally.recognised) / static_cast<double>(tally.total);
  };
  EXPECT_GE(recognised(Edit::kRenamed), 0.75);
  EXPECT_GE(recognised(Edit::kReshaped), 0.9);
  EXPECT_GE(recognised(Edit::kFused), 0.6);
  EXPECT_GE(recognised(Edit::kSplit), 0.7);
  EXPECT_GE(recognised(Edit::kMoved), 0.45);
  EXPECT_GE(recognised(Edit::kDeleted), 0.65);
}

TEST(Align, ConfidenceSaysHowOftenItIsRight) {
  Score sum;
  for (const double rate : {0.03, 0.2}) {
    for (const Model model : align_cases::kModels) {
      for (const Setting& setting : kSettings) {
        Texts texts;
        const Case c = edited(model, setting.knowledge, rate, 900, texts);
        Referee(c, *align(c.base, c.other)).judge(sum);
      }
    }
  }
  const auto share = [&sum](size_t from, size_t to) {
    align_cases::Bin all;
    for (size_t i = from; i < to; i++) all.total += sum.bins[i].total, all.right += sum.bins[i].right;
    EXPECT_GT(all.total, 0u);
    return static_cast<double>(all.right) / static_cast<double>(all.total);
  };
  EXPECT_GE(share(18, 20), 0.99);
  EXPECT_LT(share(12, 17), 0.9);
  EXPECT_GT(share(12, 17), 0.5);
#ifdef __OPTIMIZE__
  EXPECT_LT(share(0, 10), 0.6);  // a thousandth of all matches: too few to be judged in small runs
#endif
}

/// One layer more among 48: nothing behind it is shifted.
TEST(Align, IsNotShiftedByAnInsertedLayer) {
  for (const bool tree : {true, false}) {
    Dice dice(3);
    Texts texts;
    const Sequence with_tree = make_model(Model::kTransformer, 48 * 15, {}, texts, dice);
    uint32_t layer = 0;
    while (texts.text(with_tree.groups[layer].name) != "layers.17") layer++;
    Case c = Editor(with_tree, texts, dice).repeat_group(layer);
    for (Sequence* side : {&c.base, &c.other}) {
      for (Node& node : side->nodes) node.parent = tree ? node.parent : kNone;
    }
    const auto result = align(c.base, c.other);
    ASSERT_EQ(result->matches.size(), c.base.nodes.size()) << tree;
    EXPECT_EQ(result->unmatched_other.size(), 15u);
    for (const Match& match : result->matches) {
      EXPECT_EQ(match.kind, Kind::kSame);
      EXPECT_TRUE(match.other == match.base || match.other == match.base + 15);
      const bool in_layer = match.base > 17 * 15 && match.base <= 18 * 15;
      EXPECT_TRUE(!tree || in_layer || match.other == c.truth[match.base][0]) << match.base;
    }
  }
}

TEST(Align, MatchesOtherLibrariesByTheOpsAround) {
  for (const bool families : {true, false}) {
    Score score;
    Dice dice(4);
    Texts texts;
    const Sequence base = make_model(Model::kSteps, kNodes, {true, true, families, false}, texts, dice);
    const Case c = Editor(base, texts, dice).port(families);
    Referee(c, *align(c.base, c.other)).judge(score);
    EXPECT_GE(score.edits[static_cast<size_t>(Edit::kRenamed)].share(), 0.98);
    EXPECT_GE(score.edits[static_cast<size_t>(Edit::kSplit)].share(), 0.9);
  }
}

/// Two threads that launch in turns: who comes first differs from run to run.
TEST(Align, DoesNotMindThreadsThatTakeTurns) {
  const auto run = [](uint64_t seed) {
    Sequence sequence;
    sequence.groups = {{kNone, 100}, {kNone, 101}};
    Dice dice(seed);
    std::array<uint32_t, 2> done = {0, 0};
    while (done[0] < 300 && done[1] < 300) {
      const uint32_t thread = dice.below(2);
      sequence.nodes.push_back({thread, 10 * thread + done[thread]++ % 7, 0, 0, 1000});
    }
    for (uint32_t thread = 0; thread < 2; thread++) {
      while (done[thread] < 300)
        sequence.nodes.push_back({thread, 10 * thread + done[thread]++ % 7, 0, 0, 1000});
    }
    return sequence;
  };
  const auto result = align(run(1), run(2));
  EXPECT_EQ(result->matches.size(), 600u);
  for (const Match& match : result->matches) EXPECT_EQ(match.kind, Kind::kSame);
}

/// Names alone, equal steps, and a long stretch of something else in the middle of one side.
TEST(Align, FindsItsWayAroundALongStretch) {
  Dice dice(6);
  Texts texts;
  Case c =
      Editor(make_model(Model::kSteps, 6 * kNodes, {false, false, false, false}, texts, dice), texts, dice)
          .edit(0.02);
  const Sequence stretch = make_model(Model::kMixture, 2 * kNodes, {false, false, false, false}, texts, dice);
  const size_t at = c.other.nodes.size() / 3;
  c.other.nodes.insert(c.other.nodes.begin() + static_cast<ptrdiff_t>(at), stretch.nodes.begin(),
                       stretch.nodes.end());
  for (auto& truth : c.truth) {
    for (uint32_t& i : truth) i += i >= at ? static_cast<uint32_t>(stretch.nodes.size()) : 0;
  }
  Score score;
  Referee(c, *align(c.base, c.other)).judge(score);
  EXPECT_GE(score.edits[0].known_share(), 0.99);
}

TEST(Align, KnowsAStretchThatMoved) {
  const std::string body = "abcdefghijklmnopqrstuvwxyz";
  const auto result = align(letters(body + "0123456" + body), letters("0123456" + body + body));
  size_t moved = 0;
  for (const Match& match : result->matches) {
    if (match.kind != Kind::kMoved) continue;
    moved++;
    EXPECT_EQ(match.other + 26, match.base);
  }
  EXPECT_EQ(moved, 7u);
  EXPECT_TRUE(result->unmatched_base.empty());
}

Sequence names(uint32_t count, const std::function<uint32_t(uint32_t)>& name) {
  Sequence sequence;
  for (uint32_t i = 0; i < count; i++) sequence.nodes.push_back({kNone, name(i), 0, 0, 1000});
  return sequence;
}

double cpu_seconds(const Sequence& base, const Sequence& other) {
  const std::clock_t start = std::clock();
  const auto result = align(base, other);
  const auto seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  expect_all_accounted(base, other, *result);
  return seconds;
}

TEST(Align, BoundsWorkOnHostileInput) {
  const uint32_t n = kHostile;
  Dice dice(8);
  const auto coin = [&dice](uint32_t) { return 1 + dice.below(2); };
  const Sequence rising = names(n, [](uint32_t i) { return i; });
  double seconds =
      cpu_seconds(names(n, [](uint32_t) { return 1; }), names(n / 2, [](uint32_t) { return 1; }));
  seconds += cpu_seconds(rising, names(n, [](uint32_t i) { return kHostile + i; }));
  seconds += cpu_seconds(rising, names(n, [](uint32_t i) { return kHostile - i; }));
  seconds += cpu_seconds(names(n, coin), names(n, coin));
#ifdef __OPTIMIZE__
  constexpr double kMost = 20;  // about one
#else
  constexpr double kMost = 600;
#endif
  EXPECT_LT(seconds, kMost);
}

TEST(Align, TakesVeryDeepTrees) {
  Sequence deep;
  for (uint32_t i = 0; i < kHostile; i++) deep.groups.push_back({i == 0 ? kNone : i - 1, i});
  for (uint32_t i = 0; i < kHostile; i++)
    deep.nodes.push_back({i % 2 == 0 ? i : kHostile - 1 - i, 1, 0, 0, 1});
  const auto result = align(deep, deep);
  EXPECT_EQ(result->matches.size(), deep.nodes.size());
}

}  // namespace
}  // namespace nl::align
