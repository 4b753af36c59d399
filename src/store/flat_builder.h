#pragma once
// The little of flatbuffers that messages of Arrow need: tables, strings, vectors and structs, written from
// the back to the front as the format demands. Positions count from the end.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nl::store {

class FlatBuilder {
 public:
  using Position = uint32_t;

  template <class T>
  void put(T value) {
    align(sizeof(T));
    push(&value, sizeof value);
  }
  Position position() const { return static_cast<Position>(back_.size()); }

  Position text(std::string_view text) {
    align_before(text.size() + 1, 4);
    push_zero(1);
    push(text.data(), text.size());
    put(static_cast<uint32_t>(text.size()));
    return position();
  }
  Position vector_of(const std::vector<Position>& items) {
    align(4);
    for (size_t i = items.size(); i-- > 0;) put_offset(items[i]);
    put(static_cast<uint32_t>(items.size()));
    return position();
  }
  /// Of structs of pairs of 64 bits.
  Position vector_of(const std::vector<std::pair<int64_t, int64_t>>& items) {
    align_before(items.size() * 16, 8);
    for (size_t i = items.size(); i-- > 0;) {
      push(&items[i].second, 8);
      push(&items[i].first, 8);
    }
    put_unaligned(static_cast<uint32_t>(items.size()));
    return position();
  }
  void put_offset(Position target) {
    align(4);
    put(static_cast<uint32_t>(position() + 4 - target));
  }

  /// A table: its fields are put one by one between begin and end, each after its number.
  class Table {
   public:
    explicit Table(FlatBuilder& builder) : builder_(builder), start_(builder.position()) {}
    template <class T>
    void field(size_t number, T value) {
      builder_.put(value);
      note(number);
    }
    void offset(size_t number, Position target) {
      builder_.put_offset(target);
      note(number);
    }
    Position end() {
      builder_.put(int32_t{0});  // where the list of fields is: filled in below
      const Position table = builder_.position();
      for (size_t i = fields_.size(); i-- > 0;)
        builder_.put(static_cast<uint16_t>(fields_[i] == 0 ? 0 : table - fields_[i]));
      builder_.put(static_cast<uint16_t>(table - start_));
      builder_.put(static_cast<uint16_t>(4 + 2 * fields_.size()));
      builder_.patch(table, static_cast<int32_t>(builder_.position() - table));
      return table;
    }

   private:
    void note(size_t number) {
      if (fields_.size() <= number) fields_.resize(number + 1, 0);
      fields_[number] = builder_.position();
    }
    FlatBuilder& builder_;
    const Position start_;
    std::vector<Position> fields_;
  };

  /// The whole buffer, with the root at its front and a length that eight divides.
  std::string finish(Position root) {
    align_before(4, 8);
    put_offset(root);
    return {back_.rbegin(), back_.rend()};
  }

 private:
  /// Zeros, so that what follows begins where its size divides the distance from the end.
  void align(size_t size) { align_before(size, size); }
  void align_before(size_t bytes, size_t size) {
    while ((back_.size() + bytes) % size != 0) back_.push_back(0);
  }
  void put_unaligned(uint32_t value) { push(&value, sizeof value); }
  void push_zero(size_t count) { back_.append(count, '\0'); }
  void push(const void* bytes, size_t size) {
    const char* const from = static_cast<const char*>(bytes);
    for (size_t i = size; i-- > 0;) back_.push_back(from[i]);
  }
  void patch(Position at, int32_t value) {
    char bytes[4];
    std::memcpy(bytes, &value, 4);
    for (size_t i = 0; i < 4; i++) back_[at - 1 - i] = bytes[i];
  }

  std::string back_;  ///< the bytes, the last one first
};

}  // namespace nl::store
