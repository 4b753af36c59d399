#pragma once
// FrameNames: the distinct names of frames, numbered in the order in which they come. Their memory has a
// limit: a name that has no room gets the number of "(others)". Names are made safe for any reader: UTF-8
// without control characters. For one thread.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exports/stacks/number_slots.h"

namespace nl::exports {

class FrameNames {
 public:
  static constexpr uint32_t kOthers = 0;
  struct Limits {
    size_t names = 1'000'000;
    size_t bytes = 48 << 20;
  };

  FrameNames() : FrameNames(Limits()) {}
  explicit FrameNames(Limits limits);

  /// The same text has the same number. An empty one is "(no name)".
  uint32_t number(std::string_view name);
  /// Of a text that is safe already; `surely`: even if there is no room.
  uint32_t number_as_is(std::string_view name, bool surely = false);
  std::string_view operator[](uint32_t number) const { return names_[number]; }
  size_t size() const { return names_.size(); }
  /// How often a name had no room.
  int64_t without_room() const { return without_room_; }

 private:
  std::string_view keep(std::string_view name);

  const Limits limits_;
  std::vector<std::string_view> names_;
  NumberSlots slots_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* block_end_ = nullptr;
  size_t left_in_block_ = 0;
  size_t bytes_ = 0;
  int64_t without_room_ = 0;
};

/// UTF-8 on one line, without control characters and signs that turn the direction of text.
std::string safe_line(std::string_view text);
/// Is it so already? Asked for every row, so it only looks for printable ASCII.
bool is_plain_line(std::string_view text);

}  // namespace nl::exports
