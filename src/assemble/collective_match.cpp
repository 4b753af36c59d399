#include "assemble/collective_match.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/text.h"

namespace nl::assemble {
namespace {

using enum CollectiveKind;

constexpr struct {
  CollectiveKind kind;
  std::string_view name;
} kNames[] = {{kAllReduce, "all_reduce"},
              {kAllGather, "all_gather"},
              {kReduceScatter, "reduce_scatter"},
              {kAllToAll, "all_to_all"},
              {kAllToAllV, "all_to_all_v"},
              {kBarrier, "barrier"},
              {kBroadcast, "broadcast"},
              {kReduce, "reduce"},
              {kGather, "gather"},
              {kScatter, "scatter"},
              {kSend, "send"},
              {kRecv, "recv"},
              {kSendRecv, "send_recv"},
              {kOther, "other"}};

/// The first that a name contains, once it is lower case letters only.
constexpr struct {
  std::string_view word;
  CollectiveKind kind;
} kWords[] = {{"barrier", kBarrier},
              {"allreduce", kAllReduce},
              {"crossdevicereduce", kAllReduce},
              {"allgather", kAllGather},
              {"reducescatter", kReduceScatter},
              {"alltoallv", kAllToAllV},
              {"alltoall", kAllToAll},
              {"sendrecv", kSendRecv},
              {"broadcast", kBroadcast},
              {"reduce", kReduce},
              {"gather", kGather},
              {"scatter", kScatter},
              {"send", kSend},
              {"recv", kRecv}};

}  // namespace

std::string_view collective_kind_name(CollectiveKind kind) {
  for (const auto& [named, name] : kNames) {
    if (named == kind) return name;
  }
  return "other";
}

CollectiveKind collective_kind(std::string_view name) {
  std::string letters;
  for (const char c : lower(std::string(name.substr(0, name.find('('))))) {
    if (c >= 'a' && c <= 'z') letters += c;
  }
  for (const auto& [word, kind] : kWords) {
    if (letters.find(word) != std::string::npos) return kind;
  }
  return kOther;
}

bool syncs_implicitly(CollectiveKind kind) {
  return kind == kAllReduce || kind == kAllGather || kind == kReduceScatter || kind == kAllToAll ||
         kind == kBarrier;
}

bool is_point_to_point(CollectiveKind kind) {
  return kind == kSend || kind == kRecv || kind == kSendRecv;
}

std::optional<int64_t> dtype_bytes(std::string_view dtype) {
  const std::string name = lower(std::string(dtype));
  static const std::map<std::string, int64_t, std::less<>> kBytes = {
      {"float", 4},    {"float32", 4}, {"double", 8}, {"float64", 8}, {"half", 2},  {"float16", 2},
      {"bfloat16", 2}, {"int", 4},     {"int32", 4},  {"long", 8},    {"int64", 8}, {"short", 2},
      {"int16", 2},    {"char", 1},    {"int8", 1},   {"byte", 1},    {"uint8", 1}, {"bool", 1}};
  if (name.starts_with("float8")) return 1;
  const auto it = kBytes.find(name);
  return it == kBytes.end() ? std::nullopt : std::optional(it->second);
}

// ---- Loading

namespace {

#define NL_IS_CALL(name) \
  "regexp_matches(" name ", '(?i)^(void )?[a-z_:]*([nr]ccl|msccl|cross_device_reduce)')"

constexpr char kAnyCalls[] =
    "SELECT count(*) FROM (SELECT DISTINCT name FROM kernels) WHERE " NL_IS_CALL("name");

constexpr char kCallsWithoutArguments[] = "SELECT count(*) FROM kernels WHERE " NL_IS_CALL(
    "name") " AND (args ->> '$.\"Collective name\"') IS NULL";

/// Kernels of communication libraries with what they say of the collective.
constexpr char kCallsAlone[] =
    "SELECT kernel_id, track_id, start_ns, dur_ns, name, args, NULL AS around FROM kernels WHERE " NL_IS_CALL(
        "name");

/// What the op that launched them says, where they say nothing themselves; and the range around the launch,
/// since the kernels of an all-to-all are called SendRecv. That is the last range to begin before the call,
/// or if it has ended, the one of those before that reaches furthest: no call is held against all ranges.
constexpr char kCallsWithOps[] =
    "WITH ranges AS (SELECT track_id, start_ns, max({'last': start_ns + dur_ns, 'name': name}) AS here FROM "
    "spans WHERE name LIKE 'nccl:%' AND dur_ns IS NOT NULL GROUP BY ALL), "
    "reaching AS (SELECT *, max(here) OVER (PARTITION BY track_id ORDER BY start_ns) AS furthest FROM "
    "ranges), "
    "launches AS (SELECT c.span_id, CASE WHEN c.start_ns < r.here.last THEN r.here.name WHEN c.start_ns < "
    "r.furthest.last THEN r.furthest.name END AS around FROM (SELECT span_id, track_id, start_ns FROM spans "
    "WHERE kind = 'runtime') c ASOF LEFT JOIN reaching r ON c.track_id = r.track_id AND c.start_ns >= "
    "r.start_ns) "
    "SELECT k.kernel_id, k.track_id, k.start_ns, k.dur_ns, k.name, CASE WHEN (k.args ->> '$.\"Collective "
    "name\"') IS NULL THEN coalesce(s.args, k.args) ELSE k.args END AS args, c.around FROM kernels k LEFT "
    "JOIN "
    "kernel_links l ON l.kernel_id = k.kernel_id LEFT JOIN (SELECT span_id, args FROM spans WHERE name = "
    "'record_param_comms') s ON s.span_id = l.op_id LEFT JOIN launches c ON c.span_id = l.launch_span_id "
    "WHERE " NL_IS_CALL("k.name");

std::string calls_sql(bool with_ops) {
  return "SELECT coalesce(t.rank, t.clock_id, 0)::INTEGER, coalesce(t.clock_id, 0)::INTEGER, f.start_ns, "
         "f.dur_ns, "
         "f.name, coalesce(f.args ->> '$.\"Collective name\"', f.around), f.args ->> '$.\"Process Group "
         "Name\"', f.args ->> "
         "'$.\"Process Group Ranks\"', try_cast(f.args ->> '$.\"Group size\"' AS BIGINT), try_cast(f.args "
         "->> "
         "'$.\"Seq\"' AS BIGINT), try_cast(f.args ->> '$.\"In msg nelems\"' AS BIGINT), try_cast(f.args ->> "
         "'$.\"Out msg nelems\"' AS BIGINT), f.args ->> '$.\"dtype\"', f.args ->> '$.\"In split size\"', "
         "f.kernel_id FROM (" +
         std::string(with_ops ? kCallsWithOps : kCallsAlone) +
         ") f JOIN tracks t ON t.track_id = f.track_id WHERE f.start_ns IS NOT NULL AND f.dur_ns >= 0";
}

std::string text_or_empty(const store::Chunk& chunk, size_t column, size_t row) {
  return chunk.is_null(column, row) ? std::string() : std::string(chunk.text(column, row));
}

std::optional<int64_t> number(const store::Chunk& chunk, size_t column, size_t row) {
  if (chunk.is_null(column, row)) return std::nullopt;
  return chunk.int64s(column)[row];
}

/// What a collective moves in all: the larger side of it.
std::optional<int64_t> message_bytes(const store::Chunk& chunk, size_t row) {
  const auto in = number(chunk, 10, row), out = number(chunk, 11, row);
  const auto size = dtype_bytes(text_or_empty(chunk, 12, row));
  int64_t bytes = 0;
  if (!size || (!in && !out)) return std::nullopt;
  const int64_t elements = std::max(in.value_or(0), out.value_or(0));
  if (elements < 0 || __builtin_mul_overflow(elements, *size, &bytes)) return std::nullopt;
  return bytes;
}

CollectiveKind kind_of(const std::string& said, std::string_view kernel, const std::string& splits) {
  CollectiveKind kind = collective_kind(said.empty() ? kernel : std::string_view(said));
  if (kind == kOther && !said.empty()) kind = collective_kind(kernel);
  const bool uneven = !splits.empty() && splits != "[]";
  return kind == kAllToAll && uneven ? kAllToAllV : kind;
}

/// Groups, each once: the ranks of a large one are a long text, and every call names them.
class GroupTexts {
 public:
  SharedText of(const std::string& name, const std::string& ranks) {
    const std::string text = name + (ranks.empty() || ranks == "[]" ? "" : (name.empty() ? "" : " ") + ranks);
    return known_.try_emplace(text, text).first->second;
  }

