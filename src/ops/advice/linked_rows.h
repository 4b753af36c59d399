#pragma once
// Reading rows of the time line together with what is derived of them: launch, op and parents.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "ops/advice/explained.h"
#include "store/engine.h"

namespace nl::ops {

/// Tables with the columns that are derived: whose launch and op a row is of, and what lies around it.
inline constexpr std::string_view kLinkedKernels =
    "(SELECT * FROM kernels LEFT JOIN kernel_links USING (kernel_id))";
inline constexpr std::string_view kLinkedCopies =
    "(SELECT * FROM copies LEFT JOIN copy_links USING (copy_id))";
inline constexpr std::string_view kLinkedSpans =
    "(SELECT s.*, t.parent_id, t.depth, t.op_id FROM spans s LEFT JOIN span_tree t USING (span_id))";
inline const std::set<std::string> kLinkedTables = {"kernels",      "copies",     "spans",     "syncs",
                                                    "kernel_links", "copy_links", "span_tree", "tracks"};

/// All work of devices, as devices_of() takes it: kernels, copies, and the outermost spans of a device that
/// has no kernels for them. A device is a rank and a number, and either may be NULL.
inline constexpr std::string_view kDeviceWork = R"((
  SELECT coalesce(w.device, t.device) AS device, t.rank, w.is_copy, w.name, w.start_ns, w.dur_ns
  FROM (SELECT track_id, device, false AS is_copy, name, start_ns, dur_ns FROM kernels
        UNION ALL SELECT track_id, device, true, name, start_ns, dur_ns FROM copies
        UNION ALL
        SELECT s.track_id, NULL, false, s.name, s.start_ns, s.dur_ns
        FROM spans s LEFT JOIN span_tree USING (span_id) LEFT JOIN spans p ON p.span_id = span_tree.parent_id
        WHERE s.kind::VARCHAR = 'device' AND coalesce(s.name, '') NOT IN ('event_wait', 'event_record')
          AND p.kind::VARCHAR IS DISTINCT FROM 'device') w
  LEFT JOIN tracks t USING (track_id)))";

inline std::optional<int64_t> number_at(const store::Chunk& chunk, size_t column, size_t row) {
  return chunk.is_null(column, row) ? std::nullopt : std::optional(chunk.int64s(column)[row]);
}

inline std::string text_at(const store::Chunk& chunk, size_t column, size_t row, const char* without) {
  return chunk.is_null(column, row) ? without : std::string(chunk.text(column, row));
}

inline ExplainedFigure ns_figure(const char* name, Known<double> value, std::string text) {
  return {.name = name, .value = std::move(value), .unit = "ns", .text = std::move(text)};
}

inline Known<double> known_or(const std::optional<int64_t>& value, const char* reason) {
  if (!value) return Absent{reason};
  return static_cast<double>(*value);
}

}  // namespace nl::ops
