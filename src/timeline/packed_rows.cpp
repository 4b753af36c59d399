#include "timeline/packed_rows.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace nl::timeline {
namespace {

/// Classes of lengths, each at most 1/128 wider than its least.
class LengthClass {
  static constexpr size_t kBits = 7;

 public:
  static constexpr size_t kClasses = 64 << kBits;

  static size_t of(int64_t ns) {
    const auto length = static_cast<uint64_t>(std::max<int64_t>(0, ns));
    const int more = std::max(0, static_cast<int>(std::bit_width(length)) - static_cast<int>(kBits) - 1);
    return (static_cast<size_t>(more) << kBits) + static_cast<size_t>(length >> more);
  }
  /// All of the class are shorter.
  static int64_t end_ns(size_t number) {
    const size_t more = number < (2U << kBits) ? 0 : (number >> kBits) - 1;
    return static_cast<int64_t>((number - (more << kBits) + 1) << more);
  }
};

/// Which spans there is room for: those of longer classes, and the first ones of the class at the edge.
class Room {
 public:
  Room(const TimelineFile& file, uint64_t most_spans) {
    std::vector<uint64_t> spans(LengthClass::kClasses);
    for (size_t number = 0; number < file.rows(); number++) {
      const Row row = file.row(number);
      for (uint32_t i = 0; i < row.size(); i++) spans[LengthClass::of(row.dur_ns(i))]++;
    }
    left_ = most_spans;
    edge_ = spans.size();
    while (edge_ > 0 && left_ >= spans[edge_ - 1]) left_ -= spans[--edge_];
  }

  bool takes(int64_t dur_ns) {
    const size_t number = LengthClass::of(dur_ns) + 1;
    if (number != edge_ || left_ == 0) return number > edge_;
    left_--;
    return true;
  }

  bool is_full() const { return edge_ > 0; }
  int64_t end_ns() const { return LengthClass::end_ns(edge_ - 1); }

 private:
  size_t edge_;    ///< the class before it is taken in part
  uint64_t left_;  ///< so many of it
};

void put(std::string& out, uint64_t number) {
  for (; number >= 128; number >>= 7) out.push_back(static_cast<char>((number & 127) | 128));
  out.push_back(static_cast<char>(number));
}

void put_time(std::string& out, int64_t ns) {
  put(out, static_cast<uint64_t>(std::max<int64_t>(0, ns)));
}

void put_signed(std::string& out, int64_t number) {
  put(out, number < 0 ? static_cast<uint64_t>(-(number + 1)) * 2 + 1 : static_cast<uint64_t>(number) * 2);
}

struct Kept {
  uint32_t row;
  uint32_t place;
};

/// The names that are used, by their number in the file: their number here, which keeps the order.
std::vector<uint32_t> numbers_of(const TimelineFile& file, const std::vector<Kept>& kept) {
  std::vector<uint32_t> numbers(file.names());
  for (const Kept& one : kept) numbers[file.row(one.row).name_of(one.place)] = 1;
  uint32_t count = 0;
  for (uint32_t& number : numbers) number = number == 0 ? kFar : count++;
  return numbers;
}

void put_names(std::string& out, const TimelineFile& file, const std::vector<uint32_t>& numbers) {
  std::string texts, sizes;
  uint64_t count = 0;
  for (size_t i = 0; i < numbers.size(); i++) {
    if (numbers[i] == kFar) continue;
    const std::string_view text = file.name(i);
    put(sizes, text.size());
    texts += text;
    count++;
  }
  put(out, count);
  out += sizes + texts;
}

void put_columns(std::string& out, const TimelineFile& file, const std::vector<Kept>& kept,
                 const std::vector<uint32_t>& numbers) {
  std::string lengths, names, items;
  int64_t end_ns = 0, item = 0;
  for (size_t i = 0; i < kept.size(); i++) {
    const Span span = file.row(kept[i].row).span(kept[i].place);
    if (i == 0 || kept[i].row != kept[i - 1].row) end_ns = item = 0;
    put_time(out, span.start_ns - end_ns);
    put_time(lengths, span.dur_ns);
    put(names, numbers[span.name]);
    put_signed(items, int64_t{span.item.packed()} - item);
    end_ns = span.end_ns();
    item = span.item.packed();
  }
  out += lengths + names + items;
}

}  // namespace

PackedRows packed_rows(const TimelineFile& file, uint64_t most_spans) {
  Room room(file, most_spans);
  std::vector<Kept> kept;
  kept.reserve(std::min<uint64_t>(most_spans, file.spans()));
  std::string counts;
  put(counts, file.rows());
  for (uint32_t number = 0; number < file.rows(); number++) {
    const Row row = file.row(number);
    const size_t before = kept.size();
    for (uint32_t i = 0; i < row.size(); i++) {
      if (room.takes(row.dur_ns(i))) kept.push_back({number, i});
    }
    put(counts, kept.size() - before);
  }
  const std::vector<uint32_t> numbers = numbers_of(file, kept);
  PackedRows out;
  for (uint32_t i = 0; i < 4; i++) out.bytes.push_back(static_cast<char>(kRowsMagic >> (8 * i)));
  put_names(out.bytes, file, numbers);
  out.bytes += counts;
  put_columns(out.bytes, file, kept, numbers);
  if (room.is_full()) {
    out.left_out = file.spans() - kept.size();
    out.shorter_than_ns = room.end_ns();
  }
  return out;
}

}  // namespace nl::timeline
