// PyTorch/Kineto Chrome traces, dialects of 2021 to 2026: NVIDIA, AMD, MTIA and CPU-only.
// Times are decimal microseconds, relative to baseTimeNanoseconds if that is given (often behind the events),
// else Unix time. Events are classified by their category, never by their process id.

#include <algorithm>
#include <set>
#include <string>

#include "base/json.h"
#include "base/small_json.h"
#include "ingest/formats/chrome/chrome_trace.h"

namespace nl::ingest::kineto_adapter {
namespace {

using model::TableId;
using enum EventClass;
namespace spans = model::spans;
namespace kernels = model::kernels;
namespace copies = model::copies;
namespace syncs = model::syncs;
namespace allocations = model::allocations;

/// Category names of 2021 are capitalised, later ones are not.
EventClass class_of(std::string_view category) {
  std::string name(category.substr(0, 64));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (name == "cpu_op" || name == "operator") return kOp;
  if (name == "kernel") return kKernel;
  if (name == "gpu_memcpy" || name == "memcpy") return kMemcpy;
  if (name == "gpu_memset" || name == "memset") return kMemset;
  if (name == "cuda_sync") return kSync;
  if (name == "runtime" || name.ends_with("_runtime") || name.ends_with("_driver")) return kRuntime;
  if (name == "user_annotation") return kAnnotation;
  if (name.ends_with("_user_annotation")) return kDeviceAnnotation;
  if (name == "python_function") return kPython;
  if (name == "mtia_ccp_events" || name == "cuda_profiler_range") return kDevice;
  if (name == "overhead") return kOverhead;
  return kOther;
}

constexpr ClassSet kCopyClasses = set_of(kMemcpy) | set_of(kMemset);

constexpr KnownArg kKnownArgs[] = {
    {"Input Dims", set_of(kOp), TableId::spans, spans::shapes, ArgValue::kJson},
    {"Input type", set_of(kOp), TableId::spans, spans::dtypes, ArgValue::kJson},
    {"Input Strides", set_of(kOp), TableId::spans, spans::strides, ArgValue::kJson},
    {"Concrete Inputs", set_of(kOp), TableId::spans, spans::inputs, ArgValue::kJson},
    {"Sequence number", set_of(kOp), TableId::spans, spans::sequence_number},
    {"Fwd thread id", set_of(kOp), TableId::spans, spans::forward_thread_id},
    {"device", set_of(kKernel), TableId::kernels, kernels::device},
    {"stream", set_of(kKernel), TableId::kernels, kernels::stream},
    {"correlation", set_of(kKernel), TableId::kernels, kernels::correlation_id},
    {"External id", set_of(kKernel), TableId::kernels, kernels::external_id},
    {"external id", set_of(kKernel), TableId::kernels, kernels::external_id},
    {"context", set_of(kKernel), TableId::kernels, kernels::context_id},
    {"queued", set_of(kKernel), TableId::kernels, kernels::queued},
    {"registers per thread", set_of(kKernel), TableId::kernels, kernels::registers_per_thread},
    {"shared memory", set_of(kKernel), TableId::kernels, kernels::shared_memory_bytes},
    {"blocks per SM", set_of(kKernel), TableId::kernels, kernels::blocks_per_sm, ArgValue::kDouble},
    {"warps per SM", set_of(kKernel), TableId::kernels, kernels::warps_per_sm, ArgValue::kDouble},
    {"grid", set_of(kKernel), TableId::kernels, kernels::grid_x, ArgValue::kGrid},
    {"block", set_of(kKernel), TableId::kernels, kernels::block_x, ArgValue::kGrid},
    {"est. achieved occupancy %", set_of(kKernel), TableId::kernels, kernels::occupancy_pct,
     ArgValue::kDouble},
    {"graph id", set_of(kKernel), TableId::kernels, kernels::graph_id},
    {"graph node id", set_of(kKernel), TableId::kernels, kernels::graph_node_id},
    {"device", set_of(kSync), TableId::syncs, syncs::device},
    {"stream", set_of(kSync), TableId::syncs, syncs::stream},
    {"correlation", set_of(kSync), TableId::syncs, syncs::correlation_id},
    {"External id", set_of(kSync), TableId::syncs, syncs::external_id},
    {"context", set_of(kSync), TableId::syncs, syncs::context_id},
    {"cuda_sync_kind", set_of(kSync), TableId::syncs, syncs::kind, ArgValue::kText},
    {"wait_on_stream", set_of(kSync), TableId::syncs, syncs::wait_on_stream},
    {"wait_on_cuda_event_record_corr_id", set_of(kSync), TableId::syncs, syncs::wait_on_correlation_id},
    {"wait_on_cuda_event_id", set_of(kSync), TableId::syncs, syncs::wait_on_event_id},
    {"Device Type", set_of(kAllocation), TableId::allocations, allocations::device_type},
    {"Device Id", set_of(kAllocation), TableId::allocations, allocations::device},
    {"Addr", set_of(kAllocation), TableId::allocations, allocations::address},
    {"Bytes", set_of(kAllocation), TableId::allocations, allocations::bytes},
    {"Total Allocated", set_of(kAllocation), TableId::allocations, allocations::total_allocated_bytes},
    {"Total Reserved", set_of(kAllocation), TableId::allocations, allocations::total_reserved_bytes},
    {"Ev Idx", set_of(kAllocation), TableId::allocations, allocations::source_index},
    {"device", kCopyClasses, TableId::copies, copies::device},
    {"stream", kCopyClasses, TableId::copies, copies::stream},
    {"correlation", kCopyClasses, TableId::copies, copies::correlation_id},
    {"External id", kCopyClasses, TableId::copies, copies::external_id},
    {"external id", kCopyClasses, TableId::copies, copies::external_id},
    {"context", kCopyClasses, TableId::copies, copies::context_id},
    {"bytes", kCopyClasses, TableId::copies, copies::bytes},
    {"memory bandwidth (GB/s)", kCopyClasses, TableId::copies, copies::bandwidth_gb_per_s, ArgValue::kDouble},
    {"correlation", kSpanClasses, TableId::spans, spans::correlation_id},
    {"External id", kSpanClasses, TableId::spans, spans::external_id},
    {"external id", kSpanClasses, TableId::spans, spans::external_id},
    {"cbid", kSpanClasses, TableId::spans, spans::api_id},
    {"Ev Idx", kSpanClasses, TableId::spans, spans::source_index},
    {"Record function id", kSpanClasses, TableId::spans, spans::record_function_id},
    {"Python id", kSpanClasses, TableId::spans, spans::python_id},
    {"Python parent id", kSpanClasses, TableId::spans, spans::python_parent_id},
    {"Python module id", kSpanClasses, TableId::spans, spans::python_module_id},
};

EventClass refine(EventClass c, TraceEvent& event) {
  return c == kInstant && event.name == "\"[memory]\"" ? kAllocation : c;
}

const char* window_kind(EventClass c, std::string_view name) {
  return c == kAnnotation && name.starts_with("\"ProfilerStep#") ? "step" : nullptr;
}

void describe_versions(const nlohmann::json& envelope, model::RunInfo& info) {
  for (const char* key : {"cuda_runtime_version", "cuda_driver_version"}) {
    if (const auto v = small_int(envelope, key)) {  // 12040 is 12.4
      info.versions[key] = std::to_string(*v / 1000) + "." + std::to_string(*v % 1000 / 10);
    }
  }
  for (const char* key :
       {"cupti_version", "roctracer_version", "hip_runtime_version", "hip_driver_version"}) {
    if (envelope.contains(key) && envelope[key].is_number()) info.versions[key] = envelope[key].dump();
  }
  const auto distributed = envelope.find("distributedInfo");
  if (distributed != envelope.end() && distributed->is_object() && distributed->contains("nccl_version") &&
      (*distributed)["nccl_version"].is_string()) {
    info.versions["nccl_version"] = (*distributed)["nccl_version"];
  }
}

model::Device device_of(const nlohmann::json& properties) {
  model::Device device;
  device.device = small_int(properties, "id").value_or(0);
  if (properties.contains("name") && properties["name"].is_string()) device.name = properties["name"];
  const auto integer = [&](const char* key) { return whole_number(properties, key); };
  device.memory_bytes = integer("totalGlobalMem");
  device.multiprocessors = integer("numSms");
  const auto major = integer("computeMajor");
  const auto minor = integer("computeMinor");
  if (major && minor) device.compute_capability = std::to_string(*major) + "." + std::to_string(*minor);
  const auto has = [&](const char* key) { return properties.contains(key); };
  if (has("maxGridHeight")) {
    device.vendor = "Meta";
  } else if (has("maxSharedMemoryPerMultiProcessor") || device.name.starts_with("AMD")) {
    device.vendor = "AMD";
  } else if (has("regsPerMultiprocessor") || has("sharedMemPerBlockOptin")) {
    device.vendor = "NVIDIA";
  }
  return device;
}

void describe_devices(const nlohmann::json& envelope, const std::set<int32_t>& seen, model::RunInfo& info) {
  const auto properties = envelope.find("deviceProperties");
  const bool listed = properties != envelope.end() && properties->is_array();
  if (listed) {
    for (const auto& p : *properties) {
      if (p.is_object() && info.devices.size() < 4096) info.devices.push_back(device_of(p));
    }
  }
  const size_t listed_devices = info.devices.size();
  for (const int32_t number : seen) {
    const auto same = [&](const model::Device& d) { return d.device == number; };
    const auto it = std::find_if(info.devices.begin(), info.devices.end(), same);
    if (it != info.devices.end()) {
      it->active = true;
      continue;
    }
    // AMD numbers its agents otherwise; with one device listed there is no doubt which one is meant.
    model::Device device = listed_devices == 1 ? info.devices[0] : model::Device{};
    device.device = number;
    device.active = true;
    info.devices.push_back(device);
  }
  if (listed_devices == 1 && info.devices.size() > 1 && !info.devices[0].active) {
    info.devices.erase(info.devices.begin());
  }
  std::sort(info.devices.begin(), info.devices.end(),
            [](const auto& a, const auto& b) { return a.device < b.device; });
}

void describe_clock(const nlohmann::json& envelope, const ChromeFacts& facts, model::RunInfo& info) {
  model::Clock clock = chrome_clock(facts);
  if (envelope.contains("baseTimeNanoseconds")) {
    const auto& base = envelope["baseTimeNanoseconds"];
    constexpr int64_t kLastBase = 4'000'000'000'000'000'000;
    const bool fits = base.is_number_integer() && base <= kLastBase && base >= -kLastBase;
    if (fits) {
      clock.kind = "unix";
      clock.base_unix_ns = base.get<int64_t>();
    } else {
      info.health["bad_base_time"]++;
    }
  }
  info.clocks.push_back(clock);
}

/// Some write their whole environment into it.
nlohmann::json kept_distribution(const nlohmann::json& distributed) {
  static const std::set<std::string> kKept = {"backend",    "rank",      "world_size",       "local_rank",
                                              "group_rank", "pg_count",  "pg_config",        "nccl_version",
                                              "nodes",      "num_nodes", "local_world_size", "rccl_version"};
  nlohmann::json kept = nlohmann::json::object();
  if (!distributed.is_object()) return kept;
  for (const auto& [key, value] : distributed.items()) {
    if (kKept.contains(key)) kept[key] = value;
  }
  return kept;
}

/// An allow-list: traces carry user names, job names and whole environments.
void keep_extensions(const nlohmann::json& envelope, model::RunInfo& info) {
  static const std::set<std::string> kKept = {"schemaVersion", "trace_id", "displayTimeUnit",
                                              "distributedInfo", "traceName"};
  static const std::set<std::string> kElsewhere = {
      "traceEvents",         "deviceProperties",    "host_name",         "baseTimeNanoseconds",
      "record_shapes",       "with_stack",          "with_flops",        "with_modules",
      "profile_memory",      "cupti_version",       "roctracer_version", "cuda_runtime_version",
      "cuda_driver_version", "hip_runtime_version", "hip_driver_version"};
  nlohmann::json kept = nlohmann::json::object();
  nlohmann::json left_out = nlohmann::json::array();
  for (const auto& [key, value] : envelope.items()) {
    if (kKept.contains(key)) {
      kept[key] = kept_json(key == "distributedInfo" ? kept_distribution(value) : value);
    } else if (!kElsewhere.contains(key) && left_out.size() < 1000) {
      left_out.push_back(key);
    }
  }
  if (!left_out.empty()) kept["left_out_keys"] = left_out;
  info.extensions["kineto"] = std::move(kept);
}

void describe(const nlohmann::json& envelope, const ChromeFacts& facts, model::RunInfo& info) {
  info.backend = "pytorch";
  info.tool = "kineto";
  describe_versions(envelope, info);
  describe_devices(envelope, facts.devices, info);
  describe_clock(envelope, facts, info);
  for (const char* flag : {"record_shapes", "with_stack", "with_flops", "with_modules", "profile_memory"}) {
    if (envelope.contains(flag) && envelope[flag] == 1) info.flags.emplace_back(flag);
  }
  if (envelope.contains("host_name") && envelope["host_name"].is_string()) {
    info.hosts.push_back(envelope["host_name"]);
  }
  if (envelope.contains("distributedInfo") && envelope["distributedInfo"].is_object()) {
    const auto& distributed = envelope["distributedInfo"];
    if (const auto rank = small_int(distributed, "rank")) {
      info.ranks.push_back({*rank, small_int(distributed, "world_size")});
    }
  }
  keep_extensions(envelope, info);
}

constexpr ChromeDialect kDialect{.args = kKnownArgs,
                                 .class_of = class_of,
                                 .refine = refine,
                                 .window_kind = window_kind,
                                 .describe = describe,
                                 .may_be_array = false,
                                 .process_is_device = true,
                                 .ops_own_next_kernels = false};

Sniffed sniff(std::string_view head, std::string_view) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '{') return {};
  const auto has = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  const bool events = has("\"traceEvents\"");
  for (const std::string_view own :
       {"\"deviceProperties\"", "\"distributedInfo\"", "\"baseTimeNanoseconds\"", "\"cpu_op\"",
        "\"cuda_runtime\"", "\"Trace iteration\"", "\"torch_profiler_kwargs\""}) {
    if (has(own)) return {events ? 0.9 : 0.6};
  }
  return {events && has("\"schemaVersion\"") ? 0.7 : 0};
}

Result<void> read(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                  model::RunInfo& info) {
  return read_chrome_trace(kDialect, source, options, sink, info);
}

}  // namespace

const Adapter& adapter() {
  static constexpr Adapter kAdapter{
      "kineto", 1, "PyTorch/Kineto Chrome trace (.json, .json.gz)", "trace", {}, sniff, read};
  return kAdapter;
}

}  // namespace nl::ingest::kineto_adapter
