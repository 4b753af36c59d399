#include "ops/advice/trust.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/number_text.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr double kMuchLost = 0.01;  // of the records

/// Notes of the analysis that say nothing against the record.
bool is_harmless(std::string_view note) {
  return note == "queued_before_capture";
}

/// Notes that make the times of the device meaningless.
bool is_fatal(std::string_view note) {
  return note == "graph_capture" || note == "graph_nodes_missing" || note == "no_kernels";
}

class Reasons {
 public:
  explicit Reasons(const TrustFacts& facts) : facts_(facts) {}

  Trust take() {
    add_loss();
    add_faults();
    add_verdict();
    add_notes();
    add_clocks();
    add_missing_time_line();
    add_untimed();
    add_overhead();
    add_origin();
    std::stable_sort(trust_.reasons.begin(), trust_.reasons.end(),
                     [](const TrustReason& a, const TrustReason& b) { return a.level > b.level; });
    if (!trust_.reasons.empty()) trust_.level = trust_.reasons.front().level;
    return std::move(trust_);
  }

 private:
  void add(std::string id, TrustLevel level, std::string text) {
    trust_.reasons.push_back({std::move(id), level, std::move(text)});
  }
  void limit(std::string id, std::string text) { add(std::move(id), TrustLevel::kLimited, std::move(text)); }

  void add_loss() {
    const json& counts = facts_.document["capture"]["counts"];
    const int64_t seen = counts["seen"], dropped = store::sum_of_counts(counts["dropped"]);
    if (seen != counts["stored"].get<int64_t>() + store::sum_of_counts(counts["folded"]) + dropped)
      add("counts", TrustLevel::kPoor, "The counts of the records do not add up: the run is damaged.");
    if (dropped == 0) return;
    const std::string reason = counts["dropped"].items().begin().key();
    const double share = static_cast<double>(dropped) / static_cast<double>(std::max<int64_t>(1, seen));
    add("dropped", share > kMuchLost ? TrustLevel::kPoor : TrustLevel::kLimited,
        fmt::format("{} of {} records ({}) were dropped, for example because of {}.", grouped(dropped),
                    grouped(seen), percent_text(share), reason));
  }

  /// Of many kinds of faults the one with the largest count is named. Some count records, others bytes.
  void add_faults() {
    const json& health = facts_.document["capture"]["health"];
    std::string worst;
    int64_t most = 0;
    for (const auto& [what, n] : health.items()) {
      if (n.get<int64_t>() <= most) continue;
      worst = what;
      most = n;
    }
    if (most > 0)
      limit("faults", fmt::format("The file has faults, for example {} ({}).", worst, grouped(most)));
  }

  void add_verdict() {
    const auto& undecided = facts_.analysis.undecided;
    if (!undecided) return;
    // The times are sound there, only the cause of the idle time is missing.
    const auto level = undecided->id == "unknown_idle" ? TrustLevel::kLimited : TrustLevel::kPoor;
    add("undecided", level, "The capture cannot tell what limits the run: " + undecided->text + ".");
  }

  void add_notes() {
    const auto& undecided = facts_.analysis.undecided;
    for (const analyze::Remark& note : facts_.analysis.notes) {
      if (is_harmless(note.id) || (undecided && undecided->id == note.id)) continue;
      add(note.id, is_fatal(note.id) ? TrustLevel::kPoor : TrustLevel::kLimited, note.text);
    }
    for (const analyze::Remark& remark : facts_.analysis.host_remarks) {
      if (remark.id == "few_ops") add(remark.id, TrustLevel::kPoor, remark.text);
      if (remark.id == "device_not_recorded" || remark.id == "slow_calls") limit(remark.id, remark.text);
    }
  }

  void add_clocks() {
    const analyze::ClocksAnswer& clocks = facts_.analysis.clocks;
    if (clocks.early_starts.record_corruption > 0)
      limit("clocks",
            fmt::format("{}, and no fit of the clocks explains it.",
                        counted(clocks.early_starts.record_corruption, "kernel starts before its launch",
                                "kernels start before their launch")));
    const bool is_unbound = std::any_of(clocks.fits.begin(), clocks.fits.end(), [](const auto& fit) {
      return fit.method != "same_clock" && !fit.device && !fit.bound_ns;
    });
    if (is_unbound)
      limit("clock_bound",
            "Clocks of several sources are used together, and nothing says how wrong their times may be.");
  }

  void add_missing_time_line() {
    if (!facts_.analysis.devices.empty()) return;
    switch (facts_.parts.of) {
      case WholeKind::kReplays:
        return limit(
            "replayed",
            "Launches were replayed with fixed clocks and cold caches: these are not times of the run.");
      case WholeKind::kLayers:
        return limit("layers_only",
                     "The file has times of layers and no time line: waiting and idle time do not show.");
      case WholeKind::kSamples:
        return limit("samples_only", "The file has samples of the processors and no work of a device.");
      case WholeKind::kSums:
        return limit("sums_only", "The file holds only sums: gaps and overlaps do not show.");
      default:
        if (trust_.reasons.empty() || facts_.analysis.window.total_ns == 0)
          add("no_times", TrustLevel::kPoor, "The file holds no times of work that could be judged.");
    }
  }

  void add_untimed() {
    int64_t rows = 0;
    for (const analyze::DeviceAnswer& device : facts_.analysis.devices) rows += device.untimed;
    if (rows > 0)
      limit("untimed",
            counted(rows, "record of device work has no time.", "records of device work have no time."));
  }

  void add_overhead() {
    if (const std::string warning = overhead_warning(facts_.iterations); !warning.empty())
      limit("overhead", fmt::format("The profiler costs time: {}.", warning));
  }

  void add_origin() {
    if (!facts_.claimed_by.empty())
      limit("claimed", "The run came packed in " + facts_.claimed_by +
                           "; the profiles that would prove it are not here.");
  }

  const TrustFacts& facts_;
  Trust trust_;
};

}  // namespace

std::string_view trust_level_name(TrustLevel level) {
  constexpr std::string_view kNames[kTrustLevels] = {"good", "limited", "poor"};
  return kNames[static_cast<size_t>(level)];
}

Trust trust_of(const TrustFacts& facts) {
  return Reasons(facts).take();
}

}  // namespace nl::ops
