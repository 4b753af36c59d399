// ONNX Runtime profiles, 1.15 to 1.31: an array of complete events, times in integer microseconds since the
// profiler started. Nodes come as <node>_kernel_time, up to 1.20 with fences before and after; an enclosing
// event is written behind those inside it. Builds with CUDA profiling write the kernels of a node behind it.

#include "base/json.h"
#include "ingest/formats/chrome/chrome_trace.h"

namespace nl::ingest::onnxruntime_adapter {
namespace {

using model::TableId;
using enum EventClass;
namespace spans = model::spans;
namespace kernels = model::kernels;

constexpr std::string_view kNodeSuffix = "_kernel_time";

EventClass class_of(std::string_view category) {
  if (category == "Node") return kOp;
  if (category == "Session") return kAnnotation;
  if (category == "Kernel") return kKernel;
  return kOther;
}

/// Fences are no executions of their node. Kernels have no thread, but a stream.
EventClass refine(EventClass c, TraceEvent& event) {
  if (c == kKernel) {
    for (const JsonMember& arg : event.args) {
      if (arg.key == "stream" && arg.raw[0] != '{' && arg.raw[0] != '[') event.thread = arg.raw;
    }
  }
  if (c != kOp) return c;
  if (!unquoted(event.name).ends_with(kNodeSuffix)) return kOverhead;
  event.name_cut = kNodeSuffix.size();
  return c;
}

const char* window_kind(EventClass c, std::string_view name) {
  return c == kAnnotation && name == "\"model_run\"" ? "model_run" : nullptr;
}

constexpr KnownArg kKnownArgs[] = {
    {"op_name", set_of(kOp), TableId::spans, spans::op_type, ArgValue::kText},
    {"provider", set_of(kOp), TableId::spans, spans::provider, ArgValue::kText},
    {"input_type_shape", set_of(kOp), TableId::spans, spans::shapes, ArgValue::kTypedShapes},
    {"stream", set_of(kKernel), TableId::kernels, kernels::stream, ArgValue::kQuotedInt},
    {"grid_x", set_of(kKernel), TableId::kernels, kernels::grid_x, ArgValue::kQuotedInt},
    {"grid_y", set_of(kKernel), TableId::kernels, kernels::grid_y, ArgValue::kQuotedInt},
    {"grid_z", set_of(kKernel), TableId::kernels, kernels::grid_z, ArgValue::kQuotedInt},
    {"block_x", set_of(kKernel), TableId::kernels, kernels::block_x, ArgValue::kQuotedInt},
    {"block_y", set_of(kKernel), TableId::kernels, kernels::block_y, ArgValue::kQuotedInt},
    {"block_z", set_of(kKernel), TableId::kernels, kernels::block_z, ArgValue::kQuotedInt},
};

/// The profiler stops at a fixed number of events; the run it stops in has nodes but no end.
void describe(const nlohmann::json&, const ChromeFacts& facts, model::RunInfo& info) {
  info.backend = info.tool = "onnxruntime";
  info.clocks.push_back(chrome_clock(facts));
  if (facts.ops_after_last_window > 0)
    info.health["node_behind_the_last_model_run"] = facts.ops_after_last_window;
}

constexpr ChromeDialect kDialect{.args = kKnownArgs,
                                 .class_of = class_of,
                                 .refine = refine,
                                 .window_kind = window_kind,
                                 .describe = describe,
                                 .may_be_array = true,
                                 .process_is_device = false,
                                 .ops_own_next_kernels = true};

Sniffed sniff(std::string_view head, std::string_view) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '[') return {};
  const auto has = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  if (!has("\"ph\"")) return {};
  const bool session = has("\"Session\"") &&
                       (has("\"model_loading_") || has("\"session_initialization\"") || has("\"model_run\""));
  const bool node = has("\"Node\"") && has("_kernel_time\"");
  return {session || node ? 0.9 : 0};
}

Result<void> read(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                  model::RunInfo& info) {
  return read_chrome_trace(kDialect, source, options, sink, info);
}

}  // namespace

const Adapter& adapter() {
  static constexpr Adapter kAdapter{"onnxruntime", 1,   "ONNX Runtime profile (.json)", "trace", {},
                                    sniff,         read};
  return kAdapter;
}

}  // namespace nl::ingest::onnxruntime_adapter
