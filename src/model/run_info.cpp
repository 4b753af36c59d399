#include "model/run_info.h"

namespace nl::model {
namespace {

int64_t total(const std::map<std::string, int64_t>& by_reason) {
  int64_t sum = 0;
  for (const auto& [reason, n] : by_reason) sum += n;
  return sum;
}

}  // namespace

int64_t Counts::total_folded() const {
  return total(folded);
}

int64_t Counts::total_dropped() const {
  return total(dropped);
}

}  // namespace nl::model
