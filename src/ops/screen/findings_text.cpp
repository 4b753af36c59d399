#include "ops/screen/findings_text.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "ops/text/figure_text.h"
#include "ops/text/text.h"

namespace nl::ops {
namespace {

constexpr double kLeastAtStake = 0.01;  // of the window

/// How much time the advice may save, and which part of it other findings promise too.
std::string promise_text(const analyze::Finding& finding) {
  if (finding.promised_ns == 0 && finding.shared_with.empty()) return "";
  const std::string others = fmt::format("{}", fmt::join(finding.shared_with, ", "));
  if (finding.promised_ns == 0) return fmt::format("This time is already promised by {}.", others);
  return fmt::format("Saves at most {}{}.", duration_text(finding.promised_ns),
                     others.empty() ? "" : "; the rest is already promised by " + others);
}

double share_of_window(const analyze::Finding& finding, const analyze::Analysis& data) {
  if (data.window.total_ns == 0) return 0;
  return static_cast<double>(finding.at_stake_ns) / static_cast<double>(data.window.total_ns);
}

}  // namespace

std::string findings_text(const analyze::Analysis& data, const TextStyle& style) {
  constexpr std::string_view kBelow = "          ";
  if (data.findings.empty()) return "\n" + bold("Findings", style) + "\n  none\n";
  std::string out = "\n" + bold("Findings, most time at stake first", style) + "\n";
  std::map<std::string, int> devices;
  int64_t small = 0;
  for (const auto& [finding, device] : data.findings) devices[finding.rule]++;
  for (const auto& [finding, device] : data.findings) {
    const int on = std::exchange(devices[finding.rule], 0);
    if (on == 0) continue;  // told with the device that has most at stake
    const double share = share_of_window(finding, data);
    if (share < kLeastAtStake) {
      small++;
      continue;
    }
    const std::string by =
        fmt::format("{}, {} confidence{}{}", finding.rule, analyze::confidence_name(finding.confidence),
                    finding.promised_ns > 0 && finding.proof == "unproved" ? ", unproved" : "",
                    on > 1 ? fmt::format(", most of {} devices", on) : "");
    const std::vector<std::string> title = {bold(finding.title, style), dim(by, style)};
    out += fmt::format("  {:>6}  {}\n", percent_text(share), listed(title, "  ", kBelow, style));
    out += wrapped(evidence_text(finding.evidence.front()), kBelow, style.width);
    if (!finding.suggestions.empty()) out += wrapped(finding.suggestions[0].text, kBelow, style.width);
    out += wrapped(promise_text(finding), kBelow, style.width);
  }
  if (small > 0)
    out += "  " + dim(counted(small, "finding") + " about less than 1 % of the window", style) + "\n";
  return out;
}

}  // namespace nl::ops
