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

struct JsonSchema::Parsed {
  nlohmann::json text;
  valijson::Schema schema;
};

JsonSchema::JsonSchema(const std::string& schema_text, std::string what)
    : parsed_(std::make_unique<Parsed>()), what_(std::move(what)) {
  parsed_->text = nlohmann::json::parse(schema_text);
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(parsed_->text),
                                          parsed_->schema);
}

JsonSchema::~JsonSchema() = default;

Result<void> JsonSchema::validate(const nlohmann::json& document) const {
  try {
    const valijson::adapters::NlohmannJsonAdapter adapter(document);
    if (valijson::Validator().validate(parsed_->schema, adapter, nullptr)) return {};
    valijson::ValidationResults faults;
    valijson::Validator().validate(parsed_->schema, adapter, &faults);
    valijson::ValidationResults::Error fault;
    faults.popError(fault);
    std::string context;
    for (const auto& part : fault.context) context += part;
    return Error{ErrorCode::kBadInput, what_ + " does not follow its schema at " + json_pointer(context) +
                                           ": " + fault.description};
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, "cannot validate " + what_ + ": " + e.what()};
  }
}

}  // namespace nl::store
