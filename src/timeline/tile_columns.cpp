#include "timeline/tile_columns.h"

namespace nl::timeline {

void TileColumns::reserve(size_t count_of_items) {
  const auto make_room = [&](auto&... columns) { (columns.reserve(count_of_items), ...); };
  make_room(bucket, buckets, count, busy_ns, items, start_ns, dur_ns, name);
}

TileColumns tile_columns(const TimelineFile& file, const std::vector<uint32_t>& rows,
                         const Viewport& viewport) {
  TileColumns out;
  constexpr size_t kAhead = 16;
  std::vector<uint32_t> numbers(file.names() + 1, kFar);  // name of the file -> name of the tile
  const auto number_of = [&](uint32_t name) {
    uint32_t& number = numbers[name];
    if (number == kFar) {
      number = static_cast<uint32_t>(out.names.size());
      out.names.push_back(name);
    }
    return number;
  };
  std::vector<std::vector<TileItem>> of_rows;
  of_rows.reserve(rows.size());
  size_t all = 0;
  for (const uint32_t number : rows) all += of_rows.emplace_back(tile_of(file.row(number), viewport)).size();
  out.reserve(all);
  for (size_t r = 0; r < rows.size(); r++) {
    const Row row = file.row(rows[r]);
    const std::vector<TileItem>& items = of_rows[r];
    for (size_t i = 0; i < items.size(); i++) {
      if (i + kAhead < items.size()) row.prefetch_span(items[i + kAhead].place);
      const TileItem& item = items[i];
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
    out.rows.push_back(rows[r]);
    out.ends.push_back(static_cast<uint32_t>(out.items.size()));
  }
  return out;
}

}  // namespace nl::timeline
