#include "ingest/formats/rocprof/rocprof_table.h"

#include <algorithm>

#include "base/text.h"

namespace nl::ingest {
namespace {

using enum RocprofColumn;

struct NamedColumn {
  std::string_view name;  ///< in lower case
  RocprofColumn meaning;
};

constexpr NamedColumn kColumns[] = {
    {"kind", kKind},
    {"guid", kGuid},
    {"agent_id", kAgent},
    {"source_agent_id", kSourceAgent},
    {"destination_agent_id", kTargetAgent},
    {"queue_id", kQueue},
    {"stream_id", kStream},
    {"process_id", kProcess},
    {"thread_id", kThread},
    {"dispatch_id", kDispatch},
    {"kernel_name", kKernelName},
    {"correlation_id", kCorrelation},
    {"start_timestamp", kStart},
    {"end_timestamp", kEnd},
    {"lds_block_size", kSharedMemory},
    {"group_segment_size", kSharedMemory},
    {"vgpr_count", kRegisters},
    {"workgroup_size", kBlock},
    {"workgroup_size_x", kBlockX},
    {"workgroup_size_y", kBlockY},
    {"workgroup_size_z", kBlockZ},
    {"grid_size", kGrid},
    {"grid_size_x", kGridX},
    {"grid_size_y", kGridY},
    {"grid_size_z", kGridZ},
    {"domain", kDomain},
    {"function", kFunction},
    {"direction", kDirection},
    {"operation", kOperation},
    {"counter_name", kCounterName},
    {"counter_value", kCounterValue},
    {"name", kName},
    {"calls", kCalls},
    {"totaldurationns", kTotal},
    {"averagens", kAverage},
    {"percentage", kShare},
    {"minns", kMinimum},
    {"maxns", kMaximum},
    {"stddev", kDeviation},
    {"node_id", kNode},
    {"logical_node_id", kLogicalNode},
    {"agent_type", kAgentType},
    {"cu_count", kComputeUnits},
    {"product_name", kProduct},
};

RocprofColumn meaning_of(std::string_view name) {
  const std::string lowered = lower(trimmed(name));
  const auto* const it = std::find_if(std::begin(kColumns), std::end(kColumns),
                                      [&](const NamedColumn& c) { return c.name == lowered; });
  return it == std::end(kColumns) ? kOther : it->meaning;
}

}  // namespace

RocprofTable::RocprofTable(const std::vector<std::string_view>& header) {
  for (const std::string_view field : header) {
    const RocprofColumn meaning = meaning_of(field);
    auto& column = columns_[static_cast<size_t>(meaning)];
    // A column that comes twice stays with its row as it is.
    meanings_.push_back(column ? kOther : meaning);
    if (!column) column = names_.size();
    names_.emplace_back(trimmed(field));
  }
  kind_ = kind_of();
}

RocprofKind RocprofTable::kind_of() const {
  const auto has_all = [&](std::initializer_list<RocprofColumn> wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](RocprofColumn c) { return has(c); });
  };
  if (has_all({kDispatch, kKernelName, kCounterName, kCounterValue})) return RocprofKind::kCounters;
  if (has_all({kDispatch, kKernelName, kStart, kEnd})) return RocprofKind::kKernels;
  if (has_all({kDomain, kFunction, kStart, kEnd})) return RocprofKind::kCalls;
  if (has_all({kDirection, kSourceAgent, kTargetAgent, kStart, kEnd})) return RocprofKind::kCopies;
  if (has_all({kName, kCalls, kTotal, kAverage, kShare})) return RocprofKind::kSums;
  if (has_all({kNode, kAgentType, kName})) return RocprofKind::kAgents;
  if (has_all({kKind, kOperation, kStart, kEnd})) return RocprofKind::kForeign;
  return RocprofKind::kNone;
}

}  // namespace nl::ingest
