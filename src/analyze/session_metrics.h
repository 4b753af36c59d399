#pragma once
// Metrics of a session that runs on the host, such as one of ONNX Runtime: what its ops and what the capture
// of the machine tell. Pure function, any thread.

#include "analyze/analysis.h"

namespace nl::analyze {

/// unfused_op_time, host_fp32_matrix_time, one_row_matrix_time, one_thread, host_processors, int8_speedup.
/// Absent with a reason where the source cannot carry them.
void add_session_metrics(MetricSet& metrics, const PreparedRun& run, const Sources& sources,
                         const Device& device, const IntervalSet& window);

}  // namespace nl::analyze
