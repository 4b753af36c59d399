#include "stress/stress.h"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>

#include "ops/door.h"
#include "stress/example_calls.h"
#include "stress/example_ledger.h"

namespace nl::stress {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kReadsPerWrite = 6;
constexpr size_t kFaultsShown = 20;

/// Gathered from all threads; the first ones are printed.
class Faults {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (++count_ <= kFaultsShown) fmt::print(stderr, "fault: {}\n", text);
  }
  size_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  mutable std::mutex mutex_;
  size_t count_ = 0;
};

class Stress {
 public:
  explicit Stress(const StressOptions& options) : options_(options), ledger_(options.events) {}

  bool run() {
    prepare();
    answer_alone();
    std::vector<std::thread> threads;
    end_ = Clock::now() + std::chrono::seconds(options_.seconds);
    for (size_t i = 0; i < static_cast<size_t>(options_.threads); i++) {
      written_.emplace_back();
      written_[i].label = fmt::format("thread_{}", i);
    }
    for (size_t i = 0; i < written_.size(); i++) threads.emplace_back([this, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
    check_labels();
    check_left_overs();
    fmt::print("{} answers, {} changes by {} threads in {} s, {} faults (seed {})\n", answers_.load(),
               changes_.load(), options_.threads, options_.seconds, faults_.count(), options_.seed);
    return faults_.count() == 0;
  }

 private:
  struct Written {
    std::string label;
    int last = 0;  ///< value that was written last
  };

  /// Some runs that are refreshed and labelled, and one that comes and goes.
  void prepare() {
    for (int i = 0; i < 3; i++) {
      changed_paths_.push_back(
          ledger_.write(fmt::format("changed-{}.json", i), example_trace(600 + i * 40, 9)));
      changed_.push_back(ledger_.import(changed_paths_.back(), "set=changed"));
    }
    coming_and_going_ = ledger_.write("passing.json", example_trace(440, 20));
  }

  std::vector<Call> calls_with(const std::string& output) const {
    std::vector<Call> calls = reading_calls(ledger_.examples(output));
    for (const std::string& run : changed_) {
      calls.push_back({"analyze", {{"run", run}}});
      calls.push_back({"verify", {{"run", run}}});
      calls.push_back({"fingerprint", {{"run", run}}});
      calls.push_back({"query", {{"run", run}, {"sql", "SELECT count(*) AS n FROM kernels"}}});
    }
    calls.push_back({"analyze", {{"run", coming_and_going_}}});
    return calls;
  }

  /// Twice: the first answer may hold what was made on the way, such as the time of a prediction.
  void answer_alone() {
    const std::string output = ledger_.output(0);
    for (const Call& call : calls_with(output)) (void)answer_of(call, ledger_.context(), output);
    for (const Call& call : calls_with(output)) {
      auto answer = answer_of(call, ledger_.context(), output);
      if (!answer) throw std::runtime_error(call_text(call) + ": " + answer.error().message);
      expected_.push_back(std::move(*answer));
    }
    ledger_.must({"gc", {{"reindex", true}}});
    for (int i = 0; i < 2; i++)
      ledger_.must({"state", {{"action", "backup"}}});  // the newest, and the one before
    quiet_ = ledger_.kinds_of_files();
  }

  /// Begins at another call than the other threads, and ends no sooner than all calls were made by some
  /// thread.
  void work(size_t thread) {
    const std::string output = ledger_.output(thread);
    const std::vector<Call> calls = calls_with(output);
    const size_t least = calls.size() / written_.size() + 1;
    std::minstd_rand random(options_.seed * 1000 + static_cast<unsigned>(thread));
    for (size_t n = 0; n < least || Clock::now() < end_; n++) {
      const size_t index = n < least ? (thread * least + n) % calls.size() : random() % calls.size();
      check(calls[index], expected_[index], output);
      if ((thread + n) % kReadsPerWrite == 0) change(thread, (thread + n) / kReadsPerWrite);
    }
  }

  void check(const Call& call, const std::string& expected, const std::string& output) {
    const auto answer = answer_of(call, ledger_.context(), output);
    answers_++;
    if (!answer) return faults_.add(call_text(call) + ": " + answer.error().message);
    if (*answer != expected) faults_.add(call_text(call) + ": " + difference(expected, *answer));
  }

  static std::string difference(const std::string& expected, const std::string& answer) {
    const auto [at, there] = std::mismatch(expected.begin(), expected.end(), answer.begin(), answer.end());
    const auto position = static_cast<size_t>(at - expected.begin());
    const size_t from = position < 60 ? 0 : position - 60;
    return fmt::format("another answer at byte {}:\n  alone {}\n  now   {}", position,
                       expected.substr(from, 160), answer.substr(from, 160));
  }

  void change(size_t thread, size_t n) {
    const size_t run = (thread + n) % changed_.size();
    switch (n % 6) {
      case 0:
      case 3:
        return set_label(thread);
      case 1:
        return act({"import", {{"paths", {changed_paths_[run]}}, {"refresh", true}, {"threads", 2}}});
      case 2:
        return act({"import", {{"paths", {changed_paths_[run]}}}});
      case 4:
        return act({"gc", {{"drop_on_the_way", true}}});
      default:
        return act({"gc", {{"reindex", thread % 4 == 0}}});
    }
  }

  void set_label(size_t thread) {
    Written& written = written_[thread];
    const int value = written.last + 1;
    act({"label",
         {{"run", changed_[thread % changed_.size()]},
          {"labels", {fmt::format("{}={}", written.label, value)}}}});
    written.last = value;
  }

  void act(const Call& call) {
    const auto answer = answer_of(call, ledger_.context(), {});
    changes_++;
    if (!answer) faults_.add(call_text(call) + ": " + answer.error().message);
  }

  void check_labels() {
    for (size_t thread = 0; thread < written_.size(); thread++) {
      const Written& written = written_[thread];
      if (written.last == 0) continue;
      ops::Context context = ledger_.context();
      const auto outcome = ops::call("label", {{"run", changed_[thread % changed_.size()]}}, context);
      std::string found = "nothing";
      if (outcome) {
        for (const json& label : outcome->data["labels"]) {
          if (label["key"] == written.label) found = label["value"];
        }
      }
      if (found != std::to_string(written.last))
        faults_.add(fmt::format("lost label: {} is {}, not {}", written.label, found, written.last));
    }
  }

  void check_left_overs() {
    for (const std::string& kind : left_overs(quiet_, ledger_.kinds_of_files()))
      faults_.add("left over: " + kind);
  }

  const StressOptions options_;
  const ExampleLedger ledger_;
  std::vector<std::string> changed_, changed_paths_;
  std::string coming_and_going_;
  std::vector<std::string> expected_;
  std::set<std::string> quiet_;
  Clock::time_point end_;
  std::vector<Written> written_;  ///< one for each thread, which alone touches it
  std::atomic<long> answers_ = 0, changes_ = 0;
  Faults faults_;
};

}  // namespace

bool survives_stress(const StressOptions& options) {
  return Stress(options).run();
}

}  // namespace nl::stress
