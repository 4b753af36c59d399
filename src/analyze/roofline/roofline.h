#pragma once
// The roofline: the least time that a device needs for given operations and bytes, and its share of the
// measured time. Pure functions; if an input is absent, the result is absent with the same reason.

#include <cstdint>
#include <string_view>

#include "analyze/models/op_model.h"
#include "analyze/roofline/device_peaks.h"
#include "base/known.h"

namespace nl::analyze {

enum class Bound { kCompute, kMemory };
std::string_view bound_name(Bound bound);

/// A part of what is possible. Above 1 the model or the peak is wrong (or caches served bytes that the model
/// takes from memory): a fault to report, never a success.
struct Share {
  double value = 0;
  bool model_or_peak_error = false;
};

struct Roofline {
  double intensity = 0;     ///< operations per byte
  double attainable = 0;    ///< operations per second at this intensity
  double roof_time_ns = 0;  ///< max(operations / peak, bytes / bandwidth)
  Share share = {};         ///< roof time / measured time
  Bound bound = Bound::kMemory;
  bool fits_cache = false;  ///< a cache that is known may hold all bytes, so that the memory is no roof
};

struct RoofWork {
  Known<int64_t> flops;
  Known<int64_t> bytes;
};

/// `peak` is in operations per second, `bandwidth` in bytes per second. Work without operations needs no
/// peak.
Known<Roofline> roofline(const RoofWork& work, int64_t time_ns, const Known<double>& peak,
                         const Known<double>& bandwidth);

/// With the dense peak of the model's dtype, or of tf32 if the kernels run in it. Elementwise work is held
/// against the same peak, which is a bound for it, if a loose one; memory bounds it long before.
/// `kernel_names` are those of the op's kernels, joined by anything. Work in types without published rates
/// (int64, bool) has the roof of the memory only. Absent for kernels that need fewer operations than the
/// model counts.
Known<Roofline> roofline(const OpModel& model, int64_t time_ns, const DevicePeaks& peaks,
                         std::string_view kernel_names = {});

/// A figure from a model and the same from a counter.
struct Compared {
  Known<int64_t> model;
  Known<int64_t> counter;
  bool disagrees = false;  ///< both are known and differ by more than 10 % of the larger
};
Compared compare(Known<int64_t> model, Known<int64_t> counter);

/// Both are kept: a counter tells what the device did, a model what was needed.
struct ComparedRoofline {
  Compared flops;
  Compared bytes;
  Known<Roofline> by_model;
  Known<Roofline> by_counter;
};
ComparedRoofline compare_rooflines(const RoofWork& model, const RoofWork& counters, int64_t time_ns,
                                   const Known<double>& peak, const Known<double>& bandwidth);

/// Model FLOP utilisation: operations per second over devices x dense peak of the dtype.
Known<Share> mfu(const Known<int64_t>& flops, int64_t time_ns, int64_t devices,
                 const Known<double>& dense_peak);

/// Memory bandwidth utilisation: bytes that must be read per second over the bandwidth.
Known<Share> mbu(const Known<int64_t>& bytes, int64_t time_ns, const Known<double>& bandwidth);

enum class SpeedOfLight { kCompute, kMemory, kLatency };
std::string_view speed_of_light_name(SpeedOfLight speed);

/// From the percentages of peak that counters give: bound by the larger one if it reaches 60 %, else by
/// latency.
Known<SpeedOfLight> speed_of_light(const Known<double>& sm_pct, const Known<double>& memory_pct);

}  // namespace nl::analyze
