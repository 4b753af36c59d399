#include "ingest/json_array.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace nl::ingest {
namespace {

constexpr size_t kPiece = 64 << 10;

Error limit_error(std::string message) {
  return Error{ErrorCode::kLimit, std::move(message), ""};
}

}  // namespace

JsonArraySplitter::JsonArraySplitter(ByteSource& source, std::vector<std::string> keys,
                                     JsonArrayLimits limits)
    : source_(source), keys_(std::move(keys)), finder_(keys_), limits_(limits) {}

JsonArraySplitter::JsonArraySplitter(ByteSource& source, std::string key, JsonArrayLimits limits)
    : JsonArraySplitter(source, std::vector<std::string>{std::move(key)}, limits) {}

Result<void> JsonArraySplitter::keep_envelope(std::string_view text) {
  if (envelope_.size() + text.size() > limits_.max_envelope_bytes) {
    return limit_error("the text around \"" + keys_[finder_.found()] + "\" is larger than " +
                       std::to_string(limits_.max_envelope_bytes) + " bytes");
  }
  envelope_ += text;
  return {};
}

/// Looks for an array in text that is not part of one.
Result<bool> JsonArraySplitter::find_in(std::string_view text) {
  for (size_t i = 0; i < text.size(); i++) {
    if (!finder_.feed(text[i])) continue;
    NL_CHECK(keep_envelope(text.substr(0, i)));
    carried_ = text.substr(i + 1);
    offset_ += static_cast<int64_t>(i + 1);
    in_array_ = true;
    return true;
  }
  offset_ += static_cast<int64_t>(text.size());
  NL_CHECK(keep_envelope(text));
  return false;
}

/// False if the text has ended; that a single array is not there is an error.
Result<bool> JsonArraySplitter::read_to_array() {
  const bool another = !first_;
  first_ = true;
  NL_TRY(bool found, find_in(std::exchange(carried_, {})));
  std::string piece(kPiece, '\0');
  while (!found) {
    NL_TRY(const size_t n, source_.read(piece.data(), piece.size()));
    if (n == 0 && (another || keys_.size() > 1)) return false;
    if (n == 0) {
      return Error{ErrorCode::kBadInput, "the JSON has no array \"" + keys_[0] + "\"",
                   "the file is truncated or of another format"};
    }
    NL_TRY(found, find_in(std::string_view(piece.data(), n)));
  }
  return true;
}

Result<void> JsonArraySplitter::read_tail(std::string_view first) {
  NL_CHECK(keep_envelope(first));
  std::string piece(kPiece, '\0');
  for (;;) {
    NL_TRY(const size_t n, source_.read(piece.data(), piece.size()));
    if (n == 0) return {};
    NL_CHECK(keep_envelope(std::string_view(piece.data(), n)));
  }
}

void JsonArraySplitter::make_room(JsonWindow& window, size_t size) {
  if (window.capacity >= size) return;
  auto memory = std::make_unique_for_overwrite<char[]>(size + kJsonPadding + 64);
  if (window.memory) std::memcpy(memory.get(), window.memory.get(), window.capacity + 64);
  window.memory = std::move(memory);
  window.capacity = size;
  window.text = window.memory.get() + 63;  // text[1] is aligned to 64
}

Result<bool> JsonArraySplitter::next(JsonWindow& window) {
  if (ended_) return false;
  if (!in_array_) {
    NL_TRY(const bool found, read_to_array());
    ended_ = !found;
    if (ended_) return false;
  }
  window.array = finder_.found();

  // How far the window is filled; its memory may be larger, from a large element before.
  size_t goal = std::max(limits_.window_bytes, carried_.size() + kPiece);
  make_room(window, goal);
  window.offset = offset_;
  char* text = window.text + 1;
  std::memcpy(text, carried_.data(), carried_.size());
  size_t size = carried_.size();
  size_t scanned = 0;
  size_t end = kNoOffset;
  size_t cut = kNoOffset;
  bool source_ended = false;
  JsonScanState state;
  std::vector<std::pair<size_t, JsonScanState>> marks;
  size_t searched = 0;  // marks before which there is nothing to cut at
  while (end == kNoOffset && cut == kNoOffset) {
    // Fill the window piece by piece; each piece is scanned while it is in the cache.
    while (end == kNoOffset && !source_ended && size + kPiece <= goal) {
      NL_TRY(const size_t n, source_.read(text + size, kPiece));
      source_ended = n < kPiece;
      size += n;
      if (source_ended) std::memset(text + size, ' ', 64);
      const size_t to = source_ended ? (size + 63) & ~size_t{63} : size & ~size_t{63};
      marks.emplace_back(scanned, state);
      end = scan_(text, scanned, to, state, nullptr);
      scanned = to;
    }
    if (end != kNoOffset) break;
    if (source_ended) {
      return Error{ErrorCode::kBadInput,
                   "the array \"" + keys_[window.array] + "\" is not closed: the text ends at byte " +
                       std::to_string(source_.text_bytes()),
                   "the file is truncated: copy it again, or record it again"};
    }
    // No end in sight: cut behind the last whole element, searching backwards.
    for (size_t k = marks.size(); k-- > searched && cut == kNoOffset;) {
      auto [from, mark] = marks[k];
      scan_(text, from, k + 1 < marks.size() ? marks[k + 1].first : scanned, mark, &cut);
    }
    searched = marks.size();
    if (cut == kNoOffset) {
      if (goal >= limits_.max_element_bytes) {
        return limit_error("an element at byte " + std::to_string(window.offset) + " is larger than " +
                           std::to_string(limits_.max_element_bytes) + " bytes");
      }
      goal = std::min(goal + limits_.window_bytes, std::max(limits_.max_element_bytes, goal));
      if (goal > window.capacity) make_room(window, std::max(goal, window.capacity * 2));
      text = window.text + 1;
    }
  }

  if (end != kNoOffset) {
    if (text[end] != ']') {  // the scan does not tell brackets apart
      return Error{ErrorCode::kBadInput, "an array is closed by the wrong bracket at byte " +
                                             std::to_string(window.offset + static_cast<int64_t>(end))};
    }
    NL_CHECK(keep_envelope("[]"));
    const std::string_view behind(text + end + 1, size > end ? size - end - 1 : 0);
    in_array_ = false;
    ended_ = finder_.all_found();
    if (ended_) NL_CHECK(read_tail(behind));
    if (!ended_) carried_ = behind;
    cut = end;
  } else {
    carried_.assign(text + cut + 1, size - cut - 1);
  }
  offset_ += static_cast<int64_t>(cut) + 1;
  window.is_whole = first_ && end != kNoOffset;
  first_ = false;
  window.text[0] = '[';
  text[cut] = ']';
  window.size = cut + 2;
  std::memset(window.text + window.size, ' ', std::min(kJsonPadding, size_t{64}));
  return true;
}

}  // namespace nl::ingest
