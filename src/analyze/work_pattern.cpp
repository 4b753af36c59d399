#include "analyze/work_pattern.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/portable_log.h"

namespace nl::analyze {
namespace {

using nlohmann::json;

constexpr size_t kMostRows = 2000;
constexpr double kOctavesOfAStep = 2;

struct Key {
  uint32_t name;  ///< of the op type; kNoRow where there is no op
  OpClass op_class;
  auto operator<=>(const Key&) const = default;
};

struct Row {
  std::string token;
  OpClass op_class;
  std::vector<int64_t> durations;  ///< sorted
  int64_t total_ns = 0;
};

Key key_of(const PreparedRun& run, const Work& work) {
  if (work.kind == WorkKind::kCopy && work.table != WorkTable::kSpans) return {kNoRow, OpClass::k_memory};
  const Spans& spans = run.timeline.spans;
  const uint32_t op = work.table == WorkTable::kSpans ? work.row : work.op;
  if (op == kNoRow || spans.kind[op] != model::SpanKind::op) return {kNoRow, run.classes.kernel[work.name]};
  return {spans.op_type[op], run.classes.op[spans.op_type[op]]};
}

std::string token_of(const PreparedRun& run, const Key& key) {
  if (key.name != kNoRow) return std::string(run.timeline.names[key.name]);
  return "class " + std::string(op_class_name(key.op_class));
}

/// By time, then token.
std::vector<Row> rows_of(const PreparedRun& run, const Device& device, const IntervalSet& window) {
  std::map<Key, Row> by_key;
  for (const Work& work : device.work) {
    const int64_t ns = work.end - work.start;
    if (ns <= 0 || !contains(window, work.start)) continue;
    Row& row = by_key[key_of(run, work)];
    row.durations.push_back(ns);
    row.total_ns += ns;
  }
  std::vector<Row> rows;
  for (auto& [key, row] : by_key) {
    row.token = token_of(run, key);
    row.op_class = key.op_class;
    std::sort(row.durations.begin(), row.durations.end());
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(b.total_ns, a.token) < std::tie(a.total_ns, b.token);
  });
  return rows;
}

json ranked(const std::vector<int64_t>& sorted, size_t percent, size_t least) {
  if (sorted.size() < least) return nullptr;
  return sorted[std::max<size_t>((sorted.size() * percent + 99) / 100, 1) - 1];
}

/// Mean of log2(duration), each piece as much as it lasts.
double typical_log2(const std::vector<Row>& rows, int64_t total) {
  double sum = 0;
  for (const Row& row : rows) {
    for (const int64_t ns : row.durations)
      sum += static_cast<double>(ns) * portable_log2(static_cast<double>(ns));
  }
  return total == 0 ? 0 : sum / static_cast<double>(total);
}

json sizes_of(const Row& row, double typical) {
  std::array<double, kSizeSteps> time{};
  for (const int64_t ns : row.durations) {
    const auto shares = size_shares(portable_log2(static_cast<double>(ns)) - typical);
    for (size_t i = 0; i < kSizeSteps; i++) time[i] += static_cast<double>(ns) * shares[i];
  }
  for (double& t : time) t /= static_cast<double>(row.total_ns);
  return time;
}

json row_json(const Row& row, double typical) {
  return {{"token", row.token},
          {"class", op_class_name(row.op_class)},
          {"calls", row.durations.size()},
          {"total_ns", row.total_ns},
          {"p50_ns", ranked(row.durations, 50, 1)},
          {"p90_ns", ranked(row.durations, 90, 10)},
          {"p99_ns", ranked(row.durations, 99, 100)},
          {"sizes", sizes_of(row, typical)}};
}

}  // namespace

std::array<double, kSizeSteps> size_shares(double octaves) {
  const double at = std::clamp(octaves / kOctavesOfAStep + kSizeSteps / 2, 0.0, kSizeSteps - 1.0);
  const auto below = std::min(static_cast<size_t>(at), size_t{kSizeSteps - 2});
  std::array<double, kSizeSteps> shares{};
  shares[below + 1] = at - static_cast<double>(below);
  shares[below] = 1 - shares[below + 1];
  return shares;
}

json work_pattern(const PreparedRun& run, const Device& device, const IntervalSet& window) {
  const std::vector<Row> rows = rows_of(run, device, window);
  size_t pieces = 0;
  int64_t total = 0, left_out = 0;
  for (const Row& row : rows) {
    pieces += row.durations.size();
    total += row.total_ns;
  }
  const double typical = typical_log2(rows, total);
  json list = json::array();
  for (const Row& row : rows) {
    if (list.size() < kMostRows) {
      list.push_back(row_json(row, typical));
    } else {
      left_out += row.total_ns;
    }
  }
  const size_t shown = list.size();
  return {{"pieces", pieces},
          {"total_ns", total},
          {"typical_log2_ns", typical},
          {"rows", std::move(list)},
          {"left_out", {{"rows", rows.size() - shown}, {"total_ns", left_out}}}};
}

}  // namespace nl::analyze
