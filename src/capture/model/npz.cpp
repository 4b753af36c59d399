#include "capture/model/npz.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/decimal.h"
#include "base/files.h"

namespace nl::capture {
namespace {

constexpr int64_t kMostFileBytes = int64_t{4} << 30;
constexpr uint64_t kMostArrayBytes = uint64_t{4} << 30;
constexpr uint32_t kEndOfDirectory = 0x06054b50, kEntry = 0x02014b50, kLocal = 0x04034b50;

template <class T>
T number_at(std::string_view bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);  // little endian, as all our machines
  return value;
}

bool holds(std::string_view bytes, size_t at, uint64_t size) {
  return at <= bytes.size() && size <= bytes.size() - at;
}

Error damaged(const std::string& what) {
  return Error{ErrorCode::kBadInput, "the .npz file is damaged: " + what};
}

/// One file of the zip.
struct Entry {
  std::string name;
  uint16_t method = 0;
  uint32_t checksum = 0;  ///< CRC-32 of the plain bytes
  uint64_t packed = 0, plain = 0, header = 0;
};

/// Sizes that do not fit into 32 bits stand in an extra field, in this order.
void read_large_sizes(std::string_view extra, Entry& entry) {
  while (extra.size() >= 4) {
    const auto id = number_at<uint16_t>(extra, 0);
    const size_t size = number_at<uint16_t>(extra, 2);
    if (!holds(extra, 4, size)) return;
    std::string_view field = extra.substr(4, size);
    extra.remove_prefix(4 + size);
    if (id != 1) continue;
    for (uint64_t* value : {&entry.plain, &entry.packed, &entry.header}) {
      if (*value != 0xffffffff || field.size() < 8) continue;
      *value = number_at<uint64_t>(field, 0);
      field.remove_prefix(8);
    }
  }
}

/// By the directory at the end of the file.
Result<std::vector<Entry>> read_directory(std::string_view zip) {
  constexpr size_t kEndBytes = 22, kEntryBytes = 46;
  if (zip.size() < kEndBytes) return damaged("it is too short");
  size_t end = zip.size() - kEndBytes;
  const size_t first = end > 0xffff ? end - 0xffff : 0;
  while (number_at<uint32_t>(zip, end) != kEndOfDirectory) {
    if (end == first) return damaged("it has no directory");
    end--;
  }
  const size_t count = number_at<uint16_t>(zip, end + 10);
  size_t at = number_at<uint32_t>(zip, end + 16);
  std::vector<Entry> entries;
  for (size_t i = 0; i < count; i++) {
    if (!holds(zip, at, kEntryBytes) || number_at<uint32_t>(zip, at) != kEntry)
      return damaged("its directory");
    const size_t name = number_at<uint16_t>(zip, at + 28), extra = number_at<uint16_t>(zip, at + 30),
                 comment = number_at<uint16_t>(zip, at + 32);
    if (!holds(zip, at + kEntryBytes, name + extra + comment)) return damaged("its directory");
    Entry entry{std::string(zip.substr(at + kEntryBytes, name)),
                number_at<uint16_t>(zip, at + 10),
                number_at<uint32_t>(zip, at + 16),
                number_at<uint32_t>(zip, at + 20),
                number_at<uint32_t>(zip, at + 24),
                number_at<uint32_t>(zip, at + 42)};
    read_large_sizes(zip.substr(at + kEntryBytes + name, extra), entry);
    entries.push_back(std::move(entry));
    at += kEntryBytes + name + extra + comment;
  }
  return entries;
}

Result<std::string> inflated(std::string_view packed, uint64_t plain, const std::string& name) {
  constexpr uint64_t kMostTimesLarger = 1100;  // of deflate
  if (packed.size() > 0xffffffff || plain > 0xffffffff || plain > (packed.size() + 1) * kMostTimesLarger)
    return damaged("the size of " + name);
  std::string out(plain, '\0');
  inflate_state state;
  isal_inflate_init(&state);
  state.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(packed.data()));
  state.avail_in = static_cast<uint32_t>(packed.size());
  state.next_out = reinterpret_cast<uint8_t*>(out.data());
  state.avail_out = static_cast<uint32_t>(out.size());
  if (isal_inflate_stateless(&state) != ISAL_DECOMP_OK || state.total_out != plain)
    return damaged(name + " does not decompress");
  return out;
}

Result<std::string> unpacked(std::string_view zip, const Entry& entry) {
  constexpr size_t kLocalBytes = 30;
  if (!holds(zip, entry.header, kLocalBytes) || number_at<uint32_t>(zip, entry.header) != kLocal)
    return damaged("the place of " + entry.name);
  const uint64_t begin = entry.header + kLocalBytes + number_at<uint16_t>(zip, entry.header + 26) +
                         number_at<uint16_t>(zip, entry.header + 28);
  if (!holds(zip, begin, entry.packed)) return damaged("the place of " + entry.name);
  const std::string_view packed = zip.substr(begin, entry.packed);
  if (entry.method == 0) return std::string(packed);
  if (entry.method == 8) return inflated(packed, entry.plain, entry.name);
  return Error{ErrorCode::kUnsupported, "compressed in a way that numpy does not use: " + entry.name};
}

