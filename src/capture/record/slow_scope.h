#pragma once
// SlowScope: watches the markers that a recorder moves, and reports when a scope of a given name took longer
// than its limit. One thread.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "wire/recording.h"

namespace nl::capture {

class SlowScope {
 public:
  SlowScope(std::string name, uint64_t limit_ns) : name_(std::move(name)), limit_ns_(limit_ns) {}

  /// "decode=50": longer than 50 ms is slow.
  static Result<SlowScope> parse(const std::string& text);

  /// Whole chunks; those of names are looked at.
  void define(std::string_view chunks);
  /// Markers of one thread: true if such a scope ended in them.
  bool take(const wire::ChunkHeader& header, std::string_view payload);

 private:
  /// Process, thread, lane; 0 is the thread itself.
  using Line = std::tuple<uint32_t, uint64_t, uint64_t>;

  std::string name_;
  uint64_t limit_ns_;
  std::set<std::pair<uint32_t, uint32_t>> numbers_;  ///< of the name, by process
  std::map<Line, std::vector<uint64_t>> begins_;     ///< of scopes that are open
};

}  // namespace nl::capture
