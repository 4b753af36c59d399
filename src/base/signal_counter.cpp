#include "base/signal_counter.h"

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>

namespace nl {
namespace {

/// A handler can reach nothing but what is global.
std::array<std::atomic<uint64_t>, NSIG> counts;
static_assert(std::atomic<uint64_t>::is_always_lock_free, "a handler may not wait");

struct Installed {
  int users = 0;
  struct sigaction before = {};
};
std::mutex mutex;
std::array<Installed, NSIG> installed;  // under the mutex

extern "C" void count_signal(int number) {
  counts[static_cast<size_t>(number)].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

SignalCounter::SignalCounter(int number)
    : number_(number), before_(counts[static_cast<size_t>(number)].load(std::memory_order_relaxed)) {
  const std::lock_guard lock(mutex);
  Installed& its = installed[static_cast<size_t>(number_)];
  if (its.users++ > 0) return;
  struct sigaction action = {};
  action.sa_handler = count_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(number_, &action, &its.before);
}

SignalCounter::~SignalCounter() {
  const std::lock_guard lock(mutex);
  Installed& its = installed[static_cast<size_t>(number_)];
  if (--its.users == 0) ::sigaction(number_, &its.before, nullptr);
}

uint64_t SignalCounter::count() const {
  return counts[static_cast<size_t>(number_)].load(std::memory_order_relaxed) - before_;
}

}  // namespace nl
