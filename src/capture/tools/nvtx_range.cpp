#include "capture/tools/nvtx_range.h"

#include <algorithm>

namespace nl::capture {
namespace {

/// A backslash before each character that means something to the tool.
std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

Result<NvtxRange> parse_nvtx_range(std::string_view text) {
  const size_t at = text.find('@');
  NvtxRange range;
  if (at != std::string_view::npos) range.domain = text.substr(0, at);
  range.name = text.substr(at == std::string_view::npos ? 0 : at + 1);
  const bool printable =
      std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; });
  if (range.name.empty() || !printable)
    return Error{ErrorCode::kBadInput, "not a range: " + std::string(text),
                 "write DOMAIN@RANGE, or RANGE or @RANGE for a range of the default domain"};
  return range;
}

std::string nsys_range(const NvtxRange& range) {
  const std::string name = escaped(range.name, "@");
  return range.domain.empty() ? name : name + "@" + escaped(range.domain, "@");
}

std::string ncu_range(const NvtxRange& range) {
  constexpr std::string_view kSpecial = R"(\@,[]/*+)";
  const std::string name = escaped(range.name, kSpecial) + "/";
  return range.domain.empty() ? name : escaped(range.domain, kSpecial) + "@" + name;
}

}  // namespace nl::capture
