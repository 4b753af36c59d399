#pragma once
// Validates JSON against a JSON Schema, with valijson. Its headers are slow to compile, so this class hides
// them in one .cpp. A schema is parsed once and may then be used by any thread.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace nl {

/// What is wrong at one place of a JSON document.
struct JsonFault {
  std::string pointer;  ///< RFC 6901; empty for the document itself
  std::string message;  ///< what was expected
};

/// "POINTER: MESSAGE", for errors.
std::string fault_text(const JsonFault& fault);
/// A member name or an index as a step of a JSON pointer.
std::string pointer_step(std::string_view name);
/// Whether an object that follows the schema must have this member.
bool requires_member(const nlohmann::json& schema, std::string_view name);

class JsonSchema {
 public:
  /// `what` names the document in messages. The schema is one of ours: a bad one throws.
  JsonSchema(const std::string& schema_text, std::string what);
  ~JsonSchema();

  /// Everything that is wrong with the document, at most `most` faults.
  Result<std::vector<JsonFault>> faults(const nlohmann::json& document, size_t most) const;
  /// bad_input naming the JSON pointer of the first fault if `document` does not follow the schema.
  Result<void> validate(const nlohmann::json& document) const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
  std::string what_;
};

}  // namespace nl
