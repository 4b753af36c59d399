#pragma once
// Side: where the time in the window of one run went. It is divided into pieces that add up to the window and
// can be matched with the pieces of another run.

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/loaded_run.h"
#include "compare/part.h"

namespace nl::compare {

inline constexpr uint32_t kNoText = UINT32_MAX;

/// One piece of work, or what a source adds up under one name. Texts are ids of Texts.
struct Item {
  uint32_t name;
  uint32_t label;   ///< for people
  uint32_t family;  ///< coarser than the name
  uint32_t shape = kNoText;
  uint32_t op = kNoText;      ///< what launched it
  uint32_t module = kNoText;  ///< path of the modules around the launch
  uint32_t group = kNoText;   ///< index in Side::groups
  Part part = Part::rest();
  int64_t owned_ns = 0;  ///< share of the window that belongs to it alone
  int64_t time_ns = 0;   ///< its own duration in the window
  int64_t calls = 1;
};

/// A span around launches: op, module or range; parents come first.
struct Group {
  uint32_t parent = kNoText;
  uint32_t name = kNoText;
  bool is_op = false;
};

using Texts = analyze::Names;

struct Side {
  std::string source;       ///< what the pieces are: device, host, layers, replays, or ranges
  std::string device;       ///< device_text of the device that is looked at; empty for layers and replays
  std::string window;       ///< name of the window
  std::string unit;         ///< what figures are given for: capture, step, range, inference or replay
  int64_t units = 1;        ///< how many of them the window has
  int64_t warm_up = 0;      ///< steps at the begin that are left out
  int64_t window_ns = 0;    ///< of all units
  PartTimes parts{};        ///< of all units; their sum is window_ns
  PagedVector<Item> items;  ///< in order of their launches
  PagedVector<Group> groups;
  std::vector<int64_t> unit_ns;  ///< each unit of the window
};

/// What both sides must agree on before they are built.
struct SideChoice {
  std::string window;   ///< steps, or as window_named
  int64_t warm_up = 0;  ///< of steps
  size_t device = 0;    ///< index in run.devices
  bool with_groups = true;
};

/// Whether a run has work on a time line; runs of layers or replays have none.
bool has_devices(const analyze::LoadedRun& run);
/// The device with the most busy time in the window.
size_t busiest_device(const analyze::LoadedRun& run, const analyze::IntervalSet& window);
/// Steps without the first `warm_up`, or a window by name.
Result<analyze::IntervalSet> window_of(const analyze::LoadedRun& run, const SideChoice& choice);

Result<Side> make_side(analyze::LoadedRun& run, const analyze::Taxonomy& taxonomy, const SideChoice& choice,
                       Texts& texts);

}  // namespace nl::compare
