#include "analyze/names/stated_name.h"

namespace nl::analyze {
namespace {

constexpr std::string_view kStart = " {nl ";

/// Where the statement begins; npos if there is none.
size_t start_of(std::string_view name) {
  return name.ends_with('}') ? name.rfind(kStart) : std::string_view::npos;
}

}  // namespace

std::string_view without_statement(std::string_view name) {
  return name.substr(0, start_of(name));
}

std::optional<std::string_view> stated(std::string_view name, std::string_view key) {
  const size_t start = start_of(name);
  if (start == std::string_view::npos) return std::nullopt;
  std::string_view rest = name.substr(start + kStart.size());
  rest.remove_suffix(1);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view pair = rest.substr(0, end);
    if (pair.size() > key.size() && pair.starts_with(key) && pair[key.size()] == '=')
      return pair.substr(key.size() + 1);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

std::string with_statement(std::string_view name, const std::map<std::string, std::string>& values) {
  if (values.empty()) return std::string(name);
  std::string out(name);
  out += " {nl";
  for (const auto& [key, value] : values) out.append(" ").append(key).append("=").append(value);
  return out + "}";
}

}  // namespace nl::analyze
