#pragma once
// Fingerprint: a run as a list of numbers that can be compared with those of other runs, independent of the
// hardware, the clock and the length of the capture. A dimension that was not measured is absent with a
// reason and does not count.

#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "fingerprint/dimensions.h"

namespace nl::fingerprint {

struct Fingerprint {
  Mask present = 0;
  std::array<float, kColumns> columns{};         ///< 0 where the dimension is absent
  std::map<Dimension, std::string> absent = {};  ///< why

  std::span<const float> of(Dimension dimension) const {
    return {columns.data() + info(dimension).first_column, info(dimension).columns};
  }
};

/// From the measures of a run (ops/runs/run_measures.h, all detail). bad_input if they lack a member.
Result<Fingerprint> fingerprint_of(const nlohmann::json& measures);

/// What of a fingerprint follows from the names of ops, to be carried along with a run that has other names;
/// measures that have it as "op_places" give the same fingerprint again.
nlohmann::json op_places(const Fingerprint& print);

/// The column of an op type in `ops`.
size_t op_column(std::string_view token);

}  // namespace nl::fingerprint
