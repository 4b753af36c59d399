#pragma once
// JSON Schema validation (valijson). One class, so that its headers are compiled once.
// Parsed once, used by any thread.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace nl::store {

class JsonSchema {
 public:
  /// `what` names the document in messages.
  JsonSchema(const std::string& schema_text, std::string what);
  ~JsonSchema();
  /// bad_input naming the JSON pointer of the first fault if `document` does not follow the schema.
  Result<void> validate(const nlohmann::json& document) const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
  std::string what_;
};

}  // namespace nl::store
