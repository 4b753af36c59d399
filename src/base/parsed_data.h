#pragma once
// The files of data/ and rules/ as trees that were parsed before the build. tools/write_parsed_data writes
// them to data/parsed.txt. Without it, parsing YAML at each start took a third of the time of an analysis. A
// text that is not in that file (a user's own, or one edited since) is parsed when it is needed. Thread-safe.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/yaml.h"

namespace nl {

/// Like parse_yaml.
Result<YamlNode> parse_data(const std::string& text, const std::string& name);
/// The lines that data/parsed.txt has for an expression of a rule; nothing if it has none.
std::optional<std::string_view> parsed_expression(std::string_view text);

/// An entry of data/parsed.txt.
std::string parsed_entry(std::string_view text, const YamlNode& tree);
std::string expression_entry(std::string_view text, const std::string& lines);

}  // namespace nl