 private:
  std::unordered_map<std::string, SharedText> known_;
};

CollectiveCall call_of(const store::Chunk& chunk, size_t row, GroupTexts& groups) {
  CollectiveCall call;
  call.rank = chunk.int32s(0)[row];
  call.clock = chunk.int32s(1)[row];
  call.start_ns = chunk.int64s(2)[row];
  if (__builtin_add_overflow(call.start_ns, chunk.int64s(3)[row], &call.end_ns)) call.end_ns = call.start_ns;
  call.kind = kind_of(text_or_empty(chunk, 5, row), chunk.text(4, row), text_or_empty(chunk, 13, row));
  call.group = groups.of(text_or_empty(chunk, 6, row), text_or_empty(chunk, 7, row));
  call.group_size = number(chunk, 8, row);
  call.sequence = number(chunk, 9, row);
  call.bytes = message_bytes(chunk, row);
  call.kernel_id = chunk.int64s(14)[row];
  return call;
}

}  // namespace

bool is_collective_name(std::string_view name) {
  std::string word;
  if (lower(name.substr(0, 5)) == "void ") name.remove_prefix(5);
  for (const char c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter && c != '_' && c != ':') break;
    word += static_cast<char>(is_letter ? c | 0x20 : c);
  }
  return has_part(word, "nccl") || has_part(word, "rccl") || has_part(word, "msccl") ||
         has_part(word, "cross_device_reduce");
}

