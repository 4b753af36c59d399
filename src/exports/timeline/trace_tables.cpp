#include "exports/timeline/trace_tables.h"

namespace nl::exports {
namespace {

constexpr ArgColumn kIterationArgs[] = {
    {"warm_up", "warm_up"}, {"cpu_ns", "cpu_ns"}, {"args", "", ArgKind::kRest}};

constexpr ArgColumn kSpanArgs[] = {
    {"correlation_id", "correlation"},
    {"external_id", "External id"},
    {"api_id", "cbid"},
    {"source_index", "Ev Idx"},
    {"record_function_id", "Record function id"},
    {"python_id", "Python id"},
    {"python_parent_id", "Python parent id"},
    {"python_module_id", "Python module id"},
    {"op_type", "op_type", ArgKind::kText},
    {"provider", "provider", ArgKind::kText},
    {"shapes", "Input Dims", ArgKind::kJson},
    {"dtypes", "Input type", ArgKind::kJson},
    {"strides", "Input Strides", ArgKind::kJson},
    {"inputs", "Concrete Inputs", ArgKind::kJson},
    {"sequence_number", "Sequence number"},
    {"forward_thread_id", "Fwd thread id"},
    {"args", "", ArgKind::kRest},
};

constexpr ArgColumn kKernelArgs[] = {
    {"device", "device"},
    {"stream", "stream"},
    {"correlation_id", "correlation"},
    {"external_id", "External id"},
    {"context_id", "context"},
    {"queued", "queued"},
    {"registers_per_thread", "registers per thread"},
    {"shared_memory_bytes", "shared memory"},
    {"blocks_per_sm", "blocks per SM", ArgKind::kReal},
    {"warps_per_sm", "warps per SM", ArgKind::kReal},
    {"grid", "grid", ArgKind::kTriple},
    {"block", "block", ArgKind::kTriple},
    {"occupancy_pct", "est. achieved occupancy %", ArgKind::kReal},
    {"graph_id", "graph id"},
    {"graph_node_id", "graph node id"},
    {"short_name", "short_name", ArgKind::kText},
    {"mangled_name", "mangled_name", ArgKind::kText},
    {"args", "", ArgKind::kRest},
};

constexpr ArgColumn kCopyArgs[] = {
    {"device", "device"},
    {"stream", "stream"},
    {"correlation_id", "correlation"},
    {"external_id", "External id"},
    {"context_id", "context"},
    {"bytes", "bytes"},
    {"bandwidth_gb_per_s", "memory bandwidth (GB/s)", ArgKind::kReal},
    {"args", "", ArgKind::kRest},
};

constexpr ArgColumn kSyncArgs[] = {
    {"device", "device"},
    {"stream", "stream"},
    {"correlation_id", "correlation"},
    {"external_id", "External id"},
    {"context_id", "context"},
    {"kind", "cuda_sync_kind", ArgKind::kText},
    {"wait_on_stream", "wait_on_stream"},
    {"wait_on_correlation_id", "wait_on_cuda_event_record_corr_id"},
    {"wait_on_event_id", "wait_on_cuda_event_id"},
    {"args", "", ArgKind::kRest},
};

constexpr ArgColumn kCollectiveArgs[] = {
    {"group_name", "Process Group Name", ArgKind::kText},
    {"bytes", "bytes"},
    {"args", "", ArgKind::kRest},
};

constexpr ArgColumn kRequestArgs[] = {
    {"first_token_ns", "first_token_ns"},
    {"input_tokens", "input_tokens"},
    {"output_tokens", "output_tokens"},
    {"args", "", ArgKind::kRest},
};

constexpr TraceTable kTraceTables[] = {
    {.table = "iterations",
     .id = "iteration_id",
     .name = "coalesce(pass || ' ', '') || 'iteration'",
     .category = "'iteration'",
     .rank = "-1",
     .args = kIterationArgs},
    {.table = "spans",
     .id = "span_id",
     .kind = "kind",
     .rank = "CASE kind WHEN 'op' THEN 1 WHEN 'runtime' THEN 2 ELSE 0 END",
     .args = kSpanArgs},
    {.table = "collectives", .id = "collective_id", .category = "'collective'", .args = kCollectiveArgs},
    {.table = "kernels", .id = "kernel_id", .category = "coalesce(category, 'kernel')", .args = kKernelArgs},
    {.table = "copies",
     .id = "copy_id",
     .category = "coalesce(category, 'gpu_' || kind)",
     .kind = "kind",
     .args = kCopyArgs},
    {.table = "syncs", .id = "sync_id", .category = "coalesce(category, 'cuda_sync')", .args = kSyncArgs},
    {.table = "requests", .id = "request_id", .track = "", .category = "'request'", .args = kRequestArgs},
};

constexpr TimelessTable kTimelessTables[] = {
    {"profiled_launches", "replayed launches"},
    {"kernel_metrics", "counters of kernels"},
    {"kernel_advice", "advice on kernels"},
    {"summaries", "rows of summaries"},
    {"layers", "layers of engines"},
    {"layer_times", "times of layers"},
    {"samples", "samples of stacks"},
};

}  // namespace

std::span<const TraceTable> trace_tables() {
  return kTraceTables;
}

std::span<const TimelessTable> timeless_tables() {
  return kTimelessTables;
}

}  // namespace nl::exports
