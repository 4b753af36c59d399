#include "ingest/json/json_array.h"

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

/// A window on its way: text, what the scan has seen of it, and where it may be cut.
struct JsonArraySplitter::Filling {
  size_t goal;  ///< how far it is filled; its memory may be larger, from a large element before
  size_t size;  ///< bytes of text
  size_t scanned = 0;
  size_t end = kNoOffset;  ///< of the bracket that closes the array
  size_t cut = kNoOffset;  ///< of the comma behind the last whole element
  bool source_ended = false;
  JsonScanState state = {};
  std::vector<std::pair<size_t, JsonScanState>> marks = {};  ///< where each piece begins
  size_t searched = 0;  ///< marks before which there is nothing to cut at
};

JsonArraySplitter::Filling JsonArraySplitter::begin(JsonWindow& window) {
  const size_t goal = std::max(limits_.window_bytes, carried_.size() + kPiece);
  make_room(window, goal);
  window.array = finder_.found();
  window.offset = offset_;
  std::memcpy(window.text + 1, carried_.data(), carried_.size());
  return Filling{.goal = goal, .size = carried_.size()};
}

/// Up to the goal, the end of the array or that of the source; each piece is scanned while it is in the
/// cache.
Result<void> JsonArraySplitter::fill(const JsonWindow& window, Filling& filling) {
  char* const text = window.text + 1;
  while (filling.end == kNoOffset && !filling.source_ended && filling.size + kPiece <= filling.goal) {
    NL_TRY(const size_t n, source_.read(text + filling.size, kPiece));
    filling.source_ended = n < kPiece;
    filling.size += n;
    if (filling.source_ended) std::memset(text + filling.size, ' ', 64);
    const size_t to = (filling.source_ended ? filling.size + 63 : filling.size) & ~size_t{63};
    filling.marks.emplace_back(filling.scanned, filling.state);
    filling.end = scan_(text, filling.scanned, to, filling.state, nullptr);
    filling.scanned = to;
  }
  if (filling.end != kNoOffset || !filling.source_ended) return {};
  return Error{ErrorCode::kBadInput,
               "the array \"" + keys_[window.array] + "\" is not closed: the text ends at byte " +
                   std::to_string(source_.text_bytes()),
               "the file is truncated: copy it again, or record it again"};
}

/// Behind the last whole element, searching backwards.
void JsonArraySplitter::find_cut(const JsonWindow& window, Filling& filling) {
  const auto& marks = filling.marks;
  for (size_t k = marks.size(); k-- > filling.searched && filling.cut == kNoOffset;) {
    auto [from, mark] = marks[k];
    const size_t to = k + 1 < marks.size() ? marks[k + 1].first : filling.scanned;
    scan_(window.text + 1, from, to, mark, &filling.cut);
  }
  filling.searched = marks.size();
}

/// For an element that is larger than the window.
Result<void> JsonArraySplitter::grow(JsonWindow& window, Filling& filling) {
  if (filling.goal >= limits_.max_element_bytes) {
    return limit_error("an element at byte " + std::to_string(window.offset) + " is larger than " +
                       std::to_string(limits_.max_element_bytes) + " bytes");
  }
  filling.goal =
      std::min(filling.goal + limits_.window_bytes, std::max(limits_.max_element_bytes, filling.goal));
  if (filling.goal > window.capacity) make_room(window, std::max(filling.goal, window.capacity * 2));
  return {};
}

/// The array ends in this window: what is behind it belongs to the envelope, or to the next array.
Result<void> JsonArraySplitter::leave_array(const JsonWindow& window, const Filling& filling) {
  const char* const text = window.text + 1;
  const size_t end = filling.end;
  if (text[end] != ']') {  // the scan does not tell brackets apart
    return Error{ErrorCode::kBadInput, "an array is closed by the wrong bracket at byte " +
                                           std::to_string(window.offset + static_cast<int64_t>(end))};
  }
  NL_CHECK(keep_envelope("[]"));
  const std::string_view behind(text + end + 1, filling.size > end ? filling.size - end - 1 : 0);
  in_array_ = false;
  ended_ = finder_.all_found();
  if (ended_) return read_tail(behind);
  carried_ = behind;
  return {};
}

/// Makes the text up to the cut an array of its own.
void JsonArraySplitter::close(JsonWindow& window, size_t cut) {
  offset_ += static_cast<int64_t>(cut) + 1;
  window.is_whole = std::exchange(first_, false) && !in_array_;
  window.text[0] = '[';
  window.text[cut + 1] = ']';
  window.size = cut + 2;
  std::memset(window.text + window.size, ' ', std::min(kJsonPadding, size_t{64}));
}

Result<bool> JsonArraySplitter::next(JsonWindow& window) {
  if (ended_) return false;
  if (!in_array_) {
    NL_TRY(const bool found, read_to_array());
    ended_ = !found;
    if (ended_) return false;
  }
  Filling filling = begin(window);
  for (;;) {
    NL_CHECK(fill(window, filling));
    if (filling.end != kNoOffset) break;
    find_cut(window, filling);
    if (filling.cut != kNoOffset) break;
    NL_CHECK(grow(window, filling));
  }
  if (filling.end != kNoOffset) {
    NL_CHECK(leave_array(window, filling));
    close(window, filling.end);
  } else {
    carried_.assign(window.text + 1 + filling.cut + 1, filling.size - filling.cut - 1);
    close(window, filling.cut);
  }
  return true;
}

}  // namespace nl::ingest
