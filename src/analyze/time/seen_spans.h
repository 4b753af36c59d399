#pragma once
// SeenSpans: counts each span once.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nl::analyze {

class SeenSpans {
 public:
  explicit SeenSpans(size_t spans) : seen_(spans) {}
  bool is_new(uint32_t span) {
    if (seen_[span]) return false;
    seen_[span] = true;
    return true;
  }

 private:
  std::vector<bool> seen_;
};

}  // namespace nl::analyze
