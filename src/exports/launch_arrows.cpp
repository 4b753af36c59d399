#include "exports/launch_arrows.h"

#include <fmt/format.h>

#include <algorithm>

namespace nl::exports {

Result<LaunchArrows> LaunchArrows::read(TraceReader& reader, const std::string& table, const std::string& id,
                                        const std::string& links) {
  LaunchArrows arrows;
  if (!reader.has(table) || !reader.has("spans")) return arrows;
  for (const std::string& one : {std::string("spans"), table, links}) NL_CHECK(reader.ask(one));
  NL_TRY(store::Connection * connection, reader.ask(table));
  const std::string sql = fmt::format(
      "SELECT l.launch_span_id::BIGINT AS launch, w.{0}::BIGINT AS work, s.start_ns, coalesce(s.dur_ns, 0), "
      "w.start_ns, "
      "w.dur_ns FROM {2} l JOIN {1} w ON w.{0} = l.{0} JOIN spans s ON s.span_id = l.launch_span_id "
      "WHERE w.start_ns IS NOT NULL AND w.dur_ns >= 0 AND s.start_ns IS NOT NULL AND (s.dur_ns >= 0 OR "
      "s.kind = 'instant') "
      "ORDER BY launch, work",
      id, table, links);
  NL_CHECK(connection->stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    const int64_t* columns[6];
    for (size_t c = 0; c < 6; c++) columns[c] = chunk.int64s(c);
    for (size_t i = 0; i < chunk.size(); i++) {
      const int64_t launched = columns[2][i];
      const int64_t begun = columns[4][i];
      const bool written = reader.touches(launched, end_of(launched, columns[3][i])) &&
                           reader.touches(begun, end_of(begun, columns[5][i]));
      if (!written) continue;
      if (begun < launched) {
        arrows.backward_++;
      } else {
        NL_CHECK(arrows.add(columns[0][i], columns[1][i]));
      }
    }
    return {};
  }));
  return arrows;
}

Result<void> LaunchArrows::add(int64_t launch, int64_t work) {
  if (launch > UINT32_MAX || work > UINT32_MAX)
    return Error{ErrorCode::kLimit, "the run has too many rows for arrows between them"};
  arrows_.push_back({static_cast<uint32_t>(launch), static_cast<uint32_t>(work)});
  if (arrives_.size() <= static_cast<size_t>(work)) arrives_.resize(static_cast<size_t>(work) + 1);
  arrives_[static_cast<size_t>(work)] = true;
  return {};
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
