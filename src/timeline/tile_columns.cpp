#include "timeline/tile_columns.h"

#include <unordered_map>

namespace nl::timeline {

TileColumns tile_columns(const TimelineFile& file, const std::vector<uint32_t>& rows,
                         const Viewport& viewport) {
  TileColumns out;
  std::unordered_map<uint32_t, uint32_t> numbers;
  const auto number_of = [&](uint32_t name) {
    const auto [it, is_new] = numbers.emplace(name, static_cast<uint32_t>(numbers.size()));
    if (is_new) out.names.push_back(name);
    return it->second;
  };
  for (const uint32_t number : rows) {
    const Row row = file.row(number);
    for (const TileItem& item : tile_of(row, viewport)) {
      const Span span = row.span(item.place);
      out.bucket.push_back(item.bucket);
      out.buckets.push_back(item.buckets);
      out.count.push_back(item.count);
      out.busy_ns.push_back(item.busy_ns);
      out.items.push_back(span.item);
      out.start_ns.push_back(span.start_ns);
      out.dur_ns.push_back(span.dur_ns);
      out.name.push_back(number_of(span.name));
    }
    out.rows.push_back(number);
    out.ends.push_back(static_cast<uint32_t>(out.items.size()));
  }
  return out;
}

}  // namespace nl::timeline
