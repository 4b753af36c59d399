#pragma once
// Tables that rocprofv3 and rocpd write as CSV. They are recognised by the names of their columns, because
// the order, case, quoting and additional columns differ between versions.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nl::ingest {

enum class RocprofKind {
  kNone,
  kKernels,
  kCalls,
  kCopies,
  kCounters,
  kSums,
  kAgents,
  kForeign,  ///< of rocprofv3, but nothing that is read: allocations, scratch memory
};

enum class RocprofColumn : uint8_t {
  kKind,
  kGuid,
  kAgent,
  kSourceAgent,
  kTargetAgent,
  kQueue,
  kStream,
  kProcess,
  kThread,
  kDispatch,
  kKernelName,
  kCorrelation,
  kStart,
  kEnd,
  kSharedMemory,
  kRegisters,
  kBlock,
  kBlockX,
  kBlockY,
  kBlockZ,
  kGrid,
  kGridX,
  kGridY,
  kGridZ,
  kDomain,
  kFunction,
  kDirection,
  kOperation,
  kCounterName,
  kCounterValue,
  kName,
  kCalls,
  kTotal,
  kAverage,
  kShare,
  kMinimum,
  kMaximum,
  kDeviation,
  kNode,
  kLogicalNode,
  kAgentType,
  kComputeUnits,
  kProduct,
  kOther,
};

class RocprofTable {
 public:
  RocprofTable() = default;
  explicit RocprofTable(const std::vector<std::string_view>& header);

  RocprofKind kind() const { return kind_; }
  size_t size() const { return names_.size(); }
  const std::string& name(size_t column) const { return names_[column]; }
  RocprofColumn meaning(size_t column) const { return meanings_[column]; }
  /// The first column of this meaning.
  std::optional<size_t> find(RocprofColumn meaning) const { return columns_[static_cast<size_t>(meaning)]; }
  bool has(RocprofColumn meaning) const { return find(meaning).has_value(); }

 private:
  static constexpr size_t kMeanings = static_cast<size_t>(RocprofColumn::kOther) + 1;
  RocprofKind kind_of() const;

  RocprofKind kind_ = RocprofKind::kNone;
  std::vector<std::string> names_ = {};
  std::vector<RocprofColumn> meanings_ = {};
  std::array<std::optional<size_t>, kMeanings> columns_ = {};
};

}  // namespace nl::ingest
