#pragma once
// One message of the Model Context Protocol (JSON-RPC 2.0): from bytes that somebody else wrote to a checked
// struct, and answers back to a line. Pure functions, any thread.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"

namespace nl::mcp {

inline constexpr size_t kMostMessageBytes = 4 << 20;
inline constexpr int kMostDepth = 64;
inline constexpr size_t kMostIdBytes = 256;
inline constexpr size_t kMostMethodBytes = 128;
inline constexpr size_t kMostInBatch = 32;

// Codes of JSON-RPC.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
// Codes of the protocol.
inline constexpr int kTooBusy = -32000;
inline constexpr int kResourceNotFound = -32002;  ///< before 2026-07-28; then kInvalidParams says it
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kMissingCapability = -32021;
inline constexpr int kUnsupportedVersion = -32022;

/// Why a request gets no result.
struct Fault {
  int code = kInternalError;
  std::string message = {};
  nlohmann::json data = nullptr;  ///< null: none
};

enum class Kind { kRequest, kNotification, kResponse };

struct Message {
  Kind kind = Kind::kRequest;
  nlohmann::json id = nullptr;  ///< a text or a whole number; null for a notification
  std::string method = {};      ///< empty for a response
  nlohmann::json params = nlohmann::json::object();
  nlohmann::json outcome = nullptr;  ///< of a response: an object with `result` or `error`
};

/// A message that cannot be taken; the id is null if it could not be read.
struct Refusal {
  nlohmann::json id = nullptr;
  Fault fault = {};
};

using ReadMessage = std::variant<Message, Refusal>;

struct Messages {
  std::vector<ReadMessage> all = {};
  bool is_batch = false;
};

/// What a text holds: one message, or a batch of at most kMostInBatch. Whatever the text is, there is at
/// least one.
Messages read_messages(std::string_view text);

/// Is it an id of a request, or a token of its progress? Numbers that are not whole are none: they cannot be
/// compared.
bool is_id(const nlohmann::json& value);

/// The member as a text; empty if there is none or if it is none.
std::string text_of(const nlohmann::json& object, const char* member);

nlohmann::json result_message(const nlohmann::json& id, nlohmann::json result);
/// Without an id if it is null: so the schema of the protocol wants it.
nlohmann::json fault_message(const nlohmann::json& id, const Fault& fault);
nlohmann::json notification(std::string_view method, nlohmann::json params);

/// On one line, without a line break at its end. What is no UTF-8 is replaced.
std::string line_of(const nlohmann::json& message);

}  // namespace nl::mcp
