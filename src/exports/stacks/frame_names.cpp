#include "exports/stacks/frame_names.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/safe_text.h"

namespace nl::exports {
namespace {

constexpr size_t kNameBlock = 1 << 18;

uint64_t hash_of_name(std::string_view name) {
  return std::hash<std::string_view>()(name);
}

}  // namespace

bool is_plain_line(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::string safe_line(std::string_view text) {
  std::string line = text_for_people(text, false);
  std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return line;
}

FrameNames::FrameNames(Limits limits) : limits_(limits) {
  number_as_is("(others)");
}

uint32_t FrameNames::number(std::string_view name) {
  if (name.empty()) return number_as_is("(no name)");
  return is_plain_line(name) ? number_as_is(name) : number_as_is(safe_line(name));
}

uint32_t FrameNames::number_as_is(std::string_view name, bool surely) {
  const uint32_t found =
      slots_.find(hash_of_name(name), [&](uint32_t number) { return names_[number] == name; });
  if (found != NumberSlots::kNone) return found;
  if (!surely && (names_.size() >= limits_.names || bytes_ + name.size() > limits_.bytes)) {
    without_room_++;
    return kOthers;
  }
  const auto number = static_cast<uint32_t>(names_.size());
  names_.push_back(keep(name));
  slots_.add(number, [&](uint32_t one) { return hash_of_name(names_[one]); });
  return number;
}

std::string_view FrameNames::keep(std::string_view name) {
  if (name.size() > left_in_block_) {
    left_in_block_ = std::max(kNameBlock, name.size());
    blocks_.push_back(std::make_unique<char[]>(left_in_block_));
    block_end_ = blocks_.back().get();
  }
  char* place = block_end_;
  std::memcpy(place, name.data(), name.size());
  block_end_ += name.size();
  left_in_block_ -= name.size();
  bytes_ += name.size();
  return {place, name.size()};
}

}  // namespace nl::exports
