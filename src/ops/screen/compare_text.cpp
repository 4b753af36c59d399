#include "ops/screen/compare_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "compare/answer.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "report/compare_words.h"

namespace nl::ops {
namespace {

using compare::ChangeRow;
using compare::Comparison;
using compare::PartRow;

/// A bar to the left for less and to the right for more, from one axis.
std::string delta_bar(int64_t delta, int64_t largest, size_t half) {
  const double share = largest == 0 ? 0 : static_cast<double>(std::abs(delta)) / static_cast<double>(largest);
  const auto length = static_cast<size_t>(std::lround(share * static_cast<double>(half)));
  std::string left(half - (delta < 0 ? length : 0), ' '), right;
  for (size_t i = 0; i < length; i++) (delta < 0 ? left : right) += "█";
  return left + "│" + right;
}

constexpr size_t kTextColumn = 12;  // behind "  verdict   "

std::string verdict_text(const Comparison& data, const TextStyle& style) {
  std::string verdict(stats::verdict_name(data.verdict));
  std::replace(verdict.begin(), verdict.end(), '_', ' ');
  std::string text = verdict;
  for (size_t i = 0; i < std::min<size_t>(3, data.reasons.size()); i++)
    text += (i == 0 ? ": " : "; ") + data.reasons[i];
  return "  " + bold("verdict   " + verdict, style) +
         behind_column(text, kTextColumn, style).substr(verdict.size()) + "\n";
}

std::string wall_text(const Comparison& data, const TextStyle& style) {
  std::string change = signed_duration_text(data.delta_ns);
  if (data.ratio) change += " (" + signed_percent_text(*data.ratio - 1) + ")";
  const std::string many = data.base.units == 1 && data.next.units == 1
                               ? ""
                               : fmt::format(", mean of {} and {}", data.base.units, data.next.units);
  return fmt::format("  {:<10}{} → {}  {}{}\n", data.unit, duration_text(data.base.window_ns),
                     duration_text(data.next.window_ns), bold(change, style), many);
}

std::string warm_up_text(const Comparison& data, const TextStyle& style) {
  const int64_t base = data.base.warm_up_left_out, next = data.next.warm_up_left_out;
  if (base == 0 && next == 0) return "";
  return "  " +
         dim(fmt::format("left out as warm-up: the first {} and {} (--keep-warm-up counts them)", base,
                         counted(next, "step")),
             style) +
         "\n";
}

std::string score_text(const Comparison& data, const TextStyle& style) {
  std::string unlike;
  for (const compare::Factor& factor : data.comparability.factors) {
    if (factor.state != compare::FactorState::kDifferent) continue;
    unlike += (unlike.empty() ? "; differs: " : ", ") + factor.name;
  }
  const std::string score = fmt::format("{:.2f}{}", data.comparability.score, unlike);
  return "  " + dim("comparable " + behind_column(score, kTextColumn + 1, style), style) + "\n";
}

std::string remarks_text(const Comparison& data, const TextStyle& style) {
  std::string out;
  for (const std::string& remark : data.remarks)
    out += "  remark    " + behind_column(remark, kTextColumn, style) + "\n";
  return out;
}

/// What the sides are, for people: "resnet50, nw0.json.gz".
std::string side_name(const compare::ComparedSide& side) {
  const std::string words = report::side_words(side);
  return words.empty() ? "" : " (" + words + ")";
}

std::string title_text(const Comparison& data, const TextStyle& style) {
  const std::string title =
      fmt::format("compare {}{} → {}{}  {}{}", short_id(data.base.run_id), side_name(data.base),
                  short_id(data.next.run_id), side_name(data.next), data.base.window,
                  data.base.device ? ", device " + *data.base.device : "");
  return dim(title, style) + "\n";
}

std::string tested_text(const compare::Statistics& statistics, const TextStyle& style) {
  const auto& interval = statistics.ratio_interval;
  if (!statistics.p_adjusted || !interval) return "";
  return "  " +
         dim(fmt::format("{} and {} runs: ratio {:.4f} [{:.4f}, {:.4f}], p {:.2g}", statistics.base.n,
                         statistics.next.n, statistics.ratio.value_or(1), interval->low, interval->high,
                         *statistics.p_adjusted),
             style) +
         "\n";
}

using Align = TextTable::Align;

std::string changed_parts_text(const Comparison& data, const TextStyle& style) {
  int64_t largest = 0;
  for (const PartRow& part : data.parts) largest = std::max(largest, std::abs(part.delta_ns));
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.add({"part", "base", "new", "delta", ""});
  for (const PartRow& part : data.parts) {
    if (std::abs(part.delta_ns) * 200 < largest) continue;
    const std::string kind(compare::part_kind_name(part.kind));
    table.add({kind == part.name ? kind : kind + " " + part.name, duration_text(part.base_ns),
               duration_text(part.new_ns), signed_duration_text(part.delta_ns),
               delta_bar(part.delta_ns, largest, 12)});
  }
  return fmt::format("\nWhere the difference of {} is\n", signed_duration_text(data.delta_ns)) +
         table.text("  ", true, style);
}

using Amount = std::optional<compare::WorkAmount>;

std::string calls_text(const ChangeRow& change) {
  const auto calls = [](const Amount& amount) {
    return amount ? fmt::format("{:.4g}", amount->calls_per_unit) : std::string("-");
  };
  const std::string before = calls(change.base), after = calls(change.next);
  return before == after ? before : before + " → " + after;
}

std::string changes_text(const Comparison& data, const TextStyle& style) {
  if (data.changes.empty()) return "";
  TextTable table(
      {Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft});
  table.add({"delta", "base", "new", "calls", "change", "class", "work"});
  const auto time = [](const Amount& amount) {
    return amount ? duration_text(amount->time_ns) : std::string("-");
  };
  const auto width = static_cast<size_t>(std::max(style.width - 72, 14));
  for (const ChangeRow& change : data.changes) {
    if (change.delta_ns == 0) continue;
    table.add({signed_duration_text(change.delta_ns), time(change.base), time(change.next),
               calls_text(change), std::string(compare::change_kind_name(change.kind)), change.op_class,
               shortened(change.name, width)});
  }
  std::string out = "\nWhat changed in the work, largest first\n" + table.text("  ", true, style);
  if (data.not_shown.rows > 0)
    out += fmt::format("  {}: {}\n", counted(data.not_shown.rows, "more row"),
                       signed_duration_text(data.not_shown.delta_ns));
  return out;
}

std::string limits_text(const std::vector<compare::LimitCheck>& limits, const TextStyle& style) {
  if (limits.empty()) return "";
  TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.add({"limit of", "", "at most", "is", "share"});
  for (const compare::LimitCheck& limit : limits) {
    table.add({limit.kind, limit.what, limit.limit,
               limit.value_ns ? duration_text(*limit.value_ns) : "not there",
               (limit.share ? percent_text(*limit.share) : "-") + (limit.met ? "  kept" : "  NOT KEPT")});
  }
  return "\nWhat is expected\n" + table.text("  ", true, style);
}

std::string share_or_dash(std::optional<double> share) {
  return share ? percent_text(*share) : "-";
}

std::string ratio_or_dash(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.2f}", *ratio) : "-";
}

std::string across_text(const compare::Across& across, const TextStyle& style) {
  constexpr size_t kMostRows = 12;
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
                   Align::kRight, Align::kRight});
  table.add({std::string(compare::across_level_name(across.level)), "base", "new", "ratio", "by peaks",
             "roof base", "roof new", "lost"});
  for (size_t i = 0; i < std::min(across.rows.size(), kMostRows); i++) {
    const compare::AcrossRow& row = across.rows[i];
    table.add({shortened(row.name, 36), duration_text(row.base.time_ns), duration_text(row.next.time_ns),
               ratio_or_dash(row.time_ratio), ratio_or_dash(row.hardware_ratio),
               share_or_dash(row.base.roof_share), share_or_dash(row.next.roof_share),
               row.lost_ns ? signed_duration_text(*row.lost_ns) : "-"});
  }
  return "\n" + across.words + "\n" + table.text("  ", true, style);
}

std::string files_text(const Comparison& data, const TextStyle& style) {
  if (!data.files) return "";
  std::string out = "\n";
  for (const compare::WrittenFile& file : *data.files)
    out += fmt::format("{}  {}\n", file.name, dim(bytes_text(static_cast<int64_t>(file.bytes)), style));
  return out;
}

}  // namespace

std::string compare_text(const Outcome& outcome, const TextStyle& style) {
  const auto& data = answer_of<Comparison>(outcome);
  std::string out = bold(behind_column(report::sentence(data.sentence), 0, style), style) + "\n\n";
  out += title_text(data, style) + verdict_text(data, style) + wall_text(data, style) +
         tested_text(data.statistics, style) + warm_up_text(data, style) + score_text(data, style) +
         remarks_text(data, style);
  if (data.gate)
    out += "  " + bold(data.gate->passed ? "gate passed" : "gate failed", style) + ": " + data.gate->reason +
           "\n";
  out += limits_text(data.expectations, style) + changed_parts_text(data, style);
  out += data.across ? across_text(*data.across, style) : changes_text(data, style);
  return out + files_text(data, style);
}

}  // namespace nl::ops
