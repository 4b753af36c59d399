#include "stress/stress.h"

#include <gtest/gtest.h>

namespace nl::stress {
namespace {

/// The small form; tests/full/stress is the long one.
TEST(Stress, ManyThreadsGetTheAnswersOfOne) {
  EXPECT_TRUE(survives_stress({.seconds = 1, .threads = 8, .events = 800}));
}

}  // namespace
}  // namespace nl::stress
