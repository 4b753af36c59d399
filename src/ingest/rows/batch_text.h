#pragma once
// BatchText: stores the JSON tokens of one window as strings of a batch, each only once. One thread.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ingest/json/json_cursor.h"
#include "ingest/rows/interner.h"
#include "model/batch.h"

namespace nl::ingest {

class BatchText {
 public:
  /// Tokens of the window, whose strings go to the batch. Both must outlive the use until the next call.
  Result<JsonCursor> begin(const JsonWindow& window, model::Batch& batch) {
    strings_.clear();
    batch_ = &batch;
    return index_.index(window);
  }

  /// What a string or another scalar says; kNull if the token is neither.
  int64_t scalar(std::string_view token);
  /// Valid JSON as it stands; told from a string by its first character.
  int64_t json(std::string_view raw);
  /// A string under a key of the caller's, which must be no JSON text.
  template <class Make>
  int64_t keyed(std::string_view key, Make make) {
    return strings_.get(key, make);
  }

 private:
  JsonIndex index_;
  Interner strings_;
  model::Batch* batch_ = nullptr;
};

/// One JSON object written into a batch's arena, member by member. Checks what the cursor left unchecked.
class ObjectText {
 public:
  /// `max_size`: sum of size_of() over all members.
  ObjectText(model::Batch& batch, size_t max_size)
      : batch_(batch), size_(max_size + 24), begin_(batch.arena.reserve(size_)), end_(begin_) {
    put("{");
  }

  static size_t size_of(const JsonMember& member) { return member.key.size() + member.raw.size() + 8; }
  /// False if key or value is not JSON. `health` counts numbers such as inf, which are kept as text.
  bool add(const JsonMember& member, std::map<std::string, int64_t>& health);
  /// Members from here on belong to an object under this key.
  void open(std::string_view key) {
    put_key(key);
    put("{");
  }
  void close() { put("}"); }
  /// Ends the object; a string of the batch.
  int64_t finish();

 private:
  void put(std::string_view text) {
    std::memcpy(end_, text.data(), text.size());
    end_ += text.size();
  }
  void put_key(std::string_view key) {
    put(end_[-1] == '{' ? "\"" : ",\"");
    put(key);
    put("\":");
  }

  model::Batch& batch_;
  size_t size_;
  char* begin_;
  char* end_;
};

}  // namespace nl::ingest
