#pragma once
// JsonArraySplitter: cuts large JSON arrays into windows of whole elements, without loading the whole file.
// The input is one array alone, or an object with several of them. The text around the arrays is kept as
// `envelope`, with [] in place of each array. One thread.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/json/json_array_finder.h"
#include "ingest/json/json_scan.h"
#include "ingest/source/byte_source.h"

namespace nl::ingest {

/// "[" elements "]" followed by kJsonPadding bytes that may be read.
struct JsonWindow {
  std::unique_ptr<char[]> memory;
  size_t capacity = 0;
  char* text = nullptr;
  size_t size = 0;
  int64_t offset = 0;     ///< position of text[1] in the decompressed input
  size_t array = 0;       ///< which of the wanted arrays
  bool is_whole = false;  ///< the array has no other window; only then may it be empty
};

inline constexpr size_t kJsonPadding = 128;

struct JsonArrayLimits {
  size_t window_bytes = 4 << 20;
  size_t max_element_bytes = 16 << 20;
  size_t max_envelope_bytes = 8 << 20;
};

class JsonArraySplitter {
 public:
  /// `keys`: the members of the top-level object that hold arrays. They come in the order of the text; of
  /// several any may be missing, and one that comes a second time stays in the envelope. A top-level array is
  /// taken as it is.
  JsonArraySplitter(ByteSource& source, std::vector<std::string> keys, JsonArrayLimits limits = {});
  JsonArraySplitter(ByteSource& source, std::string key, JsonArrayLimits limits = {});

  /// The next window, or false when the arrays have ended and the rest is in envelope(). Reuses the window's
  /// memory.
  Result<bool> next(JsonWindow& window);
  const std::string& envelope() const { return envelope_; }

 private:
  Result<bool> read_to_array();
  Result<bool> find_in(std::string_view text);
  Result<void> read_tail(std::string_view first);
  Result<void> keep_envelope(std::string_view text);
  void make_room(JsonWindow& window, size_t size);

  struct Filling;
  Filling begin(JsonWindow& window);
  Result<void> fill(const JsonWindow& window, Filling& filling);
  void find_cut(const JsonWindow& window, Filling& filling);
  Result<void> grow(JsonWindow& window, Filling& filling);
  Result<void> leave_array(const JsonWindow& window, const Filling& filling);
  void close(JsonWindow& window, size_t cut);

  ByteSource& source_;
  std::vector<std::string> keys_;
  JsonArrayFinder finder_;
  JsonArrayLimits limits_;
  JsonScan scan_ = json_scan();
  std::string envelope_;
  std::string carried_;  ///< text that was read but not yet handed out or looked at
  int64_t offset_ = 0;   ///< position of carried_ in the input
  bool in_array_ = false;
  bool first_ = true;  ///< no window of the present array was handed out
  bool ended_ = false;
};

}  // namespace nl::ingest
