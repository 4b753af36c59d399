#include "cli/spelling.h"

#include <fmt/core.h>

#include <algorithm>

#include "ops/text/text.h"

namespace nl::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Sentences and statements stand in double quotes, which read better, unless a shell would change them
/// there.
std::string prose(const std::string& text) {
  if (ops::shell_word(text) == text || text.find_first_of("\"$`\\!") != std::string::npos)
    return ops::shell_word(text);
  return "\"" + text + "\"";
}

std::string word_of(const ordered_json& value, const json& property) {
  if (!value.is_string()) return value.dump();
  return property.contains("x-prose") ? prose(value.get<std::string>())
                                      : ops::shell_word(value.get<std::string>());
}

std::string words_of(const ordered_json& list, const json& property) {
  std::string words;
  for (const auto& value : list) words += " " + word_of(value, property);
  return words;
}

std::string argument(const ordered_json& value, const json& property) {
  const std::string words = value.is_array() ? words_of(value, property) : " " + word_of(value, property);
  return property.contains("x-behind-dashes") ? " --" + words : words;
}

std::string option(const std::string& name, const ordered_json& value, const json& property) {
  const std::string flag = " " + flag_name(name);
  if (value.is_boolean()) return value.get<bool>() ? flag : "";
  if (property.contains("x-optional-value") && value == "") return flag;
  if (!value.is_array()) return flag + " " + word_of(value, property);
  if (property.contains("x-many")) return flag + words_of(value, property);
  std::string each;
  for (const auto& one : value) each += flag + " " + word_of(one, property);
  return each;
}

/// A file can be opened without a verb.
bool shows_file(const SuggestedCall& call, const ordered_json& parameters) {
  if (call.operation != "show" || parameters.size() != 1) return false;
  const std::string run = parameters["run"];
  return !run.starts_with('@') && run.find_first_of("./") != std::string::npos;
}

}  // namespace

std::string flag_name(std::string_view parameter) {
  std::string name = "--" + std::string(parameter);
  std::replace(name.begin() + 2, name.end(), '_', '-');
  return name;
}

std::string spelled(const SuggestedCall& call) {
  const auto parameters = ordered_json::parse(call.parameters);
  std::string line = shows_file(call, parameters) ? "neurolens" : "neurolens " + call.operation;
  const json& properties = ops::parameters_schema(*ops::find_operation(call.operation))["properties"];
  for (const auto& [name, value] : parameters.items()) {
    const json& property = properties.at(name);
    const bool is_argument = property.contains("x-positional") || property.contains("x-behind-dashes");
    line += is_argument ? argument(value, property) : option(name, value, property);
  }
  return line;
}

std::string spelled_example(const ops::Operation& operation) {
  const std::string line = spelled({std::string(operation.name), std::string(operation.example)});
  const bool to_standard_output =
      operation.stream == ops::Stream::kBytes && operation.example.find("\"output\"") == std::string::npos;
  return to_standard_output ? fmt::format("{} > {}.jsonl", line, operation.name) : line;
}

}  // namespace nl::cli
