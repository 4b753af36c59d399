#pragma once
// The reports of `nsys stats`. The header line shows which report it is and what its columns mean. Reports
// were renamed in 2022.4 (gpukernsum became cuda_gpu_kern_sum), and headers change nearly every year.

#include <string>
#include <string_view>
#include <vector>

#include "ingest/rows/metric_unit.h"

namespace nl::ingest {

enum class NsysColumn {
  kOther,
  kShare,
  kTotal,
  kCalls,
  kAverage,
  kMedian,
  kMinimum,
  kMaximum,
  kDeviation,
  kName,
  kStyle,
  kGrid,
  kBlock,
  kStart,
  kDuration,
  kCorrelation,
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kRegisters,
  kBytes,
  kThroughput,
  kDevice,
  kContext,
  kStream,
  kProcess,
  kThread,
  kCallStart,
  kCallDuration,
  kCallName,
};

/// How the rows of a report are kept.
enum class NsysKind { kSummary, kDeviceTrace, kLaunchTrace, kCallTrace, kRangeTrace };

struct NsysReport {
  struct Column {
    NsysColumn meaning = NsysColumn::kOther;
    std::string name = {};       ///< without the unit
    std::string unit_text = {};  ///< as the header has it, e.g. ns, MB
    BaseUnit unit = {};
    double factor = 1;  ///< of units that are no power of ten: KiB, MiB, GiB
  };

  NsysKind kind = NsysKind::kSummary;
  std::string name;  ///< by its present name; empty if the header does not tell
  std::vector<Column> columns;

  /// Index of the first column with this meaning, or columns.size().
  size_t find(NsysColumn meaning) const;
};

/// Whether the fields are those of a header.
bool is_nsys_header(const std::vector<std::string_view>& fields);
NsysReport nsys_report(const std::vector<std::string_view>& header);

/// The present name of a report, whose old or new name stands in the text: in a path of a script, in a title,
/// in the name of a file; empty if there is none.
std::string_view nsys_report_name(std::string_view text);

}  // namespace nl::ingest
