#include "ops/envelope.h"

#include <fmt/core.h>

#include "base/safe_text.h"

namespace nl::ops {
namespace {

using nlohmann::json;

/// `data` is filled in.
constexpr char kSchema[] = R"({
  "type": "object", "additionalProperties": false, "required": ["schema", "version", "data", "warnings", "next"],
  "properties": {
    "schema": {"type": "string", "description": "neurolens.<operation>/1"},
    "version": {"type": "string", "description": "of the program"},
    "warnings": {"type": "array", "items": {"type": "string"}},
    "next": {"type": "array", "items": {"type": "string"}, "description": "calls worth making next"},
    "left_out": {"type": "array", "description": "what was left out of data to fit the budget; absent if nothing was",
      "items": {"type": "object", "additionalProperties": false, "required": ["where", "rows", "of"],
        "properties": {
          "where": {"type": "string", "description": "JSON pointer in data; * stands for every row of a list"},
          "rows": {"type": "integer", "minimum": 1, "description": "how many rows, entries or sections are left out; for a text, bytes"},
          "of": {"type": "integer", "minimum": 1, "description": "how many the whole answer has at this place"}}}}}})";

}  // namespace

json envelope_of(std::string_view operation, const Outcome& outcome,
                 const std::function<std::string(const SuggestedCall&)>& spell) {
  json next = json::array();
  for (const SuggestedCall& call : outcome.next) next.push_back(spell(call));
  json envelope = {{"schema", fmt::format("neurolens.{}/1", operation)},
                   {"version", NEUROLENS_VERSION},
                   {"data", outcome.data},
                   {"warnings", outcome.warnings},
                   {"next", std::move(next)}};
  if (!outcome.left_out.is_null()) envelope["left_out"] = outcome.left_out;
  return envelope;
}

std::string hint_of(const Error& error, const std::function<std::string(const SuggestedCall&)>& spell) {
  std::string hint;
  size_t from = 0;
  for (const SuggestedCall& call : error.calls) {
    const size_t place = error.hint.find("{}", from);
    if (place == std::string::npos) break;
    hint += error.hint.substr(from, place - from) + spell(call);
    from = place + 2;
  }
  return hint + error.hint.substr(from);
}

json error_envelope(std::string_view operation, const Error& error,
                    const std::function<std::string(const SuggestedCall&)>& spell) {
  return {
      {"schema", fmt::format("neurolens.{}/1", operation)},
      {"version", NEUROLENS_VERSION},
      {"error",
       {{"code", error_code_name(error.code)}, {"message", error.message}, {"hint", hint_of(error, spell)}}},
      {"warnings", json::array()},
      {"next", json::array()}};
}

json envelope_schema(const Operation& operation) {
  json schema = json::parse(kSchema);
  schema["properties"]["data"] = result_schema(operation);
  return schema;
}

std::string compact_json(const json& value) {
  return json_for_terminals(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace nl::ops
