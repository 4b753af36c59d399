// Every operation is cancelled at the first, second, third … time it asks whether it should stop. It must say
// so or have finished, leave nothing behind, and answer when it is called again.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>

#include "stress/example_calls.h"
#include "stress/example_ledger.h"

namespace nl::stress {
namespace {

constexpr int kEvents = 1200;
/// Moments that are tried one by one; later ones grow by a third each time.
constexpr int kEachMoment = 6;

std::vector<Call> calls_to_cancel(const Examples& examples) {
  std::vector<Call> calls = reading_calls(examples);
  for (Call& call : writing_calls(examples)) calls.push_back(std::move(call));
  return calls;
}

/// Work of length: it must stop when it first asks.
bool may_take_long(const Call& call) {
  static const std::set<std::string> kLong = {"analyze",     "compare", "explain", "export", "findings",
                                              "fingerprint", "lint",    "report",  "show",   "outliers",
                                              "similar",     "suggest", "trend",   "triage", "verify"};
  return kLong.contains(call.operation) ||
         (call.operation == "import" && call.parameters.contains("refresh"));
}

class Cancel : public testing::TestWithParam<size_t> {
 public:
  static void SetUpTestSuite() { shared_ = std::make_unique<ExampleLedger>(kEvents); }
  static void TearDownTestSuite() { shared_.reset(); }

 protected:
  inline static std::unique_ptr<ExampleLedger> shared_ = {};
  const ExampleLedger& ledger_ = *shared_;
  const std::string output_ = ledger_.output(0);
  const Call call_ = calls_to_cancel(ledger_.examples(output_))[GetParam()];
  std::atomic<int> asked_ = 0;

  /// Stops from the given question on.
  Result<std::string> answer_until(int question) {
    ledger_.remove_derived();
    asked_ = 0;
    ops::Context context = ledger_.context();
    context.cancelled = [this, question] { return ++asked_ >= question; };
    return answer_of(call_, context, output_);
  }

  std::set<std::string> kinds_when_quiet() {
    ledger_.remove_derived();
    const auto answer = answer_of(call_, ledger_.context(), output_);
    EXPECT_TRUE(answer) << answer.error().message;
    auto kinds = ledger_.kinds_of_files();
    // What calls that were finished in time may have made.
    (void)answer_of({"similar", {{"run", ledger_.examples({}).one}}}, ledger_.context(), {});
    kinds.merge(ledger_.kinds_of_files());
    return kinds;
  }
};

TEST_P(Cancel, LeavesNothingBehind) {
  const auto quiet = kinds_when_quiet();
  bool finished = false;
  for (int question = 1; !finished; question += question < kEachMoment ? 1 : question / 3) {
    SCOPED_TRACE(call_text(call_) + " cancelled at question " + std::to_string(question));
    const auto answer = answer_until(question);
    finished = answer.has_value();
    if (!finished) {
      EXPECT_EQ(answer.error().code, ErrorCode::kCancelled) << answer.error().message;
    }
    EXPECT_EQ(left_overs(quiet, ledger_.kinds_of_files()), std::set<std::string>());
    if (question == 1 && may_take_long(call_)) {
      EXPECT_FALSE(finished) << "it never asks";
    }
    if (HasFailure()) return;
  }
  EXPECT_TRUE(answer_of(call_, ledger_.context(), output_)) << "the next call fails";
}

INSTANTIATE_TEST_SUITE_P(Calls, Cancel, testing::Range(size_t{0}, calls_to_cancel({}).size()),
                         [](const testing::TestParamInfo<size_t>& call) {
                           return calls_to_cancel({})[call.param].operation + "_" +
                                  std::to_string(call.param);
                         });

TEST(ExampleCalls, ReachEveryOperation) {
  EXPECT_EQ(forgotten_operations(), std::vector<std::string>());
}

}  // namespace
}  // namespace nl::stress
