#include "ops/screen/compare_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "report/compare_words.h"

namespace nl::ops {
namespace {

using nlohmann::json;

/// A bar to the left for less and to the right for more, from one axis.
std::string delta_bar(int64_t delta, int64_t largest, size_t half) {
  const double share = largest == 0 ? 0 : static_cast<double>(std::abs(delta)) / static_cast<double>(largest);
  const auto length = static_cast<size_t>(std::lround(share * static_cast<double>(half)));
  std::string left(half - (delta < 0 ? length : 0), ' '), right;
  for (size_t i = 0; i < length; i++) (delta < 0 ? left : right) += "█";
  return left + "│" + right;
}

constexpr size_t kTextColumn = 12;  // behind "  verdict   "

std::string verdict_text(const json& data, const TextStyle& style) {
  std::string verdict = data["verdict"];
  std::replace(verdict.begin(), verdict.end(), '_', ' ');
  std::string text = verdict;
  const auto& reasons = data["reasons"];
  for (size_t i = 0; i < std::min<size_t>(3, reasons.size()); i++)
    text += (i == 0 ? ": " : "; ") + reasons[i].get<std::string>();
  return "  " + bold("verdict   " + verdict, style) +
         behind_column(text, kTextColumn, style).substr(verdict.size()) + "\n";
}

std::string wall_text(const json& data, const TextStyle& style) {
  const int64_t base = data["base"]["window_ns"], next = data["new"]["window_ns"];
  std::string change = signed_duration_text(data["delta_ns"]);
  if (!data["ratio"].is_null()) change += " (" + signed_percent_text(data["ratio"].get<double>() - 1) + ")";
  const std::string unit = data["unit"];
  const std::string many = data["base"]["units"] == 1 && data["new"]["units"] == 1
                               ? ""
                               : fmt::format(", mean of {} and {}", data["base"]["units"].get<int64_t>(),
                                             data["new"]["units"].get<int64_t>());
  return fmt::format("  {:<10}{} → {}  {}{}\n", unit, duration_text(base), duration_text(next),
                     bold(change, style), many);
}

std::string warm_up_text(const json& data, const TextStyle& style) {
  const int64_t base = data["base"]["warm_up_left_out"], next = data["new"]["warm_up_left_out"];
  if (base == 0 && next == 0) return "";
  return "  " +
         dim(fmt::format("left out as warm-up: the first {} and {} (--keep-warm-up counts them)", base,
                         counted(next, "step")),
             style) +
         "\n";
}

std::string score_text(const json& data, const TextStyle& style) {
  std::string unlike;
  for (const json& factor : data["comparability"]["factors"]) {
    if (factor["state"] != "different") continue;
    unlike += (unlike.empty() ? "; differs: " : ", ") + factor["name"].get<std::string>();
  }
  const std::string score = fmt::format("{:.2f}{}", data["comparability"]["score"].get<double>(), unlike);
  return "  " + dim("comparable " + behind_column(score, kTextColumn + 1, style), style) + "\n";
}

std::string tested_text(const json& statistics, const TextStyle& style) {
  if (!statistics.contains("p_adjusted") || statistics["ratio_interval"].is_null()) return "";
  const json& interval = statistics["ratio_interval"];
  return "  " +
         dim(fmt::format("{} and {} runs: ratio {:.4f} [{:.4f}, {:.4f}], p {:.2g}",
                         statistics["base"]["n"].get<int64_t>(), statistics["new"]["n"].get<int64_t>(),
                         statistics["ratio"].get<double>(), interval["low"].get<double>(),
                         interval["high"].get<double>(), statistics["p_adjusted"].get<double>()),
             style) +
         "\n";
}

using Align = TextTable::Align;

std::string changed_parts_text(const json& data, const TextStyle& style) {
  int64_t largest = 0;
  for (const json& part : data["parts"])
    largest = std::max(largest, std::abs(part["delta_ns"].get<int64_t>()));
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.add({"part", "base", "new", "delta", ""});
  for (const json& part : data["parts"]) {
    const int64_t delta = part["delta_ns"];
    if (std::abs(delta) * 200 < largest) continue;
    const std::string kind = part["kind"], name = part["name"];
    table.add({kind == name ? name : kind + " " + name, duration_text(part["base_ns"]),
               duration_text(part["new_ns"]), signed_duration_text(delta), delta_bar(delta, largest, 12)});
  }
  return fmt::format("\nWhere the difference of {} is\n", signed_duration_text(data["delta_ns"])) +
         table.text("  ", true, style);
}

std::string calls_text(const json& change) {
  const auto calls = [](const json& side) {
    return side.is_null() ? std::string("-") : fmt::format("{:.4g}", side["calls_per_unit"].get<double>());
  };
  const std::string before = calls(change["base"]), after = calls(change["new"]);
  return before == after ? before : before + " → " + after;
}

std::string changes_text(const json& data, const TextStyle& style) {
  if (data["changes"].empty()) return "";
  TextTable table(
      {Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft});
  table.add({"delta", "base", "new", "calls", "change", "class", "work"});
  const auto time = [](const json& side) {
    return side.is_null() ? std::string("-") : duration_text(side["time_ns"]);
  };
  const auto width = static_cast<size_t>(std::max(style.width - 72, 14));
  for (const json& change : data["changes"]) {
    if (change["delta_ns"] == 0) continue;
    table.add({signed_duration_text(change["delta_ns"]), time(change["base"]), time(change["new"]),
               calls_text(change), change["kind"], change["class"],
               shortened(change["name"].get<std::string>(), width)});
  }
  std::string out = "\nWhat changed in the work, largest first\n" + table.text("  ", true, style);
  const int64_t rest = data["not_shown"]["rows"];
  if (rest > 0)
    out += fmt::format("  {}: {}\n", counted(rest, "more row"),
                       signed_duration_text(data["not_shown"]["delta_ns"]));
  return out;
}

std::string limits_text(const json& limits, const TextStyle& style) {
  if (limits.empty()) return "";
  TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.add({"limit of", "", "at most", "is", "share"});
  for (const json& limit : limits) {
    const bool known = !limit["value_ns"].is_null();
    table.add({limit["kind"], limit["what"], limit["limit"],
               known ? duration_text(limit["value_ns"]) : "not there",
               (known ? percent_text(limit["share"]) : "-") +
                   (limit["met"].get<bool>() ? "  kept" : "  NOT KEPT")});
  }
  return "\nWhat is expected\n" + table.text("  ", true, style);
}

std::string share_or_dash(const json& share) {
  return share.is_null() ? "-" : percent_text(share);
}

std::string ratio_or_dash(const json& ratio) {
  return ratio.is_null() ? "-" : fmt::format("{:.2f}", ratio.get<double>());
}

std::string across_text(const json& data, const TextStyle& style) {
  const json& across = data["across"];
  std::string out = "\n" + across["words"].get<std::string>() + "\n";
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
                   Align::kRight, Align::kRight});
  table.add({across["level"], "base", "new", "ratio", "by peaks", "roof base", "roof new", "lost"});
  size_t shown = 0;
  for (const json& row : across["rows"]) {
    if (shown++ == 12) break;
    table.add({shortened(row["name"].get<std::string>(), 36), duration_text(row["base"]["time_ns"]),
               duration_text(row["new"]["time_ns"]), ratio_or_dash(row["time_ratio"]),
               ratio_or_dash(row["hardware_ratio"]), share_or_dash(row["base"]["roof_share"]),
               share_or_dash(row["new"]["roof_share"]),
               row["lost_ns"].is_null() ? "-" : signed_duration_text(row["lost_ns"])});
  }
  return out + table.text("  ", true, style);
}

std::string files_text(const json& data, const TextStyle& style) {
  std::string out;
  for (const json& file : data.value("files", json::array()))
    out += fmt::format("{}  {}\n", file["name"].get<std::string>(), dim(bytes_text(file["bytes"]), style));
  return out.empty() ? out : "\n" + out;
}

}  // namespace

std::string compare_text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  std::string out = fmt::format(
      "compare {} → {}  {}{}\n", bold(short_id(data["base"]["run_id"]), style),
      bold(short_id(data["new"]["run_id"]), style), data["base"]["window"].get<std::string>(),
      data["base"]["device"].is_null() ? "" : ", device " + data["base"]["device"].get<std::string>());
  out += verdict_text(data, style) + wall_text(data, style) + tested_text(data["statistics"], style) +
         warm_up_text(data, style) + score_text(data, style);
  if (data.contains("gate"))
    out += "  " + bold(data["gate"]["passed"].get<bool>() ? "gate passed" : "gate failed", style) + ": " +
           data["gate"]["reason"].get<std::string>() + "\n";
  out += limits_text(data["expectations"], style) + changed_parts_text(data, style);
  out += data["across"].is_null() ? changes_text(data, style) : across_text(data, style);
  return out + files_text(data, style);
}

}  // namespace nl::ops
