#pragma once
// Compares ops with the roofline of their device. Operations and bytes follow from the shapes that the source
// records; the time is that of the kernels which the op launched. Ops without a model are counted, not
// guessed.

#include <map>
#include <string>
#include <vector>

#include "analyze/metrics/metric.h"
#include "analyze/models/op_model.h"
#include "analyze/roofline/device_peaks.h"
#include "analyze/time/prepared_run.h"

namespace nl::analyze {

/// What the source says of the arguments of each op that launched device work; texts by number.
struct OpArguments {
  Names texts;
  PagedVector<uint32_t> shapes, dtypes, strides, inputs;  ///< by span; kNoRow where there is none
  /// By span: shapes of the backward op of a convolution, the first of which is that of its result.
  PagedVector<uint32_t> backward_shapes;
};
Result<OpArguments> load_op_arguments(store::OpenRun& open, const PreparedRun& run);

/// All calls of one op with one dtype together.
struct RooflineRow {
  std::string name;
  std::string dtype;
  OpClass op_class = OpClass::k_other;
  int64_t calls = 0;
  int64_t flops = 0;
  int64_t bytes = 0;
  int64_t kernel_ns = 0;
  double roof_ns = 0;  ///< 0 where the peaks are not known
  double memory_bound_ns = 0;
  bool has_roof = false;
  int64_t ragged_ns = 0;  ///< kernel time of calls with an inner size that is no multiple of 8
};

struct RooflineTable {
  Known<DevicePeaks> peaks = Absent{"no device"};
  std::vector<RooflineRow> rows;                 ///< by kernel time
  int64_t modelled_ns = 0;                       ///< kernel time of the rows
  int64_t kernel_ns = 0;                         ///< kernel time of the device in the window
  std::map<std::string, int64_t> without_model;  ///< reason to kernel time
};

/// An op belongs to the window in which its first kernel starts.
RooflineTable op_roofline(const PreparedRun& run, const OpArguments& arguments, const Device& device,
                          const Known<DevicePeaks>& peaks, const IntervalSet& window);

/// model_flops, model_bytes, modelled_share, mfu, mbu, roof_time, roof_share, memory_bound_time,
/// fp32_matrix_time, ragged_matrix_time. Without any model fp32_matrix_time stays what the names of kernels
/// told.
void set_roofline_metrics(MetricSet& metrics, const RooflineTable& table);

RooflineAnswer roofline_answer(const RooflineTable& table, int64_t top);

}  // namespace nl::analyze
