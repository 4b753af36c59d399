#pragma once
// SQL that reproduces the figures of a report from the tables of the run: `neurolens query RUN "…"`. It is
// written from the analysis alone.

#include <string>
#include <vector>

#include "analyze/answer/device.h"
#include "analyze/answer/tables.h"

namespace nl::report {

/// A stretch of time and the number of the row that it counts for.
struct Piece {
  int64_t row, begin, end;
};

/// Window, compute, exposed communication, exposed copies, idle and busy time of a device, for each row.
std::string decomposition_sql(const analyze::DeviceAnswer& device, const std::vector<Piece>& pieces);
/// The same for equal stretches of the whole time between the first and last piece.
std::string strip_sql(const analyze::DeviceAnswer& device, const std::vector<Piece>& pieces,
                      size_t stretches);
std::string kernels_sql(const analyze::DeviceAnswer& device, const std::vector<Piece>& pieces, size_t top);
std::string classes_sql(const analyze::DeviceAnswer& device, const std::vector<Piece>& pieces,
                        const std::vector<const analyze::KernelAnswer*>& kernels);
/// `graph_calls`: names of the calls that launch graphs.
std::string ops_sql(const analyze::DeviceAnswer& device, const std::vector<Piece>& pieces,
                    const std::vector<std::string>& graph_calls, size_t top);
std::string host_ops_sql(const std::vector<Piece>& pieces, size_t top);
std::string modules_sql(const analyze::DeviceAnswer& device, const std::vector<Piece>& pieces, size_t top);
std::string coverage_sql(const analyze::DeviceAnswer& device, const std::vector<Piece>& pieces,
                         const std::vector<std::string>& graph_calls);
std::string op_kernel_time_sql(const analyze::DeviceAnswer& device, const std::vector<Piece>& pieces);
std::string layers_sql(size_t top);
std::string counters_sql(size_t top);
std::string memory_sql(const analyze::DeviceAnswer& device, const std::vector<Piece>& pieces);
std::string capture_sql();

/// A condition that a column is one of the names; names that cannot be read or are long by their sha256.
std::string is_one_of(const std::string& column, const std::vector<std::string>& names);

}  // namespace nl::report
