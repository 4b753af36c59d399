#include "ingest/formats/nsys/nsys_report.h"

#include <algorithm>

#include "base/text.h"
#include "ingest/source/csv_reader.h"

namespace nl::ingest {
namespace {

using Column = NsysReport::Column;
using enum NsysColumn;

struct Names {
  std::string_view old_name;
  std::string_view present;
};

constexpr Names kReports[] = {
    {"apigpusum", "cuda_api_gpu_sum"},
    {"cudaapisum", "cuda_api_sum"},
    {"apitrace", "cuda_api_trace"},
    {"cudaapitrace", "cuda_api_trace"},
    {"gpukernsum", "cuda_gpu_kern_sum"},
    {"gpumemsizesum", "cuda_gpu_mem_size_sum"},
    {"gpumemtimesum", "cuda_gpu_mem_time_sum"},
    {"gpusum", "cuda_gpu_sum"},
    {"gputrace", "cuda_gpu_trace"},
    {"kernexecsum", "cuda_kern_exec_sum"},
    {"kernexectrace", "cuda_kern_exec_trace"},
    {"nvtxkernsum", "nvtx_kern_sum"},
    {"nvtxppsum", "nvtx_pushpop_sum"},
    {"nvtxpptrace", "nvtx_pushpop_trace"},
    {"pushpopsum", "nvtx_pushpop_sum"},
    {"pushpoptrace", "nvtx_pushpop_trace"},
    {"nvtxsum", "nvtx_sum"},
    {"nvtxgpuproj", "nvtx_gpu_proj_sum"},
    {"nvtxssesum", "nvtx_startend_sum"},
    {"openaccsum", "openacc_sum"},
    {"openmpevtsum", "openmp_sum"},
    {"osrtsum", "osrt_sum"},
    {"umcpupagefaults", "um_cpu_page_faults_sum"},
    {"umsum", "um_sum"},
    {"umtotalsum", "um_total_sum"},
    {"vulkanmarkerssum", "vulkan_marker_sum"},
};

struct Meaning {
  std::string_view name;
  NsysColumn meaning;
};

constexpr Meaning kMeanings[] = {
    {"time", kShare},
    {"total time", kTotal},
    {"total", kTotal},
    {"instances", kCalls},
    {"num calls", kCalls},
    {"count", kCalls},
    {"operations", kCalls},
    {"range instances", kCalls},
    {"avg", kAverage},
    {"average", kAverage},
    {"med", kMedian},
    {"median", kMedian},
    {"min", kMinimum},
    {"minimum", kMinimum},
    {"max", kMaximum},
    {"maximum", kMaximum},
    {"stddev", kDeviation},
    {"name", kName},
    {"operation", kName},
    {"range", kName},
    {"kernel name", kName},
    {"style", kStyle},
    {"gridxyz", kGrid},
    {"blockxyz", kBlock},
    {"start", kStart},
    {"kernel start", kStart},
    {"duration", kDuration},
    {"kernel dur", kDuration},
    {"corrid", kCorrelation},
    {"grdx", kGridX},
    {"grdy", kGridY},
    {"grdz", kGridZ},
    {"blkx", kBlockX},
    {"blky", kBlockY},
    {"blkz", kBlockZ},
    {"reg/trd", kRegisters},
    {"bytes", kBytes},
    {"throughput", kThroughput},
    {"device", kDevice},
    {"devid", kDevice},
    {"ctx", kContext},
    {"strm", kStream},
    {"pid", kProcess},
    {"tid", kThread},
    {"api start", kCallStart},
    {"api dur", kCallDuration},
    {"api function", kCallName},
};

struct SizeUnit {
  std::string_view name;
  int exponent;
  double factor;
};

constexpr SizeUnit kSizes[] = {{"b", 0, 1},
                               {"bytes", 0, 1},
                               {"kb", 3, 1},
                               {"mb", 6, 1},
                               {"gb", 9, 1},
                               {"kib", 0, 1024},
                               {"mib", 0, 1024 * 1024},
                               {"gib", 0, 1024.0 * 1024 * 1024}};

void set_unit(Column& column, std::string_view text) {
  column.unit_text = text;
  const std::string unit = lower(text);
  for (const SizeUnit& size : kSizes) {
    if (size.name != unit) continue;
    column.unit = {"B", size.exponent};
    column.factor = size.factor;
    return;
  }
  column.unit = base_unit(text);
}

/// "Avg (ns)", "Time(%)", "Average": the name, and the unit in brackets.
Column column_of(std::string_view text) {
  text = trimmed(text);
  Column column;
  const size_t open = text.ends_with(')') ? text.rfind('(') : std::string_view::npos;
  column.name = trimmed(text.substr(0, open));
  if (open != std::string_view::npos) set_unit(column, text.substr(open + 1, text.size() - open - 2));
  const std::string name = lower(column.name);
  for (const Meaning& known : kMeanings) {
    if (known.name == name) column.meaning = known.meaning;
  }
  return column;
}

bool is_statistic(NsysColumn meaning) {
  return meaning == kAverage || meaning == kMedian || meaning == kMinimum || meaning == kMaximum ||
         meaning == kDeviation;
}

bool has(const NsysReport& report, std::string_view name) {
  return std::any_of(report.columns.begin(), report.columns.end(),
                     [&](const Column& c) { return lower(c.name) == name; });
}

std::string_view summary_name(const NsysReport& report) {
  const bool of_calls = has(report, "num calls");
  if (has(report, "category")) return of_calls ? "cuda_api_gpu_sum" : "cuda_gpu_sum";
  if (has(report, "operation"))
    return has(report, "time") ? "cuda_gpu_mem_time_sum" : "cuda_gpu_mem_size_sum";
  if (has(report, "range")) return "nvtx_sum";
  if (has(report, "nvtx range")) return "nvtx_kern_sum";
  if (has(report, "instances") && has(report, "name")) return "cuda_gpu_kern_sum";
  return {};  // calls of CUDA, of the system and of others look alike
}

}  // namespace

size_t NsysReport::find(NsysColumn meaning) const {
  const auto it =
      std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.meaning == meaning; });
  return static_cast<size_t>(it - columns.begin());
}

