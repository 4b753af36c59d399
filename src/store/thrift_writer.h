#pragma once
// ThriftWriter: structs in Thrift's compact protocol, which the heads of Parquet's pages and its footer are
// written in. Fields are given in ascending order. One thread.

#include <string>
#include <string_view>
#include <vector>

#include "store/parquet_encodings.h"

namespace nl::store {

class ThriftWriter {
 public:
  enum Type : uint8_t { kI32 = 5, kI64 = 6, kBinary = 8, kList = 9, kStruct = 12 };

  void i32(int id, int32_t value) { field(id, kI32), number(value); }
  void i64(int id, int64_t value) { field(id, kI64), number(value); }
  void binary(int id, std::string_view bytes) { field(id, kBinary), element(bytes); }
  /// So many elements have to follow: by element(), or as structs between begin_element() and end().
  void list(int id, Type of, size_t count) {
    field(id, kList);
    text_ += static_cast<char>((count < 15 ? count : 15) << 4 | of);
    if (count >= 15) put_varint(text_, count);
  }
  void element(std::string_view bytes) {
    put_varint(text_, bytes.size());
    text_ += bytes;
  }
  void element(int32_t value) { number(value); }
  void begin_element() { last_.push_back(0); }
  void begin(int id) {
    field(id, kStruct);
    last_.push_back(0);
  }
  /// Of the struct that was begun last.
  void end() {
    text_ += '\0';
    last_.pop_back();
  }
  /// Ends the outermost struct.
  std::string take() {
    end();
    return std::move(text_);
  }

 private:
  void field(int id, Type type) {
    const int step = id - last_.back();
    text_ += static_cast<char>((step < 16 ? step : 0) << 4 | type);
    if (step >= 16) number(id);
    last_.back() = id;
  }
  void number(int64_t value) {
    put_varint(text_, static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }

  std::string text_;
  std::vector<int> last_ = {0};  ///< number of the last field of each open struct
};

}  // namespace nl::store