Result<std::string> contents(std::string_view zip, const Entry& entry) {
  NL_TRY(std::string bytes, unpacked(zip, entry));
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  if (crc32_gzip_refl(0, data, bytes.size()) != entry.checksum)
    return damaged(entry.name + " has another checksum");
  return bytes;
}

/// Several entries may name the same packed bytes, so what they unpack to has no limit by itself.
Result<void> check_sizes(const std::vector<Entry>& entries) {
  uint64_t left = kMostArrayBytes;
  for (const Entry& entry : entries) {
    const uint64_t size = std::max(entry.packed, entry.plain);
    if (size > left)
      return Error{ErrorCode::kLimit, "the arrays of the .npz file are larger than 4 GiB together"};
    left -= size;
  }
  return {};
}

/// The text behind a key of the header, which is a dictionary as Python writes it.
std::string_view header_value(std::string_view header, std::string_view key) {
  const size_t at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos) return {};
  std::string_view value = header.substr(at + key.size() + 3);
  while (value.starts_with(' ')) value.remove_prefix(1);
  return value;
}

std::string type_of(std::string_view descr) {
  constexpr struct {
    std::string_view numpy;
    const char* name;
  } kTypes[] = {{"'<f4'", "float32"}, {"'<f8'", "float64"}, {"'<f2'", "float16"}, {"'<i8'", "int64"},
                {"'<i4'", "int32"},   {"'<i2'", "int16"},   {"'|i1'", "int8"},    {"'<u8'", "uint64"},
                {"'<u4'", "uint32"},  {"'<u2'", "uint16"},  {"'|u1'", "uint8"},   {"'|b1'", "bool"}};
  for (const auto& [numpy, name] : kTypes) {
    if (descr.starts_with(numpy)) return name;
  }
  return {};
}

Result<std::vector<int64_t>> shape_of(std::string_view text, const std::string& name) {
  std::vector<int64_t> shape;
  if (!text.starts_with('(')) return damaged("the shape of " + name);
  text = text.substr(1, text.find(')') - 1);
  while (!text.empty()) {
    std::string_view size = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), size.size() + 1));
    while (size.starts_with(' ')) size.remove_prefix(1);
    if (size.empty()) continue;
    int64_t value = 0;
    if (!parse_int64(size, value) || value < 0) return damaged("the shape of " + name);
    shape.push_back(value);
  }
  return shape;
}

Result<Tensor> parse_array(const std::string& name, std::string_view npy) {
  constexpr size_t kShort = 10, kLong = 12;
  if (npy.size() < kLong || !npy.starts_with("\x93NUMPY")) return damaged(name + " is not an array");
  const bool is_short = npy[6] == 1;
  const size_t size = is_short ? number_at<uint16_t>(npy, 8) : number_at<uint32_t>(npy, 8);
  const size_t begin = is_short ? kShort : kLong;
  if (!holds(npy, begin, size)) return damaged("the header of " + name);
  const std::string_view header = npy.substr(begin, size), bytes = npy.substr(begin + size);
  Tensor tensor{name, type_of(header_value(header, "descr")), {}};
  if (tensor.type.empty()) return Error{ErrorCode::kUnsupported, "elements of an unknown type: " + name};
  if (header_value(header, "fortran_order").starts_with("True"))
    return Error{ErrorCode::kUnsupported, "an array in column-major (Fortran) order: " + name,
                 "save it after numpy.ascontiguousarray"};
  NL_TRY(tensor.shape, shape_of(header_value(header, "shape"), name));
  uint64_t expected = element_bytes(tensor.type);
  for (const int64_t n : tensor.shape) {
    if (__builtin_mul_overflow(expected, static_cast<uint64_t>(n), &expected))
      return damaged("the shape of " + name);
  }
  if (expected != bytes.size()) return damaged(name + " has another size than its shape says");
  tensor.bytes = bytes;
  return tensor;
}

}  // namespace

Result<std::vector<Tensor>> read_npz(const std::string& path) {
  NL_TRY(const std::string zip, read_small_file(path, kMostFileBytes));
  NL_TRY(const auto entries, read_directory(zip));
  NL_CHECK(check_sizes(entries));
  std::vector<Tensor> tensors;
  for (const Entry& entry : entries) {
    constexpr std::string_view kEnd = ".npy";
    if (!entry.name.ends_with(kEnd)) continue;
    NL_TRY(const std::string npy, contents(zip, entry));
    NL_TRY(Tensor tensor, parse_array(entry.name.substr(0, entry.name.size() - kEnd.size()), npy));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace nl::capture
