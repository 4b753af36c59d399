#pragma once
// Says which kernel, op, module or phase the device time belongs to. Work that belongs to none of them is a
// row of its own, so that each table adds up to the device's work in the window.

#include <span>
#include <string>
#include <vector>

#include "analyze/answer/tables.h"
#include "analyze/load/devices.h"
#include "analyze/load/windows.h"

namespace nl::analyze {

/// Ops of kernels that another run told.
struct LentOps {
  std::span<const uint32_t> op_of_kernel = {};     ///< by row of kernels; kNoRow where nobody told
  std::span<const std::string> module_of_op = {};  ///< empty where the op is outside of modules

  uint32_t op(const Work& work) const {
    const bool has_one = work.table == WorkTable::kKernels && work.row < op_of_kernel.size();
    return has_one ? op_of_kernel[work.row] : kNoRow;
  }
};

struct KernelRow {
  uint32_t name;
  bool is_copy;
  int64_t total_ns = 0;    ///< sum, clipped to the window
  int64_t exposed_ns = 0;  ///< of it, the time in which nothing else ran on the device
  int64_t calls = 0;
  int64_t longest_ns = -1;  ///< of one call, not clipped
  uint32_t longest_row = 0;
  WorkTable longest_table = WorkTable::kKernels;  ///< that longest_row is of; work may be spans
};
/// Kernels and copies of the window, by total, then name.
std::vector<KernelRow> kernel_rows(const Timeline& run, const Device& device, const IntervalSet& window);

/// Device time of an op: of the kernels and copies that it launched itself. Work launched outside of ops
/// belongs to its call, a graph's to the graph launch; work whose launch is not in the capture to nobody.
struct OpRow {
  Owner owner;
  uint32_t name = 0;  ///< of op or call; of a kNoLaunch row none
  uint32_t op_type = 0;
  int64_t device_ns = 0;  ///< sum, clipped to the window
  int64_t calls = 0;      ///< ops or calls with work in the window
  int64_t works = 0;      ///< kernels and copies
};
/// Work with a lent op is in none of the rows.
std::vector<OpRow> op_rows(const Timeline& run, const Device& device, const IntervalSet& window,
                           const LentOps& lent = {});

/// Ops by their own time on the host: less that of ops and runtime calls inside.
struct HostOpRow {
  uint32_t name;
  uint32_t op_type;
  int64_t own_ns = 0;
  int64_t calls = 0;  ///< that start in the window
};
std::vector<HostOpRow> host_op_rows(const Timeline& run, const IntervalSet& window);

/// Stands in tables for the owner of work that cannot be ascribed to anything.
inline constexpr std::string_view kNoLaunchName = "(launch not in the capture)";

/// Device time by the path of nn.Module frames around the launch, instance numbers left out; the row without
/// a path is the work outside of modules, and work without a launch has a row of its own.
struct ModuleRow {
  std::string path;
  int64_t device_ns = 0;
  int64_t works = 0;
};
/// Work with a lent op is in the module of that op. Rows behind the first `most` have no path: those of many
/// deep modules are long.
std::vector<ModuleRow> module_rows(const Timeline& run, const Device& device, const IntervalSet& window,
                                   const LentOps& lent = {}, size_t most = SIZE_MAX);

/// Device time by the phase in whose range the launch call began.
struct PhaseRow {
  Phase phase;
  int64_t ranges = 0;
  int64_t host_ns = 0;    ///< union of the ranges in the window
  int64_t device_ns = 0;  ///< sum of the work launched in them
  int64_t kernels = 0;
  int64_t graph_kernels = 0;
};
std::vector<PhaseRow> phase_rows(const Timeline& run, const Windows& windows, const Device& device,
                                 const IntervalSet& window);

/// How much of a device's kernel time is known to belong to something. Sums, clipped to the window.
struct Coverage {
  int64_t kernels_ns = 0, with_launch_ns = 0, with_op_ns = 0, graph_ns = 0;
};
Coverage coverage_of(const Timeline& run, const Device& device, const IntervalSet& window);

/// Length of the work inside the window.
int64_t clipped_ns(const Work& work, const IntervalSet& window);
bool touches(const Work& work, const IntervalSet& window);

}  // namespace nl::analyze
