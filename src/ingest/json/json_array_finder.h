#pragma once
// Finds the brackets that open the wanted arrays, byte by byte. A wanted array is a member of the top-level
// object, or the top-level array itself. The caller skips the arrays. One thread.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nl::ingest {

class JsonArrayFinder {
 public:
  explicit JsonArrayFinder(std::vector<std::string> keys) : keys_(std::move(keys)), taken_(keys_.size()) {
    for (const auto& key : keys_) longest_ = std::max(longest_, key.size());
  }

  /// True if c opens a wanted array, the one of found(). Each is found once.
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
        after_key_ = depth_ == 1 && is_wanted(text_);
        return false;
      case '[':
        if (depth_ == 0 || after_key_) return take();
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

  size_t found() const { return found_; }
  bool all_found() const { return left_ == 0; }

 private:
  bool is_wanted(std::string_view text) {
    for (size_t k = 0; k < keys_.size(); k++) {
      if (taken_[k] || keys_[k] != text) continue;
      found_ = k;
      return true;
    }
    return false;
  }

  bool take() {
    taken_[found_] = true;
    left_ = depth_ == 0 ? 0 : left_ - 1;
    after_key_ = false;
    text_.clear();
    return true;
  }

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
    if (text_.size() <= longest_) text_ += c;
  }

  std::vector<std::string> keys_;
  std::vector<bool> taken_;
  size_t longest_ = 0;
  size_t left_ = keys_.size();
  size_t found_ = 0;
  std::string text_;  // the last string, at most one byte longer than the longest key
  int64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool after_key_ = false;
};

}  // namespace nl::ingest
