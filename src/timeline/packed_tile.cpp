#include "timeline/packed_tile.h"

#include <algorithm>
#include <unordered_map>

namespace nl::timeline {
namespace {

template <class T>
void put(std::string& out, const std::vector<T>& column) {
  out.append(reinterpret_cast<const char*>(column.data()), column.size() * sizeof(T));
}

/// Column by column, as the page reads them.
struct Columns {
  std::vector<double> starts, lengths, busy;
  std::vector<uint32_t> rows, names, items, counts, name_ends;
  std::vector<uint16_t> buckets, widths;
  std::string texts;
};

class Packing {
 public:
  Packing(const TimelineFile& file, const Viewport& viewport) : file_(file), viewport_(viewport) {}

  void add(uint32_t number) {
    const Row row = file_.row(number);
    for (const TileItem& item : tile_of(row, viewport_)) add(row, item);
    c_.rows.push_back(number);
    c_.rows.push_back(static_cast<uint32_t>(c_.items.size()));
  }

  std::string bytes() const {
    const int64_t begin = viewport_.begin_ns(0);
    std::string out;
    put(out, std::vector<uint32_t>{kPackedMagic, static_cast<uint32_t>(c_.rows.size() / 2),
                                   static_cast<uint32_t>(c_.items.size()),
                                   static_cast<uint32_t>(c_.name_ends.size()), viewport_.exponent,
                                   viewport_.buckets});
    put(out, std::vector<double>{static_cast<double>(begin)});
    put(out, std::vector<int64_t>{begin});
    for (const auto* column : {&c_.starts, &c_.lengths, &c_.busy}) put(out, *column);
    for (const auto* column : {&c_.rows, &c_.names, &c_.items, &c_.counts, &c_.name_ends}) put(out, *column);
    put(out, c_.buckets);
    put(out, c_.widths);
    return out + c_.texts;
  }

 private:
  void add(const Row& row, const TileItem& item) {
    const Span span = row.span(item.place);
    c_.starts.push_back(static_cast<double>(span.start_ns - viewport_.begin_ns(0)));
    c_.lengths.push_back(static_cast<double>(span.dur_ns));
    c_.busy.push_back(static_cast<double>(item.busy_ns));
    c_.names.push_back(number_of(span.name));
    c_.items.push_back(span.item.packed());
    c_.counts.push_back(static_cast<uint32_t>(std::min<uint64_t>(item.count, UINT32_MAX)));
    c_.buckets.push_back(static_cast<uint16_t>(item.bucket));
    c_.widths.push_back(static_cast<uint16_t>(item.buckets));
  }

  uint32_t number_of(uint32_t name) {
    const auto [it, is_new] = numbers_.emplace(name, static_cast<uint32_t>(numbers_.size()));
    if (is_new) {
      c_.texts += file_.name(name);
      c_.name_ends.push_back(static_cast<uint32_t>(c_.texts.size()));
    }
    return it->second;
  }

  const TimelineFile& file_;
  const Viewport& viewport_;
  Columns c_;
  std::unordered_map<uint32_t, uint32_t> numbers_;
};

}  // namespace

std::string packed_tile(const TimelineFile& file, const std::vector<uint32_t>& rows,
                        const Viewport& viewport) {
  Packing packing(file, viewport);
  for (const uint32_t row : rows) packing.add(row);
  return packing.bytes();
}

}  // namespace nl::timeline
