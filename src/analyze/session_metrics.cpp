#include "analyze/session_metrics.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/time/host_profile.h"
#include "base/json.h"

namespace nl::analyze {
namespace {

using nlohmann::json;

constexpr double kAmxSpeedup = 32, kVnniSpeedup = 4;

/// What the texts of an op's arguments say; equal texts are parsed once.
class ArgumentTexts {
 public:
  explicit ArgumentTexts(const OpArguments& arguments) : arguments_(arguments) {}

  bool all_fp32(uint32_t span) {
    const json& types = parsed(arguments_.dtypes, span);
    return types.is_array() && !types.empty() &&
           std::all_of(types.begin(), types.end(), [](const json& type) { return type == "float"; });
  }

  /// All sizes of the first input but the last are 1.
  bool has_one_row(uint32_t span) {
    const json& shapes = parsed(arguments_.shapes, span);
    if (!shapes.is_array() || shapes.empty() || !shapes[0].is_array() || shapes[0].size() < 2) return false;
    return std::all_of(shapes[0].begin(), shapes[0].end() - 1, [](const json& size) { return size == 1; });
  }

 private:
  const json& parsed(const PagedVector<uint32_t>& column, uint32_t span) {
    static const json kNothing;
    if (span >= column.size() || column[span] == kNoRow) return kNothing;
    const auto [at, is_new] = known_.try_emplace(column[span]);
    if (is_new) at->second = json::parse(arguments_.texts[column[span]], nullptr, false);
    return at->second;
  }

  const OpArguments& arguments_;
  std::unordered_map<uint32_t, json> known_;
};

void set_matrix_times(MetricSet& metrics, const PreparedRun& run, const OpArguments& arguments,
                      const SessionFacts& facts) {
  if (arguments.texts.size() == 0) {
    for (const Metric metric : {Metric::host_fp32_matrix_time, Metric::one_row_matrix_time})
      metrics.absent(metric, "no shapes in the source");
    return;
  }
  ArgumentTexts texts(arguments);
  int64_t fp32 = 0, one_row = 0;
  for (const Work* op : facts.ops) {
    const OpClass op_class = run.classes.op[run.timeline.spans.op_type[op->row]];
    const bool is_product = op_class == OpClass::k_gemm;
    if (!is_product && op_class != OpClass::k_conv) continue;
    if (texts.all_fp32(op->row)) fp32 += op->end - op->start;
    if (is_product && texts.has_one_row(op->row)) one_row += op->end - op->start;
  }
  metrics.set(Metric::host_fp32_matrix_time, fp32);
  metrics.set(Metric::one_row_matrix_time, one_row);
}

/// A value of the capture's description of the host; null if it is not there.
json of_host(const json& document, const char* pointer) {
  const json::json_pointer path(std::string("/extensions/capture/host") + pointer);
  return document.contains(path) ? document.at(path) : json();
}

Known<double> processors_of(const json& document) {
  for (const char* path : {"/limits/allowed_threads", "/processors/threads"}) {
    const json count = of_host(document, path);
    if (count.is_number_integer() && count > 0) return count.get<double>();
  }
  return Absent{"the capture does not say how many processors there are"};
}

Known<double> int8_speedup_of(const json& document) {
  const json units = of_host(document, "/processors/units");
  if (!units.is_array()) return Absent{"the capture does not say which units the processor has"};
  const auto has = [&](const char* unit) {
    return std::find(units.begin(), units.end(), unit) != units.end();
  };
  if (has("amx_tile")) return kAmxSpeedup;
  if (has("avx512_vnni") || has("avx_vnni")) return kVnniSpeedup;
  return Absent{"the processor has no units for 8-bit products"};
}

void absent_session(MetricSet& metrics, const char* reason) {
  for (const Metric metric :
       {Metric::unfused_op_time, Metric::host_fp32_matrix_time, Metric::one_row_matrix_time,
        Metric::one_thread, Metric::host_processors, Metric::int8_speedup}) {
    metrics.absent(metric, reason);
  }
}

}  // namespace

void add_session_metrics(MetricSet& metrics, const PreparedRun& run, const Sources& sources,
                         const Device& device, const IntervalSet& window) {
  if (!device.is_host) return absent_session(metrics, "the run has device work");
  const bool shows_pool = metrics.get(Metric::parallel_efficiency).has_value();
  const auto facts = session_facts(run, device, window, shows_pool);
  if (!facts) return absent_session(metrics, "no runs of a session in the window");
  metrics.set(Metric::unfused_op_time, facts->unfused_ns);
  metrics.set(Metric::one_thread, Known<double>(facts->is_one_thread ? 1.0 : 0.0));
  set_matrix_times(metrics, run, sources.arguments, *facts);
  metrics.set(Metric::host_processors, processors_of(sources.document));
  metrics.set(Metric::int8_speedup, int8_speedup_of(sources.document));
}

}  // namespace nl::analyze
