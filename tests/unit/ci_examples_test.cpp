// The examples for CI systems are YAML with the parts that those systems look for.

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/yaml.h"
#include "source_folder.h"

namespace nl {
namespace {

YamlNode parsed_example(const std::string& name) {
  const std::string path = source_folder() + "/examples/ci/" + name;
  const auto text = read_file(path);
  EXPECT_TRUE(text) << path;
  const auto node = parse_yaml(text ? *text : "", path);
  EXPECT_TRUE(node) << (node ? "" : node.error().message);
  return node ? *node : YamlNode();
}

TEST(CiExamples, GithubWorkflowHasStepsThatRecordCompareAndKeep) {
  const YamlNode workflow = parsed_example("github-actions.yml");
  ASSERT_NE(workflow.find("jobs"), nullptr);
  const YamlNode* job = workflow.find("jobs")->find("compare");
  ASSERT_NE(job, nullptr);
  ASSERT_NE(job->find("steps"), nullptr);
  std::vector<std::string> names;
  for (const YamlNode& step : job->find("steps")->items) {
    ASSERT_TRUE(step.find("run") != nullptr || step.find("uses") != nullptr);
    if (const YamlNode* name = step.find("name")) names.push_back(name->text);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"Check out both sides", "Record", "Compare", "Comment", "Keep"}));
}

TEST(CiExamples, GitlabJobHasAScriptAndATestReport) {
  const YamlNode file = parsed_example("gitlab-ci.yml");
  const YamlNode* job = file.find("performance");
  ASSERT_NE(job, nullptr);
  ASSERT_NE(job->find("script"), nullptr);
  EXPECT_TRUE(job->find("script")->is_list());
  ASSERT_NE(job->find("artifacts"), nullptr);
  ASSERT_NE(job->find("artifacts")->find("reports"), nullptr);
  EXPECT_EQ(job->find("artifacts")->find("reports")->find("junit")->text, "compare.xml");
}

}  // namespace
}  // namespace nl
