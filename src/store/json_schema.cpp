#include "store/json_schema.h"

#include <nlohmann/json.hpp>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#pragma GCC diagnostic pop

namespace nl::store {
namespace {

/// valijson writes a path as <root>[a][0]; people and other tools read /a/0.
std::string json_pointer(const std::string& context) {
  std::string out;
  for (size_t i = context.find('['); i != std::string::npos && i < context.size(); i++) {
    if (context[i] == '[') {
      out += '/';
    } else if (context[i] != ']') {
      out += context[i];
    }
  }
  return out.empty() ? "/" : out;
}

}  // namespace

Result<void> validate_json(const nlohmann::json& document, const std::string& schema_text,
                           const std::string& what) {
  try {
    const auto schema_json = nlohmann::json::parse(schema_text);
    valijson::Schema schema;
    valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_json), schema);
    valijson::ValidationResults faults;
    valijson::Validator validator;
    if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(document), &faults)) return {};
    valijson::ValidationResults::Error fault;
    faults.popError(fault);
    std::string context;
    for (const auto& part : fault.context) context += part;
    return Error{ErrorCode::kBadInput,
                 what + " does not follow its schema at " + json_pointer(context) + ": " + fault.description};
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, "cannot validate " + what + ": " + e.what()};
  }
}

}  // namespace nl::store
