#include "exports/timeline/json_annotations.h"

#include <charconv>
#include <string>

#include "exports/safe_utf8.h"

namespace nl::exports {
namespace {

// Fields of DebugAnnotation.
constexpr uint32_t kBoolValue = 2, kIntValue = 4, kDoubleValue = 5, kStringValue = 6, kName = 10,
                   kDictEntries = 11, kArrayValues = 12;
constexpr int kMaxDepth = 64;

void append_utf8(std::string& out, uint32_t point) {
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | point >> 6);
    out += static_cast<char>(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | point >> 12);
    out += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (point & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | point >> 18);
    out += static_cast<char>(0x80 | (point >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (point & 0x3F));
  }
}

/// Walks the text once and writes what it meets.
class JsonToAnnotations {
 public:
  JsonToAnnotations(ProtoWriter& out, std::string_view json) : out_(out), json_(json) {}

  bool members(uint32_t field, const std::function<void(std::string_view)>& write_name) {
    return object([&](const std::string& key) {
             bool fine = true;
             out_.message(field, [&] {
               write_name(key);
               fine = value();
             });
             return fine;
           }) &&
           at_end();
  }

 private:
  template <class Member>
  bool object(Member&& member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string key;
      if (!string(key) || !take(':') || !member(key)) return false;
    } while (take(','));
    return take('}');
  }

  bool value() {
    if (depth_ == kMaxDepth) return false;
    depth_++;
    const bool fine = any_value();
    depth_--;
    return fine;
  }

  bool any_value() {
    switch (peek()) {
      case '{':
        return dict();
      case '[':
        return array();
      case '"': {
        std::string text, scratch;
        if (!string(text)) return false;
        out_.text(kStringValue, safe_utf8(text, scratch));
        return true;
      }
      default:
        return word();
    }
  }

  /// An annotation without a value is dropped by readers, so that what is empty becomes text.
  bool dict() {
    const size_t before = out_.size();
    const bool fine = object([&](const std::string& key) {
      bool inner = true;
      out_.message(kDictEntries, [&] {
        std::string scratch;
        out_.text(kName, safe_utf8(key, scratch));
        inner = value();
      });
      return inner;
    });
    if (fine && out_.size() == before) out_.text(kStringValue, "{}");
    return fine;
  }

  bool array() {
    if (!take('[')) return false;
    if (take(']')) {
      out_.text(kStringValue, "[]");
      return true;
    }
    do {
      bool inner = true;
      out_.message(kArrayValues, [&] { inner = value(); });
      if (!inner) return false;
    } while (take(','));
    return take(']');
  }

  /// A number, true, false or null. A number that fits no type stays text, digit by digit.
  bool word() {
    const size_t end = std::min(json_.find_first_of(",]} \t\r\n", at_), json_.size());
    const std::string_view text = json_.substr(at_, end - at_);
    at_ = end;
    if (text.empty()) return false;
    if (text == "true" || text == "false") {
      out_.varint(kBoolValue, text == "true" ? 1 : 0);
    } else if (text == "null") {
      out_.text(kStringValue, text);
    } else {
      return number(text);
    }
    return true;
  }

  bool number(std::string_view text) {
    const char* const last = text.data() + text.size();
    int64_t whole = 0;
    if (const auto read = std::from_chars(text.data(), last, whole);
        read.ec == std::errc() && read.ptr == last) {
      out_.signed_varint(kIntValue, whole);
      return true;
    }
    double real = 0;
    const auto read = std::from_chars(text.data(), last, real);
    if (read.ptr != last) return false;
    const bool is_whole = text.find_first_of(".eE") == std::string_view::npos;
    if (read.ec == std::errc() && !is_whole) {
      out_.real(kDoubleValue, real);
    } else {
      out_.text(kStringValue, text);
    }
    return true;
  }

  bool string(std::string& out) {
    if (!take('"')) return false;
    while (at_ < json_.size()) {
      const size_t from = at_;
      at_ = std::min(json_.find_first_of("\"\\", at_), json_.size());
      out.append(json_, from, at_ - from);
      if (at_ == json_.size()) return false;
      if (json_[at_++] == '"') return true;
      if (!escape(out)) return false;
    }
    return false;
  }

  bool escape(std::string& out) {
    if (at_ == json_.size()) return false;
    constexpr std::string_view kSigns = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    const char sign = json_[at_++];
    if (const size_t found = kSigns.find(sign); found != std::string_view::npos) {
      out += kMeant[found];
      return true;
    }
    uint32_t point = 0;
    if (sign != 'u' || !hex(point)) return false;
    const bool is_first = point >= 0xD800 && point < 0xDC00;
    uint32_t second = 0;
    if (is_first && json_.substr(at_, 2) == "\\u") {
      at_ += 2;
      if (!hex(second)) return false;
    }
    const bool is_pair = is_first && second >= 0xDC00 && second < 0xE000;
    const bool is_half = !is_pair && point >= 0xD800 && point < 0xE000;
    append_utf8(out, is_pair   ? 0x10000 + ((point - 0xD800) << 10) + (second - 0xDC00)
                     : is_half ? 0xFFFD
                               : point);
    return true;
  }

  bool hex(uint32_t& out) {
    const std::string_view digits = json_.substr(at_, 4);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), out, 16);
    at_ += digits.size();
    return digits.size() == 4 && read.ptr == digits.data() + 4;
  }

  char peek() {
    at_ = std::min(json_.find_first_not_of(" \t\r\n", at_), json_.size());
    return at_ < json_.size() ? json_[at_] : '\0';
  }

  bool take(char sign) {
    if (peek() != sign) return false;
    at_++;
    return true;
  }

  bool at_end() { return peek() == '\0' && at_ == json_.size(); }

  ProtoWriter& out_;
  std::string_view json_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

bool write_json_annotations(ProtoWriter& out, uint32_t field, std::string_view json,
                            const std::function<void(std::string_view)>& write_name) {
  const size_t before = out.size();
  if (JsonToAnnotations(out, json).members(field, write_name)) return true;
  out.cut(before);
  return false;
}

}  // namespace nl::exports
