#include "timeline/packed_tile.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace nl::timeline {
namespace {

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// Each value as a T; what does not fit becomes the largest T.
template <class T, class From>
void put_all(std::string& out, const std::vector<From>& column) {
  size_t at = out.size();
  out.resize(at + column.size() * sizeof(T));
  for (const From given : column) {
    T value;
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(std::min<uint64_t>(given, std::numeric_limits<T>::max()));
    } else {
      value = static_cast<T>(given);
    }
    std::memcpy(out.data() + at, &value, sizeof value);
    at += sizeof value;
  }
}

}  // namespace

std::string packed_tile(const TimelineFile& file, const TileColumns& columns, const Viewport& viewport) {
  std::vector<std::string_view> texts;
  texts.reserve(columns.names.size());
  for (const uint32_t name : columns.names) texts.push_back(file.name(name));
  return packed_tile(texts, columns, viewport);
}

std::string packed_tile(const std::vector<std::string_view>& texts, const TileColumns& columns,
                        const Viewport& viewport) {
  constexpr size_t kBytesAnItem = 3 * sizeof(double) + 3 * sizeof(uint32_t) + 2 * sizeof(uint16_t);
  std::string out;
  out.reserve(columns.items.size() * kBytesAnItem + columns.rows.size() * 8 + texts.size() * 64 + 64);
  const int64_t begin = viewport.begin_ns(0);
  for (const size_t number : {size_t{kPackedMagic}, columns.rows.size(), columns.items.size(), texts.size(),
                              size_t{viewport.exponent}, size_t{viewport.buckets}})
    put(out, static_cast<uint32_t>(number));
  put(out, static_cast<double>(begin));
  for (const int64_t start_ns : columns.start_ns) put(out, static_cast<double>(start_ns - begin));
  put_all<double>(out, columns.dur_ns);
  put_all<double>(out, columns.busy_ns);
  put_all<uint32_t>(out, columns.rows);
  put_all<uint32_t>(out, columns.ends);
  put_all<uint32_t>(out, columns.name);
  for (const ItemId item : columns.items) put(out, item.packed());
  put_all<uint32_t>(out, columns.count);
  std::string all;
  for (const std::string_view text : texts) {
    all += text;
    put(out, static_cast<uint32_t>(all.size()));
  }
  put_all<uint16_t>(out, columns.bucket);
  put_all<uint16_t>(out, columns.buckets);
  out += all;
  return out;
}

}  // namespace nl::timeline
