#include "http/parameters.h"

#include "base/decimal.h"
#include "base/small_json.h"
#include "base/text.h"

namespace nl::http {
namespace {

using nlohmann::json;

Error wrong_value(const std::string& name, const char* wanted) {
  return Error{ErrorCode::kBadInput, "the parameter " + name + " must be " + wanted};
}

Result<json> number_of(const std::string& name, const std::string& text) {
  int64_t number = 0;
  if (!parse_int64(text, number)) return wrong_value(name, "a whole number");
  return json(number);
}

Result<json> value_of(const std::string& name, const std::string& text, const json& property) {
  const std::string type = property.value("type", "string");
  if (type == "integer") return number_of(name, text);
  if (type != "boolean") return json(text);
  if (text == "true" || text == "1" || text.empty()) return json(true);
  if (text == "false" || text == "0") return json(false);
  return wrong_value(name, "true or false");
}

Result<json> from_query(const json& properties, const Request& request) {
  json out = json::object();
  for (const auto& [name, text] : request.query) {
    const auto property = properties.find(name);
    if (property == properties.end()) {
      out[name] = text;  // the door says that there is no such parameter
      continue;
    }
    const bool is_list = property->value("type", "") == "array";
    if (!is_list && out.contains(name))
      return Error{ErrorCode::kBadInput, "the parameter " + name + " comes twice"};
    NL_TRY(json value, value_of(name, text, is_list ? (*property)["items"] : *property));
    if (is_list) {
      out[name].push_back(std::move(value));
    } else {
      out[name] = std::move(value);
    }
  }
  return out;
}

}  // namespace

bool is_json(const Request& request) {
  const std::string_view type = request.header("content-type");
  return lower(trimmed(type.substr(0, type.find(';')))) == "application/json";
}

Error not_json() {
  return Error{ErrorCode::kUnsupported, "the body must be JSON", "send Content-Type: application/json"};
}

Result<json> parameters_of(const ops::Operation& operation, const Request& request) {
  const json& properties = ops::parameters_schema(operation)["properties"];
  if (request.method != Method::kPost) return from_query(properties, request);
  if (!request.query.empty())
    return Error{ErrorCode::kBadInput, "a POST has its parameters in its body, as a JSON object"};
  if (request.body.empty()) return json::object();
  if (!is_json(request)) return not_json();
  json given = parse_small_json(request.body);
  if (!given.is_object()) return Error{ErrorCode::kBadInput, "the body is no JSON object"};
  return given;
}

}  // namespace nl::http
