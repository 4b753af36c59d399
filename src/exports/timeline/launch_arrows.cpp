#include "exports/timeline/launch_arrows.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace nl::exports {
namespace {

constexpr int64_t kNotWritten = INT64_MIN;

Error too_many_arrows() {
  return Error{ErrorCode::kLimit, "the run has too many rows for arrows between them"};
}

/// When each row of the work begins; kNotWritten if it is not.
Result<std::vector<int64_t>> work_begins(TraceReader& reader, const LaunchArrows::Work& work) {
  std::vector<int64_t> begins(static_cast<size_t>(reader.rows(work.table)), kNotWritten);
  NL_TRY(store::Connection * connection, reader.ask(work.table));
  const std::string sql =
      fmt::format("SELECT {}::BIGINT, start_ns, dur_ns FROM {} WHERE start_ns IS NOT NULL AND dur_ns >= 0",
                  work.id, work.table);
  NL_CHECK(connection->stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      const int64_t start = chunk.int64s(1)[i];
      const auto id = static_cast<size_t>(chunk.int64s(0)[i]);
      if (id < begins.size() && reader.touches(start, end_of(start, chunk.int64s(2)[i]))) begins[id] = start;
    }
    return {};
  }));
  return begins;
}

}  // namespace

// Columns are read one by one and joined here: a join by the engine would take its whole memory.
Result<LaunchArrows> LaunchArrows::read(TraceReader& reader, const Work& work) {
  LaunchArrows arrows;
  if (!reader.has(work.table) || !reader.has("spans")) return arrows;
  NL_CHECK(arrows.read_links(reader, work));
  if (arrows.arrows_.empty()) return arrows;
  NL_TRY(const auto begins, work_begins(reader, work));
  NL_CHECK(arrows.follow(reader, begins));
  std::erase_if(arrows.arrows_, [&](const Arrow& arrow) { return !arrows.arrives_at(arrow.work); });
  arrows.next_ = 0;
  return arrows;
}

Result<void> LaunchArrows::read_links(TraceReader& reader, const Work& work) {
  NL_TRY(store::Connection * connection, reader.ask(work.links));
  arrows_.reserve(static_cast<size_t>(reader.rows(work.table)));
  const std::string sql =
      fmt::format("SELECT launch_span_id::BIGINT, {}::BIGINT FROM {} WHERE launch_span_id IS NOT NULL",
                  work.id, work.links);
  NL_CHECK(connection->stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      const int64_t launch = chunk.int64s(0)[i];
      const int64_t id = chunk.int64s(1)[i];
      if (launch > UINT32_MAX || id > UINT32_MAX) return too_many_arrows();
      arrows_.push_back({static_cast<uint32_t>(launch), static_cast<uint32_t>(id)});
    }
    return {};
  }));
  std::sort(arrows_.begin(), arrows_.end(), [](const Arrow& a, const Arrow& b) {
    return std::tie(a.launch, a.work) < std::tie(b.launch, b.work);
  });
  return {};
}

/// Marks the work at which an arrow arrives.
Result<void> LaunchArrows::follow(TraceReader& reader, const std::vector<int64_t>& begins) {
  arrives_.resize(begins.size());
  NL_TRY(store::Connection * connection, reader.ask("spans"));
  constexpr char kSql[] =
      "SELECT span_id::BIGINT, start_ns, dur_ns FROM spans WHERE start_ns IS NOT NULL AND dur_ns >= 0";
  return connection->stream(kSql, [&](const store::Chunk& chunk) -> Result<void> {
    const int64_t* const ids = chunk.int64s(0);
    const int64_t* const starts = chunk.int64s(1);
    for (size_t i = 0; i < chunk.size(); i++) {
      const auto launched = from(ids[i]);
      if (launched.empty() || !reader.touches(starts[i], end_of(starts[i], chunk.int64s(2)[i]))) continue;
      for (const Arrow& arrow : launched) arrive(arrow.work, starts[i], begins);
    }
    return {};
  });
}

void LaunchArrows::arrive(uint32_t work, int64_t launched, const std::vector<int64_t>& begins) {
  if (work >= begins.size() || begins[work] == kNotWritten) return;
  if (begins[work] < launched) {
    backward_++;
  } else {
    arrives_[work] = true;
  }
}

std::span<const LaunchArrows::Arrow> LaunchArrows::from(int64_t span_id) {
  const auto before = [](const Arrow& arrow, int64_t id) { return arrow.launch < id; };
  const bool is_next = next_ == arrows_.size() || arrows_[next_].launch >= span_id;
  const bool is_first = next_ == 0 || arrows_[next_ - 1].launch < span_id;
  if (!is_next || !is_first) {
    const auto found = std::lower_bound(arrows_.begin(), arrows_.end(), span_id, before);
    next_ = static_cast<size_t>(found - arrows_.begin());
  }
  const size_t begin = next_;
  while (next_ < arrows_.size() && arrows_[next_].launch == span_id) next_++;
  return std::span(arrows_).subspan(begin, next_ - begin);
}

bool LaunchArrows::arrives_at(int64_t work_id) const {
  const auto at = static_cast<size_t>(work_id);
  return at < arrives_.size() && arrives_[at];
}

}  // namespace nl::exports
