#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "exports/stacks/folded_text.h"
#include "exports/stacks/frame_names.h"
#include "exports/stacks/run_stacks.h"
#include "exports/stacks/span_sweep.h"
#include "exports/stacks/stacks.h"
#include "exports/window_cut.h"

namespace nl::exports {
namespace {

std::string folded(const StackTree& tree, size_t sums = 1) {
  std::string text;
  const auto done = write_folded(tree, sums, [&](std::string_view piece) -> Result<void> {
    text += piece;
    return {};
  });
  EXPECT_TRUE(done);
  return text;
}

// ---- Names

TEST(FrameNames, TheSameTextHasTheSameNumber) {
  FrameNames names;
  std::vector<uint32_t> numbers;
  for (int i = 0; i < 1000; i++) numbers.push_back(names.number("name " + std::to_string(i)));
  for (int i = 0; i < 1000; i++) {
    EXPECT_EQ(names.number("name " + std::to_string(i)), numbers[static_cast<size_t>(i)]);
    EXPECT_EQ(names[numbers[static_cast<size_t>(i)]], "name " + std::to_string(i));
  }
  EXPECT_EQ(names.size(), 1001U);
}

TEST(FrameNames, NamesAreMadeSafe) {
  FrameNames names;
  EXPECT_EQ(names[names.number("")], "(no name)");
  EXPECT_EQ(names[names.number("a\nb\tc")], "a b c");
  EXPECT_EQ(names[names.number("a\xFFz")], "a\xEF\xBF\xBDz");
  EXPECT_EQ(names[names.number("\x1B[31m")], "\xEF\xBF\xBD[31m");
  EXPECT_EQ(names[names.number("größe")], "größe");
}

TEST(FrameNames, NamesBeyondTheLimitAreOthers) {
  FrameNames names({.names = 3, .bytes = 1000});
  EXPECT_NE(names.number("one"), FrameNames::kOthers);
  EXPECT_NE(names.number("two"), FrameNames::kOthers);
  EXPECT_EQ(names.number("three"), FrameNames::kOthers);
  EXPECT_EQ(names.without_room(), 1);
  EXPECT_NE(names.number("one"), FrameNames::kOthers);
  FrameNames short_ones({.names = 100, .bytes = 20});
  EXPECT_EQ(short_ones.number(std::string(21, 'x')), FrameNames::kOthers);
  EXPECT_NE(short_ones.number_as_is(std::string(21, 'x'), true), FrameNames::kOthers);
}

// ---- The tree

TEST(StackTree, LinesAreInTheOrderOfTheirFrames) {
  StackTree tree;
  const auto root = tree.root("r");
  tree.sum(tree.child(tree.child(root, "b"), "x")) = 1;
  tree.sum(tree.child(root, "b c")) = 2;
  tree.sum(tree.child(root, "a")) = 3;
  tree.sum(tree.child(root, "b")) = 4;
  tree.child(root, "without time");
  EXPECT_EQ(folded(tree), "r;a 3\nr;b 4\nr;b;x 1\nr;b c 2\n");
}

TEST(StackTree, FramesCannotBreakALine) {
  StackTree tree;
  tree.sum(tree.child(tree.root("r;1"), "a;b\nc")) = 7;
  EXPECT_EQ(folded(tree), "r\\x3b1;a\\x3bb c 7\n");
}

TEST(StackTree, SumsStayWholeWhenItIsFull) {
  StackTree tree(1, 100);
  const auto root = tree.root("r");
  for (int i = 0; i < 1000; i++) {
    auto node = root;
    for (int depth = 0; depth < 4; depth++)
      node = tree.child(node, std::to_string(i) + "/" + std::to_string(depth));
    tree.sum(node) += i;
  }
  int64_t sum = 0;
  for (StackTree::Node node = 0; node < tree.size(); node++) sum += tree.sum(node);
  EXPECT_EQ(sum, 999 * 1000 / 2);
  EXPECT_LE(tree.size(), 100U);
  EXPECT_GT(tree.merged(), 0);
  EXPECT_NE(folded(tree).find("r;(others) "), std::string::npos);
}

TEST(StackTree, ThereIsAlwaysRoomForARoot) {
  StackTree tree(1, 10);
  for (int i = 0; i < 100; i++) tree.child(tree.root("first"), std::to_string(i));
  const auto second = tree.root("second");
  EXPECT_EQ(tree.parent(second), StackTree::kRoot);
  EXPECT_EQ(tree.name(second), "second");
}

TEST(StackTree, AShareLeavesRoomForOthers) {
  StackTree tree(1, 1000);
  const auto host = tree.root("host"), device = tree.root("device");
  tree.use_share(0.5);
  for (int i = 0; i < 1000; i++) tree.child(host, std::to_string(i));
  EXPECT_LT(tree.size(), 600U);
  tree.use_all();
  EXPECT_EQ(tree.name(tree.child(device, "kernel")), "kernel");
}

// ---- Opens and closes

/// Checks that events nest, and sums up who is open and who is innermost.
struct Recorder {
  void open(const SweptSpan& span, int64_t at, bool) {
    pass_to(at);
    stack.push_back(span.name);
  }
  void close(const SweptSpan& span, int64_t at) {
    pass_to(at);
    ASSERT_FALSE(stack.empty());
    EXPECT_EQ(stack.back(), span.name);
    stack.pop_back();
  }
  void pass_to(int64_t at) {
    EXPECT_GE(at, now);
    for (const uint32_t name : stack) open_ns[name] += at - now;
    if (!stack.empty()) self_ns[stack.back()] += at - now;
    now = at;
  }
  std::vector<uint32_t> stack;
  std::map<uint32_t, int64_t> open_ns, self_ns;
  int64_t now = 0;
};

constexpr uint32_t kManyName = 1'000'000;

std::vector<SweptSpan> random_spans(uint32_t seed, int64_t longest) {
  std::mt19937 random(seed);
  std::vector<SweptSpan> spans;
  for (uint32_t name = 0; name < 200; name++) {
    const auto start = static_cast<int64_t>(random() % 1000);
    spans.push_back({start, start + static_cast<int64_t>(random()) % longest, name});
  }
  std::stable_sort(spans.begin(), spans.end(), [](const SweptSpan& a, const SweptSpan& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  return spans;
}

/// By single nanoseconds.
int64_t union_of(const std::vector<SweptSpan>& spans) {
  std::vector<bool> covered(5000);
  for (const auto& span : spans) {
    for (int64_t at = span.start_ns; at < span.end_ns; at++) covered[static_cast<size_t>(at)] = true;
  }
  return std::count(covered.begin(), covered.end(), true);
}

TEST(SpanSweep, SpansThatCrossNestAndKeepTheirTime) {
  for (uint32_t seed = 0; seed < 50; seed++) {
    const auto spans = random_spans(seed, 200);
    Recorder recorder;
    SpanSweep<Recorder> sweep(recorder, kManyName);
    for (const auto& span : spans) sweep.add(span);
    sweep.finish();
    EXPECT_TRUE(recorder.stack.empty());
    EXPECT_EQ(sweep.too_deep(), 0);
    for (const auto& span : spans) EXPECT_EQ(recorder.open_ns[span.name], span.end_ns - span.start_ns);
    int64_t self = 0;
    for (const auto& [name, time] : recorder.self_ns) self += time;
    EXPECT_EQ(self, union_of(spans));
  }
}

TEST(SpanSweep, SpansThatAreTooDeepKeepTheTimeOfTheTimeline) {
  const auto spans = random_spans(1, 2000);
  Recorder recorder;
  SpanSweep<Recorder> sweep(recorder, kManyName);
  size_t deepest = 0;
  for (const auto& span : spans) {
    sweep.add(span);
    deepest = std::max(deepest, recorder.stack.size());
  }
  sweep.finish();
  EXPECT_GT(sweep.too_deep(), 0);
  EXPECT_LT(deepest, 200U);
  int64_t self = 0;
  for (const auto& [name, time] : recorder.self_ns) self += time;
  EXPECT_EQ(self, union_of(spans));
}

TEST(SpanSweep, CountsWhatCrosses) {
  Recorder recorder;
  SpanSweep<Recorder> sweep(recorder, kManyName);
  sweep.add({0, 10, 1});
  sweep.add({5, 15, 2});
  sweep.add({6, 7, 3});
  sweep.finish();
  EXPECT_EQ(sweep.crossed(), 1);
  EXPECT_EQ(recorder.self_ns, (std::map<uint32_t, int64_t>{{1, 5}, {2, 9}, {3, 1}}));
}

// ---- Windows

TEST(WindowCut, CountsWhatLiesInside) {
  const std::vector<Stretch> stretches = {{10, 20}, {30, 40}};
  const WindowCut window(stretches);
  EXPECT_EQ(window.inside(0, 100), 20);
  EXPECT_EQ(window.inside(15, 35), 10);
  EXPECT_EQ(window.inside(20, 30), 0);
  EXPECT_TRUE(window.touches(0, 11));
  EXPECT_FALSE(window.touches(0, 10));
  EXPECT_FALSE(window.touches(20, 30));
  EXPECT_TRUE(window.touches(39, 200));
  EXPECT_FALSE(window.touches(40, 200));
  EXPECT_TRUE(window.touches(15, 15));
  EXPECT_FALSE(window.touches(25, 25));
  const std::vector<Stretch> none;
  EXPECT_TRUE(WindowCut(none).touches(5, 5));
  EXPECT_EQ(WindowCut(none).inside(5, 9), 4);
}

}  // namespace
}  // namespace nl::exports
