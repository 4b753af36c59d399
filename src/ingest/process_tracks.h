#pragma once
// ProcessTracks: the timelines of one process, numbered as they are first seen. If a profiler writes several
// files about one process, they can share this object. One thread.

#include <cstdint>
#include <map>
#include <optional>

namespace nl::ingest {

/// A stream of a device, or a thread of a process.
struct ProcessTrack {
  bool is_stream = false;
  std::optional<int64_t> first = {};   ///< device or process
  std::optional<int64_t> second = {};  ///< stream or thread
  auto operator<=>(const ProcessTrack&) const = default;
};

class ProcessTracks {
 public:
  struct Found {
    int32_t track = 0;
    bool is_new = false;
  };
  Found find(const ProcessTrack& track) {
    const auto [it, is_new] = numbers_.try_emplace(track, static_cast<int32_t>(numbers_.size()));
    return {it->second, is_new};
  }
  size_t size() const { return numbers_.size(); }

 private:
  std::map<ProcessTrack, int32_t> numbers_ = {};
};

}  // namespace nl::ingest
