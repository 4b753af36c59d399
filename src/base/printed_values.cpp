#include "base/printed_values.h"

namespace nl {

std::vector<std::string_view> printed_values(std::string_view text, std::string_view name) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string_view> values;
  size_t at = text.find(name);
  while (!name.empty() && at != std::string_view::npos) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || kBlanks.find(text[at - 1]) != std::string_view::npos;
    if (begins && end < text.size() && text[end] == '=') {
      const size_t value_end = text.find_first_of(kBlanks, end);
      values.push_back(
          text.substr(end + 1, value_end == std::string_view::npos ? value_end : value_end - end - 1));
    }
    at = text.find(name, end);
  }
  return values;
}

}  // namespace nl
