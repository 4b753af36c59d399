#include "fingerprint/pieces.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/portable_log.h"

namespace nl::fingerprint {
namespace {

using analyze::kSizeSteps;
using nlohmann::json;

double ratio_of(const json& row, const char* quantile) {
  const json& above = row.at(quantile);
  const int64_t median = row.at("p50_ns");
  return above.is_null() || median <= 0 ? 0 : above.get<double>() / static_cast<double>(median);
}

PieceRow row_of(const json& row) {
  PieceRow out;
  out.token = row.at("token");
  const auto op_class = analyze::find_op_class(row.at("class").get<std::string>());
  out.op_class = op_class.value_or(analyze::OpClass::k_other);
  out.calls = row.at("calls");
  out.total_ns = row.at("total_ns");
  out.sizes = row.at("sizes").get<std::array<double, kSizeSteps>>();
  out.p90_ratio = ratio_of(row, "p90_ns");
  out.p99_ratio = ratio_of(row, "p99_ns");
  return out;
}

bool comes_before(const PieceRow& a, const PieceRow& b) {
  return std::tie(a.token, a.total_ns, a.calls, a.sizes, a.p90_ratio, a.p99_ratio) <
         std::tie(b.token, b.total_ns, b.calls, b.sizes, b.p90_ratio, b.p99_ratio);
}

/// Adds a row of another device; means are weighted by time.
void merge(PieceRow& to, const PieceRow& from) {
  const auto a = static_cast<double>(to.total_ns), b = static_cast<double>(from.total_ns);
  const auto mean = [&](double x, double y) { return a + b == 0 ? 0 : (x * a + y * b) / (a + b); };
  for (size_t i = 0; i < kSizeSteps; i++) to.sizes[i] = mean(to.sizes[i], from.sizes[i]);
  const auto known_mean = [&](double x, double y) { return x == 0 || y == 0 ? x + y : mean(x, y); };
  to.p90_ratio = known_mean(to.p90_ratio, from.p90_ratio);
  to.p99_ratio = known_mean(to.p99_ratio, from.p99_ratio);
  to.calls += from.calls;
  to.total_ns += from.total_ns;
}

/// Equal tokens together; in an order that does not depend on that of the devices.
Pieces joined(std::vector<PieceRow> rows) {
  std::sort(rows.begin(), rows.end(), comes_before);
  Pieces out;
  for (PieceRow& row : rows) {
    out.total_ns += row.total_ns;
    if (!out.rows.empty() && out.rows.back().token == row.token) {
      merge(out.rows.back(), row);
    } else {
      out.rows.push_back(std::move(row));
    }
  }
  return out;
}

/// Layers have names of their model; what can be compared is their class. One duration each.
std::vector<PieceRow> layer_rows(const json& layers) {
  std::vector<PieceRow> rows;
  double typical = 0, total = 0;
  for (const json& layer : layers.at("top")) {
    PieceRow row;
    row.token = "class " + layer.at("class").get<std::string>();
    row.op_class =
        analyze::find_op_class(layer.at("class").get<std::string>()).value_or(analyze::OpClass::k_other);
    row.calls = layer.at("calls").is_number() ? layer.at("calls").get<int64_t>() : 1;
    row.total_ns = layer.at("device_ns").is_number() ? layer.at("device_ns").get<int64_t>() : 0;
    if (row.total_ns <= 0 || row.calls <= 0) continue;
    const auto ns = static_cast<double>(row.total_ns);
    typical += ns * portable_log2(ns / static_cast<double>(row.calls));
    total += ns;
    rows.push_back(std::move(row));
  }
  for (PieceRow& row : rows) {
    const double each = static_cast<double>(row.total_ns) / static_cast<double>(row.calls);
    row.sizes = analyze::size_shares(portable_log2(each) - typical / total);
  }
  return rows;
}

bool shows_layers(const json& measures) {
  if (!measures.at("layers").is_object()) return false;
  return measures.at("kernels").empty() && measures.at("layers").at("total_ns") > 0;
}

}  // namespace

Pieces pieces_of(const json& measures) {
  if (shows_layers(measures)) return joined(layer_rows(measures.at("layers")));
  std::vector<PieceRow> rows;
  std::map<std::string, int64_t> shapes;
  for (const json& pattern : measures.at("patterns")) {
    for (const json& row : pattern.at("rows")) rows.push_back(row_of(row));
    for (const json& row : pattern.at("shapes")) shapes[row.at("shape")] += row.at("total_ns").get<int64_t>();
  }
  Pieces pieces = joined(std::move(rows));
  pieces.shapes = std::move(shapes);
  return pieces;
}

}  // namespace nl::fingerprint