Result<bool> has_collectives(store::Connection& connection) {
  NL_TRY(const int64_t any, connection.integer(kAnyCalls));
  return any > 0;
}

Result<std::vector<CollectiveCall>> load_collectives(store::Connection& connection) {
  std::vector<CollectiveCall> calls;
  GroupTexts groups;
  NL_TRY(const int64_t silent, connection.integer(kCallsWithoutArguments));
  NL_CHECK(connection.stream(calls_sql(silent > 0), [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t row = 0; row < chunk.size(); row++) calls.push_back(call_of(chunk, row, groups));
    return {};
  }));
  std::sort(calls.begin(), calls.end(), [](const CollectiveCall& a, const CollectiveCall& b) {
    return std::tie(a.rank, a.start_ns, a.kernel_id) < std::tie(b.rank, b.start_ns, b.kernel_id);
  });
  return calls;
}

// ---- Matching

namespace {

constexpr int64_t kMostShift = 8;

/// The calls of one group and kind, by rank, each in order of time.
using RankCalls = std::map<int32_t, std::vector<uint32_t>>;

class CollectiveMatcher {
 public:
  explicit CollectiveMatcher(const std::vector<CollectiveCall>& calls) : calls_(calls) {}

  MatchedCollectives match() {
    std::map<std::pair<CollectiveKind, std::string_view>, RankCalls> groups;
    for (uint32_t i = 0; i < calls_.size(); i++) {
      if (!is_point_to_point(calls_[i].kind))
        groups[{calls_[i].kind, calls_[i].group.str()}][calls_[i].rank].push_back(i);
    }
    for (const auto& [key, ranks] : groups) add_group(ranks);
    return std::move(matched_);
  }

 private:
  void add_group(const RankCalls& ranks) {
    std::map<int64_t, std::vector<uint32_t>> by_number;
    for (const auto& [rank, calls] : ranks) {
      const bool numbered = has_numbers(calls);
      const int64_t shift = numbered ? 0 : shift_of(ranks.begin()->second, calls);
      for (size_t i = 0; i < calls.size(); i++) {
        const int64_t at = numbered ? *calls_[calls[i]].sequence : static_cast<int64_t>(i) + shift;
        by_number[at].push_back(calls[i]);
      }
    }
    for (auto& [at, calls] : by_number) add_instance(calls);
  }

  bool has_numbers(const std::vector<uint32_t>& calls) const {
    std::set<int64_t> numbers;
    for (const uint32_t call : calls) {
      if (!calls_[call].sequence || !numbers.insert(*calls_[call].sequence).second) return false;
    }
    return true;
  }

  /// A capture may begin a few collectives later than that of the first rank: the sizes tell.
  int64_t shift_of(const std::vector<uint32_t>& first, const std::vector<uint32_t>& own) const {
    int64_t best = 0, most = -1;
    for (int64_t step = 0; step <= 2 * kMostShift; step++) {
      const int64_t shift = step % 2 == 0 ? step / 2 : -(step + 1) / 2;
      const int64_t same = same_sizes(first, own, shift);
      if (same > most) {
        most = same;
        best = shift;
      }
    }
    return best;
  }

  int64_t same_sizes(const std::vector<uint32_t>& first, const std::vector<uint32_t>& own,
                     int64_t shift) const {
    int64_t same = 0;
    for (size_t i = 0; i < own.size(); i++) {
      const int64_t at = static_cast<int64_t>(i) + shift;
      if (at < 0 || at >= static_cast<int64_t>(first.size())) continue;
      same += calls_[own[i]].bytes == calls_[first[static_cast<size_t>(at)]].bytes;
    }
    return same;
  }

  void add_instance(const std::vector<uint32_t>& calls) {
    const auto& bytes = calls_[calls.front()].bytes;
    if (calls.size() < 2) {
      matched_.unmatched_calls++;
    } else if (std::any_of(calls.begin(), calls.end(),
                           [&](uint32_t c) { return calls_[c].bytes != bytes; })) {
      matched_.different_sizes += static_cast<int64_t>(calls.size());
    } else {
      const CollectiveCall& one = calls_[calls.front()];
      matched_.instances.push_back({one.kind, one.group, bytes, calls});
    }
  }

  const std::vector<CollectiveCall>& calls_;
  MatchedCollectives matched_;
};

}  // namespace

MatchedCollectives match_collectives(const std::vector<CollectiveCall>& calls) {
  return CollectiveMatcher(calls).match();
}

}  // namespace nl::assemble
