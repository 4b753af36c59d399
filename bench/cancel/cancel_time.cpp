// cancel_time: cancels each long operation at random moments on a large run, and measures how soon it
// returns. Every cancelled call must say so or have finished, leave nothing behind, and the next call must
// answer. Run by bench/cancel/run.

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <random>
#include <thread>

#include "stress/example_calls.h"
#include "stress/example_ledger.h"

namespace nl::stress {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr double kAllowedMs = 100;

struct Options {
  int events = 1'000'000;
  int moments = 10;
  unsigned seed = 1;
};

/// A call, and whether derived tables are taken away before it.
struct Case {
  std::string name;
  Call call;
  bool is_cold = false;
};

std::vector<Case> cases_of(const Examples& e) {
  const nlohmann::json one = {{"run", e.one}}, both = {{"runs", {e.one, e.two}}};
  return {
      {"import", {"import", {{"paths", {e.trace}}, {"refresh", true}}}},
      {"import of a run file", {"import", {{"paths", {e.run_file}}, {"refresh", true}}}},
      {"derive", {"analyze", one}, true},
      {"show", {"show", one}},
      {"analyze", {"analyze", one}},
      {"findings", {"findings", one}},
      {"lint", {"lint", one}},
      {"report", {"report", {{"run", e.one}, {"output", e.output}}}},
      {"compare", {"compare", both}},
      {"fingerprint", {"fingerprint", one}, true},
      {"similar", {"similar", one}, true},
      {"trend", {"trend", {{"metric", "total_time"}}}, true},
      {"verify", {"verify", one}},
      {"export", {"export", one}},
      {"query", {"query", {{"run", e.one}, {"sql", "SELECT count(*) AS n FROM kernels a, kernels b"}}}},
      {"schema validate", {"schema", {{"what", "validate"}, {"target", e.run_file}}}},
  };
}

/// A call that another thread cancels after some time.
struct Cancelled {
  bool finished = false;
  ErrorCode code = ErrorCode::kInternal;
  double late_ms = 0;  ///< from being cancelled to the answer
};

class CancelTime {
 public:
  explicit CancelTime(const Options& options)
      : options_(options), ledger_(options.events), output_(ledger_.output(0)), random_(options.seed) {}

  int run() {
    fmt::print("{} events, {} moments each, seed {}\n", options_.events, options_.moments, options_.seed);
    fmt::print("{:<22}{:>10}{:>11}{:>9}{:>9}\n", "operation", "whole, ms", "cancelled", "p50, ms", "max, ms");
    for (const Case& one : cases_of(ledger_.examples(output_))) measure(one);
    std::sort(late_.begin(), late_.end());
    const double p95 = late_.empty() ? 0 : late_[(late_.size() * 95 + 99) / 100 - 1];
    fmt::print("p95 of {} cancelled calls: {:.1f} ms (allowed: {:.0f})\n", late_.size(), p95, kAllowedMs);
    return faults_ == 0 && !late_.empty() && p95 <= kAllowedMs ? 0 : 1;
  }

 private:
  void measure(const Case& one) {
    const double whole_ms = time_whole(one);
    const auto quiet = ledger_.kinds_of_files();
    std::vector<double> late;
    for (int i = 0; i < options_.moments; i++) {
      const double moment_ms = std::uniform_real_distribution<double>(0, whole_ms)(random_);
      const Cancelled done = cancelled_at(one, moment_ms);
      if (!done.finished) late.push_back(done.late_ms);
      check(one, moment_ms, done, quiet);
    }
    if (!answer_of(one.call, ledger_.context(), output_)) fault(one, "the next call does not answer");
    std::sort(late.begin(), late.end());
    fmt::print("{:<22}{:>10.0f}{:>11}{:>9.1f}{:>9.1f}\n", one.name, whole_ms, late.size(),
               late.empty() ? 0 : late[late.size() / 2], late.empty() ? 0 : late.back());
    std::fflush(stdout);
    late_.insert(late_.end(), late.begin(), late.end());
  }

  double time_whole(const Case& one) {
    if (one.is_cold) ledger_.remove_derived();
    const auto begin = Clock::now();
    if (const auto answer = answer_of(one.call, ledger_.context(), output_); !answer)
      fault(one, answer.error().message);
    return Milliseconds(Clock::now() - begin).count();
  }

  Cancelled cancelled_at(const Case& one, double moment_ms) {
    if (one.is_cold) ledger_.remove_derived();
    std::atomic<bool> stop = false;
    Clock::time_point stopped;
    ops::Context context = ledger_.context();
    context.cancelled = [&] { return stop.load(); };
    std::thread clock([&] {
      std::this_thread::sleep_for(Milliseconds(moment_ms));
      stopped = Clock::now();
      stop = true;
    });
    const auto answer = answer_of(one.call, context, output_);
    const auto end = Clock::now();
    clock.join();
    const double late_ms = std::max(0.0, Milliseconds(end - stopped).count());
    return {answer.has_value(), answer ? ErrorCode::kInternal : answer.error().code, late_ms};
  }

  void check(const Case& one, double moment_ms, const Cancelled& done, const std::set<std::string>& quiet) {
    const std::string when = fmt::format("cancelled after {:.3f} ms: ", moment_ms);
    if (!done.finished && done.code != ErrorCode::kCancelled) fault(one, when + error_code_name(done.code));
    for (const std::string& kind : left_overs(quiet, ledger_.kinds_of_files()))
      fault(one, when + "left over: " + kind);
    if (!answer_of({"runs", nlohmann::json::object()}, ledger_.context(), {}))
      fault(one, when + "the ledger is shut");
  }

  void fault(const Case& one, const std::string& text) {
    faults_++;
    fmt::print("fault: {}: {}\n", one.name, text);
  }

  const Options options_;
  const ExampleLedger ledger_;
  const std::string output_;
  std::mt19937 random_;
  std::vector<double> late_;
  int faults_ = 0;
};

bool take(std::string_view word, std::string_view text, Options& options) {
  int value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < 1) return false;
  if (word == "--events") return options.events = value, true;
  if (word == "--moments") return options.moments = value, true;
  if (word == "--seed") return options.seed = static_cast<unsigned>(value), true;
  return false;
}

}  // namespace
}  // namespace nl::stress

int main(int argc, char** argv) {
  nl::stress::Options options;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 < argc && nl::stress::take(argv[i], argv[i + 1], options)) continue;
    fmt::print(stderr, "cancel_time [--events N] [--moments N] [--seed N]\n");
    return 2;
  }
  try {
    return nl::stress::CancelTime(options).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "cancel_time: {}\n", error.what());
    return 1;
  }
}
