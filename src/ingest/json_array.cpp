#include "ingest/json_array.h"

#include <algorithm>
#include <cstring>

namespace nl::ingest {
namespace {

constexpr size_t kPiece = 64 << 10;

/// Finds, byte by byte, the bracket that opens the wanted array.
class ArrayFinder {
 public:
  explicit ArrayFinder(std::string_view key) : key_(key) {}

  /// True if c opens the array.
  bool feed(char c) {
    if (in_string_) {
      feed_string(c);
      return false;
    }
    switch (c) {
      case ' ':
      case '\t':
      case '\n':
      case '\r':
        return false;
      case '"':
        in_string_ = true;
        text_.clear();
        return false;
      case ':':
        after_key_ = depth_ == 1 && text_ == key_;
        return false;
      case '[':
        if (depth_ == 0 || after_key_) return true;
        [[fallthrough]];
      case '{':
        depth_++;
        break;
      case ']':
      case '}':
        depth_--;
        break;
      default:
        break;
    }
    after_key_ = false;
    text_.clear();
    return false;
  }

 private:
  void feed_string(char c) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      after_key_ = false;
      return;
    }
    if (text_.size() <= key_.size()) text_ += c;
  }

  std::string_view key_;
  std::string text_;  // the last string at most one byte longer than the key
  int64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool after_key_ = false;
};

Error limit_error(std::string message) {
  return Error{ErrorCode::kLimit, std::move(message), ""};
}

}  // namespace

JsonArraySplitter::JsonArraySplitter(ByteSource& source, std::string key, JsonArrayLimits limits)
    : source_(source), key_(std::move(key)), limits_(limits) {}

Result<void> JsonArraySplitter::keep_envelope(std::string_view text) {
  if (envelope_.size() + text.size() > limits_.max_envelope_bytes) {
    return limit_error("the text around \"" + key_ + "\" is larger than " +
                       std::to_string(limits_.max_envelope_bytes) + " bytes");
  }
  envelope_ += text;
  return {};
}

Result<void> JsonArraySplitter::read_to_array() {
  ArrayFinder finder(key_);
  std::string piece(kPiece, '\0');
  for (;;) {
    NL_TRY(const size_t n, source_.read(piece.data(), piece.size()));
    if (n == 0) {
      return Error{ErrorCode::kBadInput, "the JSON has no array \"" + key_ + "\"",
                   "the file is truncated or of another format"};
    }
    const std::string_view text(piece.data(), n);
    for (size_t i = 0; i < n; i++) {
      if (!finder.feed(text[i])) continue;
      NL_CHECK(keep_envelope(text.substr(0, i)));
      carried_ = text.substr(i + 1);
      offset_ += static_cast<int64_t>(i + 1);
      in_array_ = true;
      return {};
    }
    NL_CHECK(keep_envelope(text));
    offset_ += static_cast<int64_t>(n);
  }
}

Result<void> JsonArraySplitter::read_tail(std::string_view first) {
  NL_CHECK(keep_envelope("[]"));
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
  if (!in_array_) NL_CHECK(read_to_array());

  make_room(window, std::max(limits_.window_bytes, carried_.size() + kPiece));
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
  while (end == kNoOffset && cut == kNoOffset) {
    // Fill the window piece by piece; each piece is scanned while it is in the cache.
    while (end == kNoOffset && !source_ended && size + kPiece <= window.capacity) {
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
                   "the array \"" + key_ + "\" is not closed: the text ends at byte " +
                       std::to_string(source_.text_bytes()),
                   "the file is truncated: copy it again, or record it again"};
    }
    // No end in sight: cut behind the last whole element, searching backwards.
    for (size_t k = marks.size(); k-- > 0 && cut == kNoOffset;) {
      auto [from, mark] = marks[k];
      scan_(text, from, k + 1 < marks.size() ? marks[k + 1].first : scanned, mark, &cut);
    }
    if (cut == kNoOffset) {
      if (window.capacity >= limits_.max_element_bytes) {
        return limit_error("an element at byte " + std::to_string(window.offset) + " is larger than " +
                           std::to_string(limits_.max_element_bytes) + " bytes");
      }
      make_room(window, window.capacity * 2);
      text = window.text + 1;
    }
  }

  if (end != kNoOffset) {
    ended_ = true;
    NL_CHECK(read_tail(std::string_view(text + end + 1, size > end ? size - end - 1 : 0)));
    cut = end;
  } else {
    carried_.assign(text + cut + 1, size - cut - 1);
    offset_ += static_cast<int64_t>(cut) + 1;
  }
  window.is_whole = first_ && ended_;
  first_ = false;
  window.text[0] = '[';
  text[cut] = ']';
  window.size = cut + 2;
  std::memset(window.text + window.size, ' ', std::min(kJsonPadding, size_t{64}));
  return true;
}

}  // namespace nl::ingest
