#include "store/parquet_encodings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

namespace nl::store {
namespace {

/// Appends numbers of `width` bits, the lowest bits first; the last byte is filled up with zeros.
template <class Word>
void put_packed(std::string& out, const Word* values, size_t count, int width) {
  const size_t begin = out.size();
  const size_t bytes = (count * static_cast<size_t>(width) + 7) / 8;
  out.resize(begin + bytes + sizeof(uint64_t));
  char* to = out.data() + begin;
  uint64_t word = 0;
  int used = 0;
  for (size_t i = 0; i < count; i++) {
    const uint64_t value = values[i];
    word |= value << used;
    used += width;
    if (used < 64) continue;
    std::memcpy(to, &word, sizeof word);
    to += sizeof word;
    used -= 64;
    word = used == 0 ? 0 : value >> (width - used);
  }
  std::memcpy(to, &word, sizeof word);
  out.resize(begin + bytes);
}

/// Whole groups of 8; what is missing in the last one is 0.
void put_groups(std::string& out, const uint32_t* values, size_t count, int width) {
  if (count == 0) return;
  const size_t groups = (count + 7) / 8;
  put_varint(out, groups << 1 | 1);
  const size_t whole = count / 8 * 8;
  put_packed(out, values, whole, width);
  if (whole == count) return;
  std::array<uint32_t, 8> last{};
  std::copy(values + whole, values + count, last.begin());
  put_packed(out, last.data(), last.size(), width);
}

uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}

constexpr size_t kMini = 32;  // values with one width
constexpr size_t kMinis = 4;  // of a block
constexpr size_t kBlock = kMini * kMinis;

/// The last block may be shorter; its miniblocks are whole.
template <class Signed>
void put_delta_block(std::string& out, std::make_unsigned_t<Signed>* deltas, size_t count) {
  using Unsigned = std::make_unsigned_t<Signed>;
  Signed least = static_cast<Signed>(deltas[0]);
  for (size_t i = 1; i < count; i++) least = std::min(least, static_cast<Signed>(deltas[i]));
  for (size_t i = 0; i < count; i++) deltas[i] -= static_cast<Unsigned>(least);
  std::fill(deltas + count, deltas + kBlock, Unsigned{0});
  put_varint(out, zigzag(least));
  std::array<int, kMinis> widths{};
  for (size_t m = 0; m < kMinis; m++) {
    Unsigned all = 0;
    for (size_t i = 0; i < kMini; i++) all |= deltas[m * kMini + i];
    widths[m] = bits_of(all);
    out += static_cast<char>(widths[m]);
  }
  for (size_t m = 0; m < kMinis && m * kMini < count; m++)
    put_packed(out, deltas + m * kMini, kMini, widths[m]);
}

template <class Signed>
void put_all_deltas(std::string& out, const Signed* values, size_t count) {
  using Unsigned = std::make_unsigned_t<Signed>;
  put_varint(out, kBlock);
  put_varint(out, kMinis);
  put_varint(out, count);
  put_varint(out, zigzag(count == 0 ? 0 : values[0]));
  std::array<Unsigned, kBlock> deltas;
  for (size_t at = 1; at < count; at += kBlock) {
    const size_t here = std::min(kBlock, count - at);
    for (size_t i = 0; i < here; i++)
      deltas[i] = static_cast<Unsigned>(values[at + i]) - static_cast<Unsigned>(values[at + i - 1]);
    put_delta_block<Signed>(out, deltas.data(), here);
  }
}

}  // namespace

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

int bits_of(uint64_t most) {
  return static_cast<int>(std::bit_width(most));
}

void put_run(std::string& out, uint32_t value, size_t count, int width) {
  put_varint(out, count << 1);
  for (int bit = 0; bit < width; bit += 8) out += static_cast<char>(value >> bit);
}

/// A run begins only where a whole group ends, so the values before it are filled up from the run.
void put_runs(std::string& out, const uint32_t* values, size_t count, int width) {
  constexpr size_t kLeastRun = 16;
  size_t packed = 0;  // where the values that are to be packed begin
  for (size_t at = 0; at < count;) {
    size_t end = at + 1;
    while (end < count && values[end] == values[at]) end++;
    const size_t fill = (8 - (at - packed) % 8) % 8;
    if (end - at >= fill + kLeastRun) {
      at += fill;
      put_groups(out, values + packed, at - packed, width);
      put_run(out, values[at], end - at, width);
      packed = end;
    }
    at = end;
  }
  put_groups(out, values + packed, count - packed, width);
}

void put_bits(std::string& out, const uint64_t* words, size_t count) {
  const size_t groups = (count + 7) / 8;
  put_varint(out, groups << 1 | 1);
  out.append(reinterpret_cast<const char*>(words), groups);
}

void put_deltas(std::string& out, const int32_t* values, size_t count) {
  put_all_deltas(out, values, count);
}

void put_deltas(std::string& out, const int64_t* values, size_t count) {
  put_all_deltas(out, values, count);
}

void put_split_bytes(std::string& out, const int64_t* values, size_t count) {
  const size_t begin = out.size();
  out.resize(begin + count * sizeof(int64_t));
  for (size_t byte = 0; byte < sizeof(int64_t); byte++) {
    char* const to = out.data() + begin + byte * count;
    for (size_t i = 0; i < count; i++)
      to[i] = static_cast<char>(static_cast<uint64_t>(values[i]) >> (8 * byte));
  }
}

}  // namespace nl::store
