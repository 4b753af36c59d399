#include "analyze/roofline/roofline.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nl::analyze {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr double kDisagreement = 0.1;
constexpr double kBoundPct = 60;
constexpr double kNoCeiling = std::numeric_limits<double>::max();

Share share_of(double part, double whole) {
  const double value = part / whole;
  return {value, value > 1};
}

bool is_positive(double number) {
  return std::isfinite(number) && number > 0;
}

/// Nothing if all is as it should be.
std::string fault_of(int64_t flops, int64_t bytes, int64_t time_ns) {
  if (flops < 0 || bytes < 0) return "operations or bytes are negative";
  if (bytes == 0) return "the work moves no bytes";
  if (time_ns <= 0) return "there is no time to divide by";
  return {};
}

/// Without operations the peak does not matter.
Roofline under_roof(double flops, double bytes, double time_ns, double peak, double bandwidth) {
  const double compute_ns = flops / peak * kNsPerSecond;
  const double memory_ns = bytes / bandwidth * kNsPerSecond;
  Roofline out;
  out.intensity = flops / bytes;
  out.attainable = std::min(peak, out.intensity * bandwidth);
  out.roof_time_ns = std::max(compute_ns, memory_ns);
  out.share = share_of(out.roof_time_ns, time_ns);
  out.bound = compute_ns > memory_ns ? Bound::kCompute : Bound::kMemory;
  return out;
}

Known<Share> utilisation(const Known<int64_t>& amount, int64_t time_ns, double devices,
                         const Known<double>& peak) {
  return combine(amount, peak, [&](int64_t part, double per_second) -> Known<Share> {
    if (part < 0 || time_ns <= 0 || devices < 1) return Absent{"there is no work or time to divide"};
    if (!is_positive(per_second)) return Absent{"the peak is not above 0"};
    const double seconds = static_cast<double>(time_ns) / kNsPerSecond;
    return share_of(static_cast<double>(part) / seconds, devices * per_second);
  });
}

}  // namespace

std::string_view bound_name(Bound bound) {
  return bound == Bound::kCompute ? "compute" : "memory";
}

Known<Roofline> roofline(const RoofWork& work, int64_t time_ns, const Known<double>& peak,
                         const Known<double>& bandwidth) {
  if (!work.flops) return Absent{work.flops.reason()};
  if (!work.bytes) return Absent{work.bytes.reason()};
  if (const auto fault = fault_of(*work.flops, *work.bytes, time_ns); !fault.empty()) return Absent{fault};
  const bool needs_peak = *work.flops > 0;
  const Known<double> used = needs_peak ? peak : kNoCeiling;
  return combine(used, bandwidth, [&](double operations, double bytes) -> Known<Roofline> {
    if (!is_positive(operations) || !is_positive(bytes)) return Absent{"a peak is not above 0"};
    return under_roof(static_cast<double>(*work.flops), static_cast<double>(*work.bytes),
                      static_cast<double>(time_ns), operations, bytes);
  });
}

Known<Roofline> roofline(const OpModel& model, int64_t time_ns, const DevicePeaks& peaks,
                         std::string_view kernel_names) {
  if (saves_operations(kernel_names))
    return Absent{"the kernels need fewer operations than the model counts"};
  const std::string dtype = compute_dtype(model.dtype, kernel_names);
  const Known<double> peak = has_published_rates(dtype) ? peaks.peak(dtype) : kNoCeiling;
  return map(
      roofline(RoofWork{model.flops, model.bytes_min}, time_ns, peak, peaks.bandwidth), [&](Roofline out) {
        out.fits_cache = peaks.cache_bytes && static_cast<double>(model.bytes_min) <= *peaks.cache_bytes;
        return out;
      });
}

Compared compare(Known<int64_t> model, Known<int64_t> counter) {
  Compared out{std::move(model), std::move(counter)};
  if (!out.model || !out.counter) return out;
  const double a = static_cast<double>(*out.model);
  const double b = static_cast<double>(*out.counter);
  out.disagrees = std::abs(a - b) > kDisagreement * std::max(std::abs(a), std::abs(b));
  return out;
}

ComparedRoofline compare_rooflines(const RoofWork& model, const RoofWork& counters, int64_t time_ns,
                                   const Known<double>& peak, const Known<double>& bandwidth) {
  return {compare(model.flops, counters.flops), compare(model.bytes, counters.bytes),
          roofline(model, time_ns, peak, bandwidth), roofline(counters, time_ns, peak, bandwidth)};
}

Known<Share> mfu(const Known<int64_t>& flops, int64_t time_ns, int64_t devices,
                 const Known<double>& dense_peak) {
  return utilisation(flops, time_ns, static_cast<double>(devices), dense_peak);
}

Known<Share> mbu(const Known<int64_t>& bytes, int64_t time_ns, const Known<double>& bandwidth) {
  return utilisation(bytes, time_ns, 1, bandwidth);
}

std::string_view speed_of_light_name(SpeedOfLight speed) {
  if (speed == SpeedOfLight::kCompute) return "compute";
  return speed == SpeedOfLight::kMemory ? "memory" : "latency";
}

Known<SpeedOfLight> speed_of_light(const Known<double>& sm_pct, const Known<double>& memory_pct) {
  return combine(sm_pct, memory_pct, [](double sm, double memory) -> Known<SpeedOfLight> {
    if (!std::isfinite(sm) || !std::isfinite(memory) || sm < 0 || memory < 0) {
      return Absent{"a percentage is not a number of at least 0"};
    }
    if (std::max(sm, memory) < kBoundPct) return SpeedOfLight::kLatency;
    return sm >= memory ? SpeedOfLight::kCompute : SpeedOfLight::kMemory;
  });
}

}  // namespace nl::analyze
