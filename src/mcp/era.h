#pragma once
// Eras: revision 2026-07-28 carries version and capabilities in every request, those of 2025 agree on them by
// `initialize`. Which one a request is of, and whether its HTTP headers say the same as its body. Pure
// functions, any thread.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "mcp/message.h"

namespace nl::mcp {

inline constexpr std::string_view kModernVersion = "2026-07-28";
inline constexpr std::string_view kNewestLegacy = "2025-11-25";
inline constexpr std::string_view kOldestLegacy = "2025-03-26";  ///< the one that has batches

inline constexpr char kMetaVersion[] = "io.modelcontextprotocol/protocolVersion";
inline constexpr char kMetaCapabilities[] = "io.modelcontextprotocol/clientCapabilities";
inline constexpr char kMetaLogLevel[] = "io.modelcontextprotocol/logLevel";
inline constexpr char kMetaServer[] = "io.modelcontextprotocol/serverInfo";

/// The newest first.
nlohmann::json supported_versions();
bool is_legacy_version(std::string_view version);

/// The value of an HTTP header by its name in lower case; empty if there is none. No function: no HTTP.
using Header = std::function<std::string_view(std::string_view lower_name)>;

struct Era {
  bool is_modern = false;
  std::string version = {};
  nlohmann::json capabilities = nullptr;  ///< of the client; null: not known
};

/// What `initialize` agreed on, where a connection remembers it.
struct Session {
  std::string version = {};  ///< empty: nothing yet
  nlohmann::json capabilities = nullptr;
  std::string log_level = {};
};

/// Of a request. A fault says why it is refused: no metadata, a version that nobody has here, or headers that
/// say something else than the body.
std::variant<Era, Fault> era_of(const Message& request, const Header& header, const Session& session);

/// The value of a header as the client meant it: =?base64?…?= is decoded. Nothing if it cannot be.
std::optional<std::string> meant_by(std::string_view header);

}  // namespace nl::mcp
