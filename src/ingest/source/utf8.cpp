#include "ingest/source/utf8.h"

#include <simdjson.h>

#include <algorithm>

namespace nl::ingest {

bool is_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

std::string repaired_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t length = 0;
    for (size_t n = 1; n <= std::min<size_t>(4, text.size()) && length == 0; n++) {
      if (is_utf8(text.substr(0, n))) length = n;
    }
    out += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return out;
}

}  // namespace nl::ingest
