#include "fingerprint/op_vectors.h"

#include <algorithm>
#include <map>

#include "fingerprint/pieces.h"

namespace nl::fingerprint {
namespace {

using nlohmann::json;

/// Of all rows of one op: several data types, several devices.
struct RoofSums {
  double kernel_ns = 0, flops = 0, bytes = 0, roofed_ns = 0, roof_ns = 0;
};

std::map<std::string, RoofSums> roofs_by_op(const json& measures) {
  std::map<std::string, RoofSums> sums;
  for (const json& device : measures.at("roofline")) {
    for (const json& op : device.at("roofline").at("ops")) {
      RoofSums& sum = sums[op.at("name")];
      const double ns = op.at("kernel_ns");
      sum.kernel_ns += ns;
      sum.flops += op.at("flops").get<double>();
      sum.bytes += op.at("bytes").get<double>();
      if (!op.at("roof_share").is_number()) continue;
      sum.roofed_ns += ns;
      sum.roof_ns += ns * op.at("roof_share").get<double>();
    }
  }
  return sums;
}

void put(json& row, const char* id, bool known, double value, const char* why) {
  if (known) {
    row["dimensions"][id] = value;
  } else {
    row["absent"][id] = why;
  }
}

double mean_octaves(const PieceRow& piece) {
  double sum = 0;
  for (size_t i = 0; i < piece.sizes.size(); i++)
    sum += piece.sizes[i] * 2 * (static_cast<double>(i) - static_cast<double>(analyze::kSizeSteps / 2));
  return sum;
}

json vector_of(const PieceRow& piece, int64_t whole, const RoofSums& roof) {
  json row = {{"name", piece.token},
              {"class", analyze::op_class_name(piece.op_class)},
              {"share", static_cast<double>(piece.total_ns) / static_cast<double>(whole)},
              {"calls", piece.calls},
              {"total_ns", piece.total_ns},
              {"dimensions", json::object()},
              {"absent", json::object()}};
  put(row, "lat_norm", roof.roof_ns > 0, roof.roofed_ns / roof.roof_ns,
      "no model for the op, or no known peak");
  put(row, "ai", roof.bytes > 0, roof.flops / roof.bytes, "no model of the op");
  put(row, "size", true, mean_octaves(piece), "");
  put(row, "tail_p90", piece.p90_ratio > 0, piece.p90_ratio, "fewer than 10 pieces of work");
  put(row, "tail_p99", piece.p99_ratio > 0, piece.p99_ratio, "fewer than 100 pieces of work");
  return row;
}

json vectors_of(const json& measures, size_t top) {
  Pieces pieces = pieces_of(measures);
  const auto roofs = roofs_by_op(measures);
  std::stable_sort(pieces.rows.begin(), pieces.rows.end(),
                   [](const PieceRow& a, const PieceRow& b) { return a.total_ns > b.total_ns; });
  json list = json::array();
  for (const PieceRow& piece : pieces.rows) {
    if (list.size() == top || piece.total_ns <= 0) break;
    const auto roof = roofs.find(piece.token);
    list.push_back(vector_of(piece, pieces.total_ns, roof == roofs.end() ? RoofSums{} : roof->second));
  }
  return list;
}

}  // namespace

Result<json> op_vectors(const json& measures, size_t top) {
  try {
    return vectors_of(measures, top);
  } catch (const json::exception& e) {
    return Error{ErrorCode::kBadInput, std::string("the measures lack a member: ") + e.what()};
  }
}

}  // namespace nl::fingerprint
