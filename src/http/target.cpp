#include "http/target.h"

#include <optional>

namespace nl::http {
namespace {

constexpr size_t kMostParameters = 200;

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

/// Nothing if an escape is wrong, or if the text has control characters.
std::optional<std::string> decoded(std::string_view text, bool is_query) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const auto high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (!high || !low) return std::nullopt;
      c = static_cast<char>(*high * 16 + *low);
      i += 2;
    } else if (c == '+' && is_query) {
      c = ' ';
    }
    const bool may_break = is_query && (c == '\n' || c == '\t');  // of a text
    const bool is_control = static_cast<unsigned char>(c) < ' ' && !may_break;
    if (is_control || c == 127) return std::nullopt;
    out += c;
  }
  return out;
}

Error wrong_target(const char* what) {
  return Error{ErrorCode::kBadInput, std::string("the address of the request is wrong: ") + what};
}

}  // namespace

Result<Target> parse_target(std::string_view target) {
  if (!target.starts_with('/')) return wrong_target("it does not begin with /");
  const size_t mark = std::min(target.find('?'), target.size());
  const auto path = decoded(target.substr(0, mark), false);
  if (!path) return wrong_target("an escape in its path");
  Target out{*path, {}};
  std::string_view rest = mark == target.size() ? std::string_view() : target.substr(mark + 1);
  rest = rest.substr(0, rest.find('#'));
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    auto name = decoded(pair.substr(0, equals), true);
    auto value = decoded(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) return wrong_target("an escape in its parameters");
    out.query.emplace_back(*std::move(name), *std::move(value));
    if (out.query.size() > kMostParameters) return wrong_target("too many parameters");
  }
  return out;
}

std::string written(const Target& target) {
  std::string address = escaped_path(target.path);
  address.erase(0, address.find_first_not_of('/'));
  address = "/" + address;
  char mark = '?';
  for (const auto& [name, value] : target.query) {
    address += mark + escaped_path(name) + "=" + escaped_path(value);
    mark = '&';
  }
  return address;
}

std::string escaped_path(std::string_view path) {
  constexpr std::string_view kPlain = "-._~/";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          kPlain.find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain) out += c;
    if (!is_plain) out += {'%', kDigits[byte / 16], kDigits[byte % 16]};
  }
  return out;
}

std::string_view cookie_of(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const size_t end = std::min(header.find(';'), header.size());
    std::string_view pair = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=')
      return pair.substr(name.size() + 1);
  }
  return {};
}

}  // namespace nl::http
