#pragma once
// Writes protobuf messages by hand, field by field, in the shortest encoding. The caller knows the schema: a
// field is named by its number, and the function says how it lies on the wire. One writer is one buffer;
// clear() keeps its memory, so that a stream of messages allocates nothing. For one thread.

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace nl::exports {

class ProtoWriter {
 public:
  /// uint32, uint64, bool, enum; also int32 and int64, whose negative values take ten bytes.
  void varint(uint32_t field, uint64_t value) {
    tag(field, kVarint);
    append_varint(value);
  }
  void signed_varint(uint32_t field, int64_t value) { varint(field, static_cast<uint64_t>(value)); }

  /// fixed64 and sfixed64.
  void fixed64(uint32_t field, uint64_t value) {
    tag(field, kFixed64);
    append_fixed64(value);
  }
  void real(uint32_t field, double value) { fixed64(field, std::bit_cast<uint64_t>(value)); }

  /// A string must be UTF-8: it is the caller who makes it so (base/safe_text.h).
  void text(uint32_t field, std::string_view value) { bytes(field, value); }
  void bytes(uint32_t field, std::string_view value) {
    tag(field, kLength);
    append_varint(value.size());
    buffer_.append(value);
  }

  /// A nested message: `fill` writes its fields into this writer.
  template <class Fill>
  void message(uint32_t field, Fill&& fill) {
    tag(field, kLength);
    const size_t length_at = buffer_.size();
    buffer_.push_back('\0');
    fill();
    set_length(length_at);
  }

  /// Repeated varints in one field.
  template <class Number>
  void packed(uint32_t field, std::span<const Number> values) {
    message(field, [&] {
      for (const Number value : values) append_varint(static_cast<uint64_t>(value));
    });
  }

  [[nodiscard]] std::string_view view() const { return buffer_; }
  [[nodiscard]] size_t size() const { return buffer_.size(); }
  void clear() { buffer_.clear(); }
  /// Takes back what was written since the size was this.
  void cut(size_t size) { buffer_.resize(size); }

 private:
  enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2 };
  static constexpr size_t kLongestVarint = 10;

  void tag(uint32_t field, WireType type) { append_varint(uint64_t{field} << 3 | type); }

  static size_t encode(uint64_t value, char* out) {
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) out[size++] = static_cast<char>(value | 0x80);
    out[size++] = static_cast<char>(value);
    return size;
  }

  void append_varint(uint64_t value) {
    char encoded[kLongestVarint];
    buffer_.append(encoded, encode(value, encoded));
  }

  /// Little endian, whatever the machine.
  void append_fixed64(uint64_t value) {
    char encoded[8];
    for (int i = 0; i < 8; ++i) encoded[i] = static_cast<char>(value >> (8 * i));
    buffer_.append(encoded, sizeof encoded);
  }

  /// One byte is kept for the length, which most messages need; a longer one moves its body.
  void set_length(size_t length_at) {
    char encoded[kLongestVarint];
    const size_t size = encode(buffer_.size() - length_at - 1, encoded);
    buffer_[length_at] = encoded[0];
    buffer_.insert(length_at + 1, encoded + 1, size - 1);
  }

  std::string buffer_;
};

}  // namespace nl::exports
