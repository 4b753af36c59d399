#include "compare/owned_time.h"

#include <algorithm>
#include <queue>
#include <utility>
#include <vector>

namespace nl::compare {
namespace {

using Give = std::function<void(size_t, analyze::Interval)>;

class Sweep {
 public:
  Sweep(const analyze::Device& device, const Give& give) : work_(device.work), give_(give) {}

  void run() {
    for (size_t i = 0; i < work_.size(); i++) {
      give_until(work_[i].start);
      running_.push({static_cast<int>(work_[i].kind), i});
    }
    give_until(INT64_MAX);
  }

 private:
  using Place = std::pair<int, size_t>;  // kind, then index: work is sorted by start

  void give_until(int64_t time) {
    while (now_ < time && !running_.empty()) {
      const size_t owner = running_.top().second;
      const int64_t end = std::min(work_[owner].end, time);
      if (end > now_) give_(owner, {now_, end});
      now_ = std::max(now_, end);
      if (work_[owner].end <= time) running_.pop();
    }
    now_ = std::max(now_, time);
  }

  const PagedVector<analyze::Work>& work_;
  const Give& give_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> running_;
  int64_t now_ = INT64_MIN;
};

}  // namespace

void for_owned_time(const analyze::Device& device, const Give& give) {
  Sweep(device, give).run();
}

}  // namespace nl::compare