bool is_nsys_header(const std::vector<std::string_view>& fields) {
  if (fields.size() < 4) return false;
  const NsysColumn first = column_of(fields[0]).meaning;
  if (first == kOther && trimmed(fields[0]) != "NVTX Range") return false;
  NsysReport report;
  for (const auto field : fields) report.columns.push_back(column_of(field));
  const auto found = [&](NsysColumn meaning) { return report.find(meaning) < fields.size(); };
  return (found(kTotal) && found(kCalls) && found(kName)) || (found(kStart) && found(kDuration));
}

NsysReport nsys_report(const std::vector<std::string_view>& header) {
  NsysReport report;
  for (const auto field : header) report.columns.push_back(column_of(field));
  if (report.columns.back().name.empty()) report.columns.pop_back();  // some writers end rows with a comma
  const auto found = [&](NsysColumn meaning) { return report.find(meaning) < report.columns.size(); };
  if (found(kCallStart) && found(kStart)) {
    report.kind = NsysKind::kLaunchTrace;
    report.name = "cuda_kern_exec_trace";
  } else if (found(kStart) && found(kStream)) {
    report.kind = NsysKind::kDeviceTrace;
    report.name = "cuda_gpu_trace";
  } else if (found(kStart) && found(kCorrelation)) {
    report.kind = NsysKind::kCallTrace;
    report.name = "cuda_api_trace";
  } else if (found(kStart)) {
    report.kind = NsysKind::kRangeTrace;
    report.name = "nvtx_pushpop_trace";
  } else {
    report.name = summary_name(report);
  }
  // Old headers give the unit once, with the sum.
  const size_t total = report.find(kTotal);
  for (Column& column : report.columns) {
    if (total == report.columns.size() || !is_statistic(column.meaning) || !column.unit_text.empty())
      continue;
    column.unit = report.columns[total].unit;
    column.unit_text = report.columns[total].unit_text;
    column.factor = report.columns[total].factor;
  }
  return report;
}

/// The longest name that fits: gpusum stands in no other, but nvtx_sum and um_sum do.
std::string_view nsys_report_name(std::string_view text) {
  std::string_view best;
  size_t best_size = 0;
  for (const Names& names : kReports) {
    for (const std::string_view name : {names.old_name, names.present}) {
      if (name.size() <= best_size || !has_part(text, name)) continue;
      best = names.present;
      best_size = name.size();
    }
  }
  return best;
}

}  // namespace nl::ingest
