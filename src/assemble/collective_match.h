#pragma once
// Finds the collective calls among the kernels of a run, and decides which calls of different ranks form one
// collective. They are matched by what the ranks themselves record and never by time, because the clocks of
// the ranks are fitted with the help of these matches.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/shared_text.h"
#include "store/engine.h"
#include "store/run_views.h"

namespace nl::assemble {

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kAllToAllV,
  kBarrier,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kSend,
  kRecv,
  kSendRecv,
  kOther,
};
std::string_view collective_kind_name(CollectiveKind kind);
/// From the name of a collective or of its kernel.
CollectiveKind collective_kind(std::string_view name);
/// No rank can end it before all have begun it.
bool syncs_implicitly(CollectiveKind kind);
bool is_point_to_point(CollectiveKind kind);
/// Bytes of an element by its name in PyTorch.
std::optional<int64_t> dtype_bytes(std::string_view dtype);

/// Times as stored, on the clock of the rank.
struct CollectiveCall {
  int32_t rank = 0;
  int32_t clock = 0;
  CollectiveKind kind = CollectiveKind::kOther;
  SharedText group = {};  ///< its name and ranks; empty where the source does not say
  std::optional<int64_t> group_size = {};
  std::optional<int64_t> sequence = {};
  std::optional<int64_t> bytes = {};
  int64_t start_ns = 0, end_ns = 0;
  int64_t kernel_id = 0;
};

/// In order of rank and start. Kernels without timing are left out.
Result<std::vector<CollectiveCall>> load_collectives(store::Connection& connection);
/// Does a kernel of this name belong to a communication library? The same names as load_collectives() takes.
bool is_collective_name(std::string_view name);
/// Whether there are any, from the names of kernels alone: most runs have none, and then nothing else is
/// read.
Result<bool> has_collectives(store::Connection& connection);

/// One collective: a call of each of its ranks, in order of rank.
struct CollectiveInstance {
  CollectiveKind kind = CollectiveKind::kOther;
  SharedText group = {};
  std::optional<int64_t> bytes = {};
  std::vector<uint32_t> calls = {};
};

struct MatchedCollectives {
  std::vector<CollectiveInstance> instances = {};  ///< in order of kind, group and sequence
  int64_t unmatched_calls = 0;                     ///< no call of another rank belongs to them
  int64_t different_sizes = 0;  ///< calls that would belong together, but move other amounts: not matched
};
/// By group, kind and sequence number; where there is none, by their order on each rank, with the size as a
/// check. Point-to-point calls are left out.
MatchedCollectives match_collectives(const std::vector<CollectiveCall>& calls);

}  // namespace nl::assemble
