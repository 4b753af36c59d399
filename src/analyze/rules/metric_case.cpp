#include "analyze/rules/metric_case.h"

#include "base/yaml.h"
#include "model/labels.h"

namespace nl::analyze {
namespace {

constexpr char kForm[] = "a case has metrics: {id: number} and absent: {id: reason}";

class CaseReader {
 public:
  explicit CaseReader(const std::string& name) : name_(name) {}

  Result<MetricSet> read(const YamlNode& root) {
    if (!root.is_map() || root.find("metrics") == nullptr) return fault(root.line, "no metrics");
    for (const auto& [section, line, members] : root.members) {
      if (section != "metrics" && section != "absent")
        return fault(line, "unknown key: " + section.substr(0, 64));
      if (!members.is_map()) return fault(line, section + " must be a mapping");
      for (const auto& member : members.members) NL_CHECK(take(section == "metrics", member));
    }
    return std::move(metrics_);
  }

 private:
  Error fault(int line, const std::string& what) const { return yaml_error(name_, line, what, kForm); }

  Result<void> take(bool has_value, const YamlMember& member) {
    const auto metric = find_metric(member.key);
    if (!metric) return fault(member.line, "no metric is called " + member.key.substr(0, 64));
    if (!member.value.is_text()) return fault(member.line, member.key + " has no value");
    if (!has_value) {
      metrics_.absent(*metric, member.value.text);
      return {};
    }
    double number = 0;
    if (!model::label_number(member.value.text, number)) {
      return fault(member.line, "not a number: " + member.value.text.substr(0, 64));
    }
    metrics_.set(*metric, Known<double>(number));
    return {};
  }

  const std::string& name_;
  MetricSet metrics_;
};

}  // namespace

Result<MetricSet> parse_metric_case(const std::string& text, const std::string& name) {
  NL_TRY(const YamlNode root, parse_yaml(text, name));
  return CaseReader(name).read(root);
}

}  // namespace nl::analyze
