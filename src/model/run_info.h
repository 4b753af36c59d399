#pragma once
// RunInfo: what a source says about the run as a whole; the store turns it into run.json. Plain data that an
// adapter fills on one thread. Unknown values stay empty and are never zero.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace nl::model {

/// Law: seen = stored + folded + dropped.
struct Counts {
  int64_t seen = 0;
  int64_t stored = 0;
  std::map<std::string, int64_t> folded;   ///< reason -> records whose content went elsewhere
  std::map<std::string, int64_t> dropped;  ///< reason -> records that were lost

  int64_t total_folded() const;
  int64_t total_dropped() const;
  bool closes() const { return seen == stored + total_folded() + total_dropped(); }
};

struct Device {
  int32_t device = 0;
  std::optional<int32_t> rank = {};  ///< where ranks have different devices of one number
  std::string name = {};
  std::string vendor = {};
  std::optional<int64_t> memory_bytes = {};
  std::optional<std::string> compute_capability = {};
  std::optional<int64_t> multiprocessors = {};
  bool active = false;  ///< work of the run was seen on it
};

struct Rank {
  int32_t rank = 0;
  std::optional<int32_t> world_size = {};
  bool operator==(const Rank&) const = default;
};

struct Clock {
  int32_t clock_id = 0;
  std::string kind = {};      ///< unix or relative
  int64_t base_unix_ns = 0;   ///< added to start_ns gives Unix time, if kind is unix
  int64_t resolution_ns = 1;  ///< smallest step the source writes
  /// Clocks with the same one are one clock, whatever their bases say; empty: not known.
  std::string identity = {};
};

/// CLOCK_MONOTONIC of a system since it was started; empty if that is no boot id.
std::string monotonic_identity(std::string_view boot_id);

/// A window that the source itself marks.
struct Window {
  std::string kind;
  std::string name;
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
};

/// Windows beyond these are only counted: they can be found again among the spans.
inline constexpr size_t kMaxKeptWindows = 10'000;

struct RunInfo {
  std::string backend = "unknown";
  std::string tool = {};
  std::string tool_version = {};
  std::map<std::string, std::string> versions = {};
  std::map<std::string, std::string> labels =
      {};  ///< what the source says of the workload; see model/labels.h
  std::vector<std::string> hosts = {};
  std::vector<Device> devices = {};
  std::vector<Rank> ranks = {};
  std::vector<Clock> clocks = {};
  std::vector<std::string> flags = {};  ///< options of the profiler that were on
  std::map<std::string, int64_t> records_by_phase = {};
  std::map<std::string, int64_t> records_by_category = {};
  std::map<std::string, int64_t> health = {};  ///< oddities kept but counted, e.g. negative_duration
  std::vector<Window> windows = {};
  int64_t windows_seen = 0;
  Counts counts = {};
  nlohmann::json extensions = nlohmann::json::object();

  /// What another source of the same run says. The first to say something counts; clocks are numbered anew.
  void add(RunInfo other);

  /// Why another source cannot be of the same run: the two say different things of one device. Nothing if it
  /// can. Ranks may well have different devices of one number.
  std::optional<std::string> contradiction(const RunInfo& other) const;
};

/// As run.json has them; `active` is false where it does not say.
Device device_of(const nlohmann::json& given);
Rank rank_of(const nlohmann::json& given);

}  // namespace nl::model
