#include "base/parsed_data.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "analyze/rules/rule_set.h"
#include "base/files.h"
#include "shared_engine.h"
#include "source_folder.h"

namespace nl::analyze {
namespace {

std::string root() {
  return source_folder() + "/";
}

std::string parsed_file() {
  return read_file(root() + "data/parsed.txt").value();
}

TEST(ParsedData, IsThatOfTheFiles) {
  const std::string parsed = parsed_file();
  size_t files = 0;
  for (const char* folder : {"data/counters", "data/hardware", "data/layers", "data/proof", "data/ranges",
                             "data/taxonomy", "rules"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root() + folder)) {
      const std::string path = entry.path().string(), text = read_file(path).value();
      const auto tree = parse_yaml(text, path);
      ASSERT_TRUE(tree) << path;
      EXPECT_NE(parsed.find(parsed_entry(text, *tree)), std::string::npos)
          << path << " was edited: run tools/write_parsed_data";
      files++;
    }
  }
  EXPECT_GT(files, 40U);
}

TEST(ParsedData, IsThatOfTheExpressions) {
  const std::string parsed = parsed_file();
  for (const RuleText& rule : built_in_rule_texts()) {
    const auto texts = expressions_in(rule);
    const auto expressions = parse_expressions(SharedEngine::connection(), texts).value();
    for (size_t i = 0; i < texts.size(); i++) {
      const auto* expression = std::get_if<Expression>(&expressions[i]);
      ASSERT_NE(expression, nullptr) << rule.name << ": " << texts[i];
      EXPECT_NE(parsed.find(expression_entry(texts[i], expression_lines(*expression))), std::string::npos)
          << rule.name << " was edited: run tools/write_parsed_data";
    }
  }
}

TEST(ParsedData, ATreeComesBackAsItWas) {
  const std::string path = root() + "rules/host_bound.yaml", text = read_file(path).value();
  const auto parsed = parse_yaml(text, path), kept = parse_data(text, path);
  ASSERT_TRUE(parsed && kept);
  EXPECT_EQ(parsed_entry(text, *kept), parsed_entry(text, *parsed));
}

TEST(ParsedData, OtherTextsAreParsed) {
  const auto node = parse_data("a: [1, 2]\n", "f.yaml");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->find("a")->items.size(), 2U);
  EXPECT_FALSE(parse_data("a: [1\n", "f.yaml"));
}

}  // namespace
}  // namespace nl::analyze
