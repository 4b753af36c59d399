// Writes data/parsed.txt: the files of data/ and rules/ as trees, and the expressions of the rules. Run it by
// tools/write_parsed_data. usage: parse_data FILE.yaml...

#include <cstdio>
#include <set>

#include "analyze/rules/rule_set.h"
#include "base/files.h"
#include "base/parsed_data.h"

namespace nl::analyze {
namespace {

Result<std::string> trees_of(int count, char** paths) {
  std::string out;
  for (int i = 0; i < count; i++) {
    NL_TRY(const std::string text, read_file(paths[i]));
    NL_TRY(const YamlNode tree, parse_yaml(text, paths[i]));
    out += parsed_entry(text, tree);
  }
  return out;
}

Result<std::string> expressions_of(int count, char** paths) {
  std::set<std::string> texts;
  for (int i = 0; i < count; i++) {
    if (std::string_view(paths[i]).find("rules/") == std::string_view::npos) continue;
    NL_TRY(const RuleText rule, read_rule_file(paths[i]));
    for (auto& text : expressions_in(rule)) texts.insert(std::move(text));
  }
  const std::vector<std::string> list(texts.begin(), texts.end());
  NL_TRY(const auto engine, store::Engine::open({}));
  NL_TRY(auto connection, engine->connect());
  NL_TRY(const auto parsed, parse_expressions(connection, list));
  std::string out;
  for (size_t i = 0; i < list.size(); i++) {
    const auto* expression = std::get_if<Expression>(&parsed[i]);
    if (expression == nullptr) return Error{ErrorCode::kBadInput, "not an expression: " + list[i]};
    out += expression_entry(list[i], expression_lines(*expression));
  }
  return out;
}

Result<std::string> parsed_text(int count, char** paths) {
  NL_TRY(const std::string trees, trees_of(count, paths));
  NL_TRY(const std::string expressions, expressions_of(count, paths));
  return trees + expressions;
}

}  // namespace
}  // namespace nl::analyze

int main(int argc, char** argv) {
  const auto text = nl::analyze::parsed_text(argc - 1, argv + 1);
  if (!text) {
    std::fprintf(stderr, "parse_data: %s\n", text.error().message.c_str());
    return 1;
  }
  return std::fwrite(text->data(), 1, text->size(), stdout) == text->size() ? 0 : 1;
}
