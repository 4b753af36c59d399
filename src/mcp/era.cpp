#include "mcp/era.h"

#include <algorithm>

#include "base/base64.h"
#include "base/text.h"

namespace nl::mcp {
namespace {

using nlohmann::json;

constexpr std::string_view kLegacyVersions[] = {kNewestLegacy, "2025-06-18", kOldestLegacy};
constexpr std::string_view kEncodedBegin = "=?base64?", kEncodedEnd = "?=";
constexpr size_t kMostShownBytes = 64;

Fault unsupported(std::string_view version) {
  return {kUnsupportedVersion,
          "this version of the protocol is not supported",
          {{"supported", supported_versions()}, {"requested", version.substr(0, kMostShownBytes)}}};
}

Fault no_metadata(std::string what) {
  return {kInvalidParams, std::move(what), {{"supported", supported_versions()}}};
}

Fault mismatch(std::string what) {
  return {kHeaderMismatch, std::move(what)};
}

const json& meta_of(const Message& request) {
  static const json none = json::object();
  const auto it = request.params.find("_meta");
  return it == request.params.end() ? none : *it;
}

/// What the header Mcp-Name repeats; nothing where no name is needed.
std::optional<std::string> name_of(const Message& request) {
  if (request.method == "tools/call" || request.method == "prompts/get")
    return text_of(request.params, "name");
  if (request.method == "resources/read") return text_of(request.params, "uri");
  if (request.method == "tasks/get" || request.method == "tasks/update" || request.method == "tasks/cancel")
    return text_of(request.params, "taskId");
  return std::nullopt;
}

/// Proxies decide by the headers, we by the body: both must say the same.
std::optional<Fault> header_fault(const Message& request, const std::string& version, const Header& header) {
  if (trimmed(header("mcp-protocol-version")) != version)
    return mismatch("the header MCP-Protocol-Version does not say what the body says");
  if (trimmed(header("mcp-method")) != request.method)
    return mismatch("the header Mcp-Method does not say what the body says");
  const auto name = name_of(request);
  if (name && meant_by(trimmed(header("mcp-name"))) != name)
    return mismatch("the header Mcp-Name does not say what the body says");
  return std::nullopt;
}

std::variant<Era, Fault> modern_era(const Message& request, const Header& header) {
  const json& meta = meta_of(request);
  const std::string version = text_of(meta, kMetaVersion);
  if (version.empty()) return no_metadata(std::string("_meta lacks ") + kMetaVersion);
  if (!meta.contains(kMetaCapabilities) || !meta[kMetaCapabilities].is_object())
    return no_metadata(std::string("_meta lacks ") + kMetaCapabilities);
  if (header) {
    if (auto fault = header_fault(request, version, header)) return *std::move(fault);
  }
  if (version != kModernVersion) return unsupported(version);
  return Era{true, version, meta[kMetaCapabilities]};
}

}  // namespace

json supported_versions() {
  json versions = json::array({kModernVersion});
  for (const std::string_view version : kLegacyVersions) versions.push_back(version);
  return versions;
}

bool is_legacy_version(std::string_view version) {
  return std::find(std::begin(kLegacyVersions), std::end(kLegacyVersions), version) !=
         std::end(kLegacyVersions);
}

std::optional<std::string> meant_by(std::string_view header) {
  const bool is_encoded = header.size() >= kEncodedBegin.size() + kEncodedEnd.size() &&
                          header.starts_with(kEncodedBegin) && header.ends_with(kEncodedEnd);
  if (!is_encoded) return std::string(header);
  std::string text(
      header.substr(kEncodedBegin.size(), header.size() - kEncodedBegin.size() - kEncodedEnd.size()));
  if (text.size() % 4 != 0 || text.find_first_of("-_") != std::string::npos) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); i++) text.pop_back();
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return bytes_of_base64url(text);
}

std::variant<Era, Fault> era_of(const Message& request, const Header& header, const Session& session) {
  const json& meta = meta_of(request);
  const std::string_view told = header ? trimmed(header("mcp-protocol-version")) : std::string_view();
  if (meta.contains(kMetaVersion) || meta.contains(kMetaCapabilities) || told == kModernVersion)
    return modern_era(request, header);
  if (!told.empty() && !is_legacy_version(told)) return unsupported(told);
  // A client of 2025-03-26 sends no header; over HTTP nobody remembers what `initialize` agreed on.
  if (header) return Era{false, std::string(told.empty() ? kOldestLegacy : told), nullptr};
  const bool needs_no_session = request.method == "initialize" || request.method == "ping";
  if (session.version.empty() && !needs_no_session)
    return no_metadata("begin with initialize, or send version and capabilities in _meta");
  return Era{false, session.version, session.capabilities};
}

}  // namespace nl::mcp
