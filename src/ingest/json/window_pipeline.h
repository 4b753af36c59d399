#pragma once
// WindowPipeline: splits, parses and settles windows in parallel. The calling thread splits. `threads`
// workers parse windows, each with its own parser. settle gets the parsed windows one by one in the order of
// the input, whatever the number of threads. Errors are deterministic: the error of the first failing window
// in input order is returned, and an error of the splitter counts after those of all windows before it.
// Exceptions on any thread, such as lack of memory, become errors.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked_thread.h"
#include "base/result.h"
#include "ingest/json/json_array.h"

namespace nl::ingest {

template <class Parsed>
struct WindowStages {
  using Parse = std::function<Result<Parsed>(JsonWindow&)>;
  std::function<Parse()> make_parser;                      ///< called once on each worker thread
  std::function<Result<void>(Parsed)> settle;              ///< called in order, by one thread at a time
  std::function<bool()> cancelled = [] { return false; };  ///< asked between windows
};

template <class Parsed>
class WindowPipeline {
 public:
  WindowPipeline(JsonArraySplitter& splitter, int threads, WindowStages<Parsed> stages)
      : splitter_(splitter), stages_(std::move(stages)), threads_(threads < 1 ? 1 : threads) {}

  Result<void> run() {
    {
      std::vector<CheckedThread> workers;  // joined at the end of the block
      stop_if_failed(without_exceptions([&]() -> Result<void> {
        for (int i = 0; i <= threads_; i++) pool_.push_back(std::make_unique<JsonWindow>());
        for (int i = 0; i < threads_; i++) {
          workers.emplace_back([this] { return work_or_stop(); });
          if (!workers.back().is_started()) return workers.back().join();
        }
        return split();
      }));
    }
    if (error_) return std::move(*error_);
    return {};
  }

 private:
  struct Job {
    uint64_t number;
    std::unique_ptr<JsonWindow> window;
  };

  /// The first error stays; all threads see it and end. Moved and not copied, as there may be no memory.
  void stop_if_failed(Result<void> done) {
    if (done) return;
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(done.error());
    stopped_ = true;
    changed_.notify_all();
  }

  /// An error of the splitter counts only once all windows before it are settled; being cancelled at once.
  Result<void> split() {
    uint64_t number = 0;
    Result<void> failed;
    for (;;) {
      std::unique_ptr<JsonWindow> window = take_from_pool();
      if (!window) break;
      auto more = splitter_.next(*window);
      if (!more) failed = std::move(more.error());
      if (!more || !*more) break;
      if (stages_.cancelled()) return cancelled_error();
      const std::lock_guard lock(mutex_);
      jobs_.push_back({number++, std::move(window)});
      changed_.notify_all();
    }
    std::unique_lock lock(mutex_);
    last_ = number;
    changed_.notify_all();
    changed_.wait(lock, [&] { return stopped_ || next_ == last_; });
    return failed;
  }

  std::unique_ptr<JsonWindow> take_from_pool() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || !pool_.empty(); });
    if (stopped_) return nullptr;
    auto window = std::move(pool_.back());
    pool_.pop_back();
    return window;
  }

  std::optional<Job> take_job() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || !jobs_.empty() || last_; });
    if (stopped_ || jobs_.empty()) return std::nullopt;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

  Result<void> work_or_stop() {
    stop_if_failed(without_exceptions([this] { return work(); }));
    return {};
  }

  Result<void> work() {
    const auto parse = stages_.make_parser();
    while (auto job = take_job()) {
      Result<Parsed> parsed = parse(*job->window);
      {
        std::unique_lock lock(mutex_);
        pool_.push_back(std::move(job->window));
        changed_.notify_all();
        changed_.wait(lock, [&] { return stopped_ || next_ == job->number; });
        if (stopped_) return {};
      }
      // Only the worker whose turn it is comes here, so settle needs no lock of its own.
      NL_CHECK(parsed);
      NL_CHECK(stages_.settle(std::move(parsed).value()));
      const std::lock_guard lock(mutex_);
      next_++;
      changed_.notify_all();
    }
    return {};
  }

  JsonArraySplitter& splitter_;
  WindowStages<Parsed> stages_;
  const int threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<JsonWindow>> pool_;
  std::deque<Job> jobs_;
  uint64_t next_ = 0;             // the window whose turn it is to settle
  std::optional<uint64_t> last_;  // number of windows, once known
  std::optional<Error> error_;
  bool stopped_ = false;
};

}  // namespace nl::ingest
