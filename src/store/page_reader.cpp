#include "store/page_reader.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "model/batch.h"

namespace nl::store {
namespace {

static_assert(std::endian::native == std::endian::little, "pages are read as they lie in the file");

constexpr size_t kBehindPage = 16;  // bytes that may be read behind a page, so that each number is one load

enum PhysicalType : int32_t { kInt32 = 1, kInt64 = 2, kDouble64 = 5, kByteArray = 6 };
enum PageEncoding : int32_t {
  kPlain = 0,
  kPlainDictionary = 2,
  kDelta = 5,
  kDeltaLength = 6,
  kDictionaryPlaces = 8,
  kByteStreamSplit = 9,
};

Error damaged_page(const char* what) {
  return Error{ErrorCode::kBadInput, std::string("damaged Parquet page: ") + what};
}

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Takes pieces off the front of a page. After the first piece that is not there all are empty.
class PageBytes {
 public:
  explicit PageBytes(std::string_view bytes) : rest_(bytes) {}

  bool failed() const { return failed_; }
  std::string_view rest() const { return rest_; }

  std::string_view take(size_t count) {
    if (count > rest_.size()) return fail();
    const std::string_view piece = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return piece;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::string_view next = take(1);
      if (next.empty()) return 0;
      value |= static_cast<uint64_t>(next[0] & 0x7f) << shift;
      if ((next[0] & 0x80) == 0) return value;
    }
    fail();
    return 0;
  }
  uint64_t zigzag() {
    const uint64_t value = varint();
    return (value >> 1) ^ (0 - (value & 1));
  }
  uint32_t size() {
    const std::string_view bytes = take(sizeof(uint32_t));
    return bytes.empty() ? 0 : load<uint32_t>(bytes.data());
  }
  std::string_view fail() {
    failed_ = true;
    rest_ = rest_.substr(rest_.size());
    return rest_;
  }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

/// Number n of those that are packed in so many bits each, the first in the lowest.
uint64_t packed_number(const char* bytes, size_t n, unsigned width) {
  const size_t bit = n * width;
  const unsigned shift = bit % 8;
  uint64_t value = load<uint64_t>(bytes + bit / 8) >> shift;
  if (width + shift > 64) value |= uint64_t{static_cast<unsigned char>(bytes[bit / 8 + 8])} << (64 - shift);
  return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
}

/// `count` small numbers: runs of one value and groups of eight packed ones by turns.
bool read_runs(PageBytes in, unsigned width, size_t count, std::vector<uint32_t>& out) {
  if (width > 32) return false;
  out.resize(count);
  for (size_t at = 0; at < count;) {
    const uint64_t head = in.varint();
    const uint64_t most = count - at;
    if (in.failed() || head / 2 == 0) return false;
    if ((head & 1) != 0) {
      const uint64_t groups = std::min(head / 2, most / 8 + 1);
      const size_t bytes = std::min<size_t>(groups * width, in.rest().size());
      const size_t values = std::min<size_t>(groups * 8, most);
      if (bytes * 8 < values * width) return false;
      const char* const packed = in.take(bytes).data();
      for (size_t i = 0; i < values; i++)
        out[at + i] = static_cast<uint32_t>(packed_number(packed, i, width));
      at += values;
    } else {
      const size_t values = std::min(head / 2, most);
      const std::string_view bytes = in.take((width + 7) / 8);
      if (in.failed()) return false;
      uint32_t value = 0;
      std::memcpy(&value, bytes.data(), bytes.size());
      if (uint64_t{value} >> width != 0) return false;  // a level of 2, for example
      std::fill_n(out.begin() + static_cast<ptrdiff_t>(at), values, value);
      at += values;
    }
  }
  return true;
}

/// Appends `count` numbers, each given by its distance from the one before. They wrap around.
bool read_deltas(PageBytes& in, size_t count, std::vector<int64_t>& out) {
  constexpr uint64_t kMostInBlock = 1 << 20;
  const uint64_t in_block = in.varint(), parts = in.varint(), total = in.varint();
  uint64_t value = in.zigzag();
  if (in.failed() || total != count || parts == 0 || in_block > kMostInBlock || in_block % parts != 0)
    return false;
  const size_t in_part = in_block / parts;
  if (in_part == 0 || in_part % 8 != 0) return false;
  out.reserve(out.size() + count);
  if (count > 0) out.push_back(static_cast<int64_t>(value));
  for (size_t left = count - std::min<size_t>(count, 1); left > 0;) {
    const uint64_t least = in.zigzag();
    const std::string_view widths = in.take(parts);
    for (size_t part = 0; part < widths.size() && left > 0; part++) {
      const auto width = static_cast<unsigned char>(widths[part]);
      const std::string_view packed = in.take(width <= 64 ? in_part / 8 * width : SIZE_MAX);
      const size_t values = std::min(in_part, left);
      for (size_t i = 0; i < values && !in.failed(); i++) {
        value += least + packed_number(packed.data(), i, width);
        out.push_back(static_cast<int64_t>(value));
      }
      left -= values;
    }
    if (in.failed()) return false;
  }
  return true;
}

bool read_plain(std::string_view bytes, int32_t type, size_t count, std::vector<int64_t>& out) {
  const size_t size = type == kInt32 ? sizeof(int32_t) : sizeof(int64_t);
  if (bytes.size() / size < count) return false;
  for (size_t i = 0; i < count; i++) {
    const char* const at = bytes.data() + i * size;
    out.push_back(type == kInt32 ? load<int32_t>(at) : load<int64_t>(at));
  }
  return true;
}

/// The first bytes of all numbers, then the second ones, and so on.
bool read_split(std::string_view bytes, int32_t type, size_t count, std::vector<int64_t>& out) {
  if (type != kDouble64 || bytes.size() / sizeof(int64_t) < count) return false;
  for (size_t i = 0; i < count; i++) {
    uint64_t value = 0;
    for (size_t b = 0; b < sizeof value; b++)
      value |= uint64_t{static_cast<unsigned char>(bytes[b * count + i])} << (8 * b);
    out.push_back(static_cast<int64_t>(value));
  }
  return true;
}

bool read_plain_texts(PageBytes in, size_t count, std::vector<std::string_view>& out) {
  for (size_t i = 0; i < count && !in.failed(); i++) out.push_back(in.take(in.size()));
  return !in.failed();
}

/// All lengths, then all bytes.
bool read_lengths_and_texts(PageBytes in, size_t count, std::vector<std::string_view>& out) {
  std::vector<int64_t> lengths;
  if (!read_deltas(in, count, lengths)) return false;
  for (const int64_t length : lengths)
    out.push_back(in.take(length < 0 ? SIZE_MAX : static_cast<size_t>(length)));
  return !in.failed();
}

/// Where all rows have a value, one run says so.
bool is_run_of_ones(PageBytes levels, size_t rows) {
  const uint64_t head = levels.varint();
  return (head & 1) == 0 && head / 2 >= rows && levels.take(1) == "\1";
}

/// Moves values that lie one behind the other from `first` on to the rows that have one.
template <class T>
void spread(const std::vector<uint32_t>& levels, size_t first, T null, std::vector<T>& values) {
  size_t from = values.size();
  values.resize(first + levels.size());
  for (size_t row = levels.size(); row-- > 0;) values[first + row] = levels[row] != 0 ? values[--from] : null;
}

}  // namespace

Unpacker make_unpacker() {
  return {ZSTD_createDCtx(), ZSTD_freeDCtx};
}

void PageReader::clear() {
  buffers_used_ = dictionary_texts_ = 0;
  dictionary_.clear();
  numbers_.clear();
  texts_.texts.clear();
  texts_.rows.clear();
}

void PageReader::set_null(size_t rows) {
  clear();
  numbers_.assign(rows, model::kNull);
  texts_.rows.assign(rows, ColumnTexts::kNone);
}

Result<void> PageReader::read(const ParquetColumn& column, const ParquetChunk& chunk, std::string_view bytes,
                              Unpacker& unpacker) {
  clear();
  const auto rows = static_cast<size_t>(chunk.rows);
  for (size_t read = 0; read < rows;) {
    NL_TRY(const ParquetPageHead head, read_parquet_page_head(bytes));
    bytes.remove_prefix(head.bytes);
    const auto packed = static_cast<size_t>(head.compressed);
    const auto values = static_cast<size_t>(head.values);
    if (packed > bytes.size() || !std::has_single_bit(head.encodings))
      return damaged_page("its head is wrong");
    NL_TRY(const std::string_view unpacked, unpack(head, bytes.substr(0, packed), unpacker));
    bytes.remove_prefix(packed);
    const Page page{std::countr_zero(head.encodings), values, unpacked};
    const bool is_dictionary = head.type == kDictionaryPage;
    if (!is_dictionary && (head.type != kDataPage || values == 0 || values > rows - read))
      return damaged_page("of another kind or size");
    if (!(is_dictionary ? read_dictionary(column, page) : read_values(column, page)))
      return damaged_page("its values cannot be read");
    if (!is_dictionary) read += values;
  }
  return {};
}

Result<std::string_view> PageReader::unpack(const ParquetPageHead& head, std::string_view packed,
                                            Unpacker& unpacker) {
  if (buffers_used_ == buffers_.size()) buffers_.emplace_back();
  std::vector<char>& buffer = buffers_[buffers_used_++];
  const auto size = static_cast<size_t>(head.uncompressed);
  if (buffer.size() < size + kBehindPage) buffer.resize(size + kBehindPage);
  const size_t got = ZSTD_decompressDCtx(unpacker.get(), buffer.data(), size, packed.data(), packed.size());
  if (ZSTD_isError(got) != 0 || got != size) return damaged_page("it cannot be unpacked");
  return std::string_view(buffer.data(), size);
}

bool PageReader::read_dictionary(const ParquetColumn& column, const Page& page) {
  if (page.encoding != kPlain && page.encoding != kPlainDictionary) return false;
  if (page.values > page.bytes.size() || !dictionary_.empty() || !texts_.texts.empty()) return false;
  if (column.type != kByteArray) return read_plain(page.bytes, column.type, page.values, dictionary_);
  dictionary_texts_ = page.values;
  return read_plain_texts(PageBytes(page.bytes), page.values, texts_.texts);
}

bool PageReader::read_values(const ParquetColumn& column, Page page) {
  if (!read_levels(column, page)) return false;
  return column.type == kByteArray ? read_texts(page) : read_numbers(column, page);
}

/// Afterwards the page has only the values that are there.
bool PageReader::read_levels(const ParquetColumn& column, Page& page) {
  levels_.clear();
  if (!column.optional) return true;
  PageBytes in(page.bytes);
  const std::string_view levels = in.take(in.size());
  page.bytes = in.rest();
  if (in.failed() || is_run_of_ones(PageBytes(levels), page.values)) return !in.failed();
  if (!read_runs(PageBytes(levels), 1, page.values, levels_)) return false;
  page.values = static_cast<size_t>(std::count(levels_.begin(), levels_.end(), uint32_t{1}));
  return true;
}

bool PageReader::read_numbers(const ParquetColumn& column, const Page& page) {
  const size_t first = numbers_.size();
  if (page.values > 0 && !add_numbers(column.type, page)) return false;
  if (!levels_.empty()) spread(levels_, first, model::kNull, numbers_);
  return true;
}

bool PageReader::add_numbers(int32_t type, const Page& page) {
  const size_t first = numbers_.size();
  PageBytes in(page.bytes);
  switch (page.encoding) {
    case kPlain:
      return read_plain(page.bytes, type, page.values, numbers_);
    case kDelta:
      if (!read_deltas(in, page.values, numbers_)) return false;
      for (size_t i = first; type == kInt32 && i < numbers_.size(); i++)
        numbers_[i] = static_cast<int32_t>(numbers_[i]);
      return true;
    case kByteStreamSplit:
      return read_split(page.bytes, type, page.values, numbers_);
    case kPlainDictionary:
    case kDictionaryPlaces:
      if (!read_places(page, dictionary_.size())) return false;
      for (const uint32_t place : places_) numbers_.push_back(dictionary_[place]);
      return true;
    default:
      return false;
  }
}

bool PageReader::read_texts(const Page& page) {
  const size_t first = texts_.rows.size();
  if (page.values > 0 && !add_texts(page)) return false;
  if (!levels_.empty()) spread(levels_, first, ColumnTexts::kNone, texts_.rows);
  return true;
}

/// A text that is not in the dictionary is one of its row alone.
bool PageReader::add_texts(const Page& page) {
  const auto own = static_cast<uint32_t>(texts_.texts.size());
  switch (page.encoding) {
    case kPlainDictionary:
    case kDictionaryPlaces:
      if (!read_places(page, dictionary_texts_)) return false;
      texts_.rows.insert(texts_.rows.end(), places_.begin(), places_.end());
      return true;
    case kPlain:
      if (!read_plain_texts(PageBytes(page.bytes), page.values, texts_.texts)) return false;
      break;
    case kDeltaLength:
      if (!read_lengths_and_texts(PageBytes(page.bytes), page.values, texts_.texts)) return false;
      break;
    default:
      return false;
  }
  for (auto text = own; text < texts_.texts.size(); text++) texts_.rows.push_back(text);
  return true;
}

/// Leaves no place outside of the dictionary.
bool PageReader::read_places(const Page& page, size_t dictionary) {
  PageBytes in(page.bytes);
  places_.clear();
  const std::string_view width = in.take(1);
  const bool done =
      !in.failed() && read_runs(in, static_cast<unsigned char>(width[0]), page.values, places_) &&
      std::all_of(places_.begin(), places_.end(), [&](uint32_t place) { return place < dictionary; });
  if (!done) places_.clear();
  return done;
}

}  // namespace nl::store
