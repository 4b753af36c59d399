#include "analyze/work_pattern.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/portable_log.h"
#include "store/open_run.h"

namespace nl::analyze {
namespace {

using nlohmann::json;

constexpr size_t kMostRows = 2000;
constexpr size_t kMostShapes = 1000;
constexpr size_t kMostShapeText = 1000;
constexpr double kOctavesOfAStep = 2;

struct Key {
  uint32_t name;  ///< of the op type; kNoRow where there is no op
  OpClass op_class;
  auto operator<=>(const Key&) const = default;
};

struct Row {
  std::string token;
  OpClass op_class;
  PagedVector<int64_t> durations;  ///< sorted
  int64_t total_ns = 0;
};

uint32_t op_of(const Work& work) {
  return work.table == WorkTable::kSpans ? work.row : work.op;
}

Key key_of(const PreparedRun& run, const Work& work) {
  if (work.kind == WorkKind::kCopy && work.table != WorkTable::kSpans) return {kNoRow, OpClass::k_memory};
  const Spans& spans = run.timeline.spans;
  const uint32_t op = op_of(work);
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

json ranked(const PagedVector<int64_t>& sorted, size_t percent, size_t least) {
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

/// By time, then shape.
json shapes_json(const OpShapes& shapes, const Device& device, const IntervalSet& window) {
  std::map<uint32_t, int64_t> by_text;
  for (const Work& work : device.work) {
    const uint32_t op = op_of(work);
    if (op == kNoRow || op >= shapes.by_span.size() || !contains(window, work.start)) continue;
    if (const uint32_t text = shapes.by_span[op]; text != kNoRow) by_text[text] += work.end - work.start;
  }
  std::map<std::string, int64_t> by_shape;
  for (const auto& [text, ns] : by_text) {
    if (std::string shape = shape_of_first_tensor(shapes.texts[text]); !shape.empty()) by_shape[shape] += ns;
  }
  std::vector<std::pair<int64_t, std::string>> rows;
  for (const auto& [shape, ns] : by_shape) rows.emplace_back(-ns, shape);
  std::sort(rows.begin(), rows.end());
  if (rows.size() > kMostShapes) rows.resize(kMostShapes);
  json list = json::array();
  for (const auto& [ns, shape] : rows) list.push_back({{"shape", shape}, {"total_ns", -ns}});
  return list;
}

bool is_size(char c) {
  return c >= '0' && c <= '9';
}

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/// The sizes between two brackets with x between; empty if there is anything else.
std::string sizes_text(std::string_view inside) {
  std::string out;
  for (const char c : inside) {
    if (c == ',') out += 'x';
    if (is_size(c)) out += c;
    if (c != ',' && !is_size(c) && !is_blank(c)) return {};
  }
  return out;
}

}  // namespace

std::string shape_of_first_tensor(std::string_view shapes) {
  std::string alone;
  for (size_t from = shapes.find('['); from != std::string_view::npos; from = shapes.find('[', from + 1)) {
    const size_t end = shapes.find_first_of("[]", from + 1);
    if (end == std::string_view::npos) break;
    if (shapes[end] == '[' || end - from > kMostShapeText) continue;
    const std::string sizes = sizes_text(shapes.substr(from + 1, end - from - 1));
    if (const size_t first = sizes.find('x'); first != std::string::npos) return sizes.substr(first + 1);
    if (alone.empty()) alone = sizes;
  }
  return alone;
}

Result<OpShapes> load_op_shapes(store::OpenRun& open, const PreparedRun& run) {
  OpShapes out;
  out.by_span.assign(run.timeline.spans.size(), kNoRow);
  size_t row = 0;
  NL_TRY(store::ColumnScan scan, open.scan(model::TableId::spans, {"shapes"}));
  NL_CHECK(scan.for_pieces([&] {
    for (size_t i = 0; i < scan.size() && row < out.by_span.size(); i++, row++) {
      if (scan.has_text(0, i)) out.by_span[row] = out.texts.add(scan.text(0, i));
    }
  }));
  return out;
}

std::array<double, kSizeSteps> size_shares(double octaves) {
  const double at = std::clamp(octaves / kOctavesOfAStep + kSizeSteps / 2, 0.0, kSizeSteps - 1.0);
  const auto below = std::min(static_cast<size_t>(at), size_t{kSizeSteps - 2});
  std::array<double, kSizeSteps> shares{};
  shares[below + 1] = at - static_cast<double>(below);
  shares[below] = 1 - shares[below + 1];
  return shares;
}

json work_pattern(const PreparedRun& run, const OpShapes& shapes, const Device& device,
                  const IntervalSet& window) {
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
          {"left_out", {{"rows", rows.size() - shown}, {"total_ns", left_out}}},
          {"shapes", shapes_json(shapes, device, window)}};
}

}  // namespace nl::analyze
