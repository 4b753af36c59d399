#include "ingest/rows/batch_text.h"

#include <algorithm>
#include <cstring>

namespace nl::ingest {

using model::kNull;

int64_t BatchText::scalar(std::string_view token) {
  return strings_.get(token, [&]() -> int64_t {
    std::string_view text;
    if (token[0] == '"') {
      if (!index_.unescape(token, batch_->arena, text)) return kNull;
    } else {
      if (!is_json_scalar(token)) return kNull;
      text = batch_->arena.keep(token);
    }
    return batch_->add_string(text);
  });
}

int64_t BatchText::json(std::string_view raw) {
  return strings_.get(raw, [&] {
    char* const copy = batch_->arena.reserve(raw.size());
    std::memcpy(copy, raw.data(), raw.size());
    replace_lone_surrogates(copy, raw.size());
    return batch_->add_string({copy, raw.size()});
  });
}

namespace {

/// Profilers print inf and nan, which JSON does not know.
bool is_word(std::string_view raw) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '.' || c == '-';
  };
  return raw.size() <= 32 && std::all_of(raw.begin(), raw.end(), plain);
}

}  // namespace

bool ObjectText::add(const JsonMember& member, std::map<std::string, int64_t>& health) {
  const std::string_view raw = member.raw;
  const bool is_json = raw[0] == '{' || raw[0] == '[' || is_json_scalar(raw);
  if (!has_valid_escapes(member.key) || (!is_json && !is_word(raw))) return false;
  put_key(member.key);
  if (is_json) {
    put(raw);
    return true;
  }
  health["value_not_json"]++;
  put("\"");
  put(raw);
  put("\"");
  return true;
}

int64_t ObjectText::finish() {
  put("}");
  const auto used = static_cast<size_t>(end_ - begin_);
  replace_lone_surrogates(begin_, used);
  batch_.arena.shrink_last(size_ - used);
  return batch_.add_string({begin_, used});
}

}  // namespace nl::ingest
