#include "fingerprint/explain.h"

#include <algorithm>
#include <cmath>

#include "fingerprint/pieces.h"

namespace nl::fingerprint {
namespace {

using Shares = std::map<std::string, double>;

double share_of(int64_t part, int64_t whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// The columns of a dimension under the names that people know; hashed ones from the pieces themselves.
Shares named_shares(const Fingerprint& print, const Pieces& pieces, Dimension dimension) {
  static constexpr const char* kTimes[] = {"compute", "exposed communication", "exposed copy", "idle"};
  static constexpr const char* kSizes[] = {"1/64", "1/16", "1/4", "1", "4", "16", "64"};
  Shares out;
  const auto values = print.of(dimension);
  const auto name = [&](auto&& text) {
    for (size_t i = 0; i < values.size(); i++) out[std::string(text(i))] = static_cast<double>(values[i]);
  };
  switch (dimension) {
    case Dimension::classes:
    case Dimension::layer_classes:
      name([](size_t i) { return analyze::op_class_name(static_cast<analyze::OpClass>(i)); });
      break;
    case Dimension::time:
      name([](size_t i) { return kTimes[i]; });
      break;
    case Dimension::idle:
      name([](size_t i) { return analyze::idle_cause_words(static_cast<analyze::IdleCause>(i)); });
      break;
    case Dimension::sizes:
      name([](size_t i) { return std::string(kSizes[i]) + " of the typical duration"; });
      break;
    case Dimension::shapes:
      for (const auto& [shape, ns] : pieces.shapes) out[shape] += share_of(ns, pieces.total_ns);
      break;
    case Dimension::widths:
      for (const auto& [shape, ns] : pieces.shapes)
        out[shape.substr(shape.rfind('x') + 1)] += share_of(ns, pieces.total_ns);
      break;
    default:
      for (const PieceRow& row : pieces.rows) out[row.token] += share_of(row.total_ns, pieces.total_ns);
  }
  return out;
}

struct Difference {
  std::string part;
  double here = 0, there = 0;
};

double value_of(const Shares& shares, const std::string& name) {
  const auto it = shares.find(name);
  return it == shares.end() ? 0 : it->second;
}

/// Of several equal ones the first by name.
Difference largest_difference(const Shares& here, const Shares& there) {
  Shares all = here;
  all.insert(there.begin(), there.end());
  Difference most;
  for (const auto& [name, unused] : all) {
    const double a = value_of(here, name), b = value_of(there, name);
    if (most.part.empty() || std::abs(a - b) > std::abs(most.here - most.there)) most = {name, a, b};
  }
  return most;
}

}  // namespace

std::vector<ComparedDimension> explain(const DescribedRun& here, const DescribedRun& there) {
  const Pieces left = pieces_of(here.measures), right = pieces_of(there.measures);
  std::vector<ComparedDimension> rows;
  for (size_t i = 0; i < kDimensions; i++) {
    const auto dimension = static_cast<Dimension>(i);
    if (!has(here.print.present & there.print.present, dimension)) continue;
    const DimensionInfo& about = info(dimension);
    const double apart = dimension_distance(here.print, there.print, dimension);
    ComparedDimension row{std::string(about.id),
                          std::string(about.name),
                          apart,
                          about.weight,
                          apart < kAgrees,
                          std::nullopt,
                          0,
                          0};
    if (about.kind == DimensionKind::kNumber) {
      row.here = static_cast<double>(here.print.of(dimension)[0]);
      row.there = static_cast<double>(there.print.of(dimension)[0]);
    } else {
      const Difference most = largest_difference(named_shares(here.print, left, dimension),
                                                 named_shares(there.print, right, dimension));
      row.part = most.part;
      row.here = most.here;
      row.there = most.there;
    }
    rows.push_back(std::move(row));
  }
  const auto weighted = [](const ComparedDimension& row) { return row.weight * row.distance * row.distance; };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return weighted(a) > weighted(b); });
  return rows;
}

std::vector<MissingDimension> not_compared(const Fingerprint& here, const Fingerprint& there) {
  std::vector<MissingDimension> list;
  const auto reason = [](const Fingerprint& print, Dimension dimension) {
    const auto it = print.absent.find(dimension);
    return it == print.absent.end() ? std::nullopt : std::optional<std::string>(it->second);
  };
  for (size_t i = 0; i < kDimensions; i++) {
    const auto dimension = static_cast<Dimension>(i);
    if (has(here.present & there.present, dimension)) continue;
    list.push_back({std::string(info(dimension).id), std::string(info(dimension).name),
                    reason(here, dimension), reason(there, dimension)});
  }
  return list;
}

}  // namespace nl::fingerprint
