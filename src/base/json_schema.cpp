#include "base/json_schema.h"

#include <algorithm>
#include <locale>

#include "base/json.h"

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

namespace nl {
namespace {

using nlohmann::json;
using valijson::adapters::NlohmannJsonAdapter;

/// Patterns are matched by std::regex, whose characters come from tables of the locale that are filled at
/// their first use, without a lock: two threads must not be the first.
void fill_tables_of_characters() {
  static const bool is_done = [] {
    const std::locale locale;
    const auto& tables = std::use_facet<std::ctype<char>>(locale);
    for (int c = 0; c < 256; c++) (void)tables.narrow(tables.widen(static_cast<char>(c)), '\0');
    return true;
  }();
  (void)is_done;
}

/// valijson writes a path as the parts <root> [a] [0]; people and other tools read /a/0.
std::vector<std::string> path_of(const std::vector<std::string>& context) {
  std::vector<std::string> path;
  for (size_t i = 1; i < context.size(); i++) path.push_back(context[i].substr(1, context[i].size() - 2));
  return path;
}

/// The part of the schema that speaks of a place; null where none does by itself.
json schema_at(const json& root, const std::vector<std::string>& path) {
  const auto resolved = [&](json node) {
    while (node.is_object() && node.contains("$ref")) {
      node = root.at(json::json_pointer(node["$ref"].get<std::string>().substr(1)));
    }
    return node;
  };
  json node = resolved(root);
  for (const auto& step : path) {
    if (!node.is_object()) return {};
    if (node.contains("properties") && node["properties"].contains(step)) {
      node = resolved(node["properties"][step]);
    } else if (node.contains("items")) {
      node = resolved(node["items"]);
    } else if (node.contains("additionalProperties")) {
      node = resolved(node["additionalProperties"]);
    } else {
      return {};
    }
  }
  return node;
}

std::string expected_text(const json& schema) {
  if (!schema.is_object()) return "";
  if (schema.contains("const")) return "expected " + schema["const"].dump();
  if (schema.contains("enum")) return "expected one of " + schema["enum"].dump();
  if (!schema.contains("type")) return "";
  std::string text = "expected " + (schema["type"].is_string() ? schema["type"].get<std::string>()
                                                               : "one of " + schema["type"].dump());
  if (schema.contains("minimum")) text += " from " + schema["minimum"].dump();
  if (schema.contains("maximum")) text += " to " + schema["maximum"].dump();
  return text;
}

/// The name that valijson quotes at the end of a message.
std::string quoted_name(const std::string& message) {
  const size_t end = message.rfind('\'');
  const size_t begin = end == std::string::npos || end == 0 ? end : message.rfind('\'', end - 1);
  return begin == std::string::npos || begin == end ? "" : message.substr(begin + 1, end - begin - 1);
}

std::string pointer_of(const std::vector<std::string>& path) {
  std::string pointer;
  for (const auto& step : path) pointer += pointer_step(step);
  return pointer;
}

/// valijson names the first member that should not be there; people want all of them.
void add_strangers(const json& document, const json& schema, const std::vector<std::string>& path,
                   std::vector<JsonFault>& faults) {
  const std::string pointer = pointer_of(path);
  const json known = schema_at(schema, path).value("properties", json::object());
  for (const auto& [name, value] : document.at(json::json_pointer(pointer)).items()) {
    if (!known.contains(name)) faults.push_back({pointer + pointer_step(name), "no such member"});
  }
}

/// True if the message is about the value itself, so that the schema can say what was expected.
bool is_about_value(const std::string& message) {
  return message.find("type") != std::string::npos || message.find("number") != std::string::npos ||
         message.find("match") != std::string::npos;
}

std::string message_of(const valijson::ValidationResults::Error& error, const json& schema) {
  if (error.description.starts_with("Missing required property")) {
    return "expected a member " + quoted_name(error.description);
  }
  std::string expected;
  if (is_about_value(error.description)) expected = expected_text(schema_at(schema, path_of(error.context)));
  return expected.empty() ? error.description : expected;
}

std::vector<JsonFault> faults_of(valijson::ValidationResults& results, const json& document,
                                 const json& schema) {
  std::vector<JsonFault> found;
  std::vector<JsonFault> around;  // parts that have a fault inside
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    const auto path = path_of(error.context);
    if (error.description.starts_with("Failed to validate")) {
      around.push_back({pointer_of(path) + pointer_step(quoted_name(error.description)),
                        "a name or value in it is not allowed"});
    } else if (error.description.starts_with("Object contains a property")) {
      add_strangers(document, schema, path, found);
    } else {
      found.push_back({pointer_of(path), message_of(error, schema)});
    }
  }
  if (found.empty() && !around.empty()) found.push_back(around[0]);
  if (found.empty()) found.push_back({"", "does not match the schema"});
  return found;
}

}  // namespace

bool requires_member(const json& schema, std::string_view name) {
  const auto names = schema.find("required");
  if (names == schema.end()) return false;
  return std::any_of(names->begin(), names->end(),
                     [&](const json& one) { return one.get_ref<const std::string&>() == name; });
}

std::string pointer_step(std::string_view name) {
  std::string step = "/";
  for (const char c : name) {
    if (c == '~') {
      step += "~0";
    } else if (c == '/') {
      step += "~1";
    } else {
      step += c;
    }
  }
  return step;
}

std::string fault_text(const JsonFault& fault) {
  return (fault.pointer.empty() ? "the document" : fault.pointer) + ": " + fault.message;
}

struct JsonSchema::Parsed {
  json text;
  valijson::Schema schema;
};

JsonSchema::JsonSchema(const std::string& schema_text, std::string what)
    : parsed_(std::make_unique<Parsed>()), what_(std::move(what)) {
  fill_tables_of_characters();
  parsed_->text = json::parse(schema_text);
  valijson::SchemaParser().populateSchema(NlohmannJsonAdapter(parsed_->text), parsed_->schema);
}

JsonSchema::~JsonSchema() = default;

Result<std::vector<JsonFault>> JsonSchema::faults(const json& document, size_t most) const {
  try {
    const NlohmannJsonAdapter target(document);
    if (valijson::Validator().validate(parsed_->schema, target, nullptr)) return std::vector<JsonFault>{};
    valijson::ValidationResults results;
    valijson::Validator().validate(parsed_->schema, target, &results);
    auto found = faults_of(results, document, parsed_->text);
    if (found.size() > most) found.resize(most);
    return found;
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, "cannot validate " + what_ + ": " + e.what()};
  }
}

Result<void> JsonSchema::validate(const json& document) const {
  NL_TRY(const auto found, faults(document, 1));
  if (found.empty()) return {};
  return Error{ErrorCode::kBadInput, what_ + " does not match its schema at " + fault_text(found[0])};
}

}  // namespace nl
