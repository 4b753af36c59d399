#include "analyze/rules/proof.h"

#include <algorithm>

#include "analyze/proof_files.inc"
#include "base/decimal.h"
#include "base/parsed_data.h"
#include "model/labels.h"

namespace nl::analyze {
namespace {

constexpr char kNoPromise[] = "promises no gain";

class ProofReader {
 public:
  explicit ProofReader(const std::string& name) : name_(name) {}

  Result<std::vector<RuleScore>> read(const YamlNode& root) {
    const YamlNode* const rules = root.find("rules");
    if (rules == nullptr || !rules->is_list()) return fault(root.line, "rules must be a list");
    std::vector<RuleScore> scores;
    for (const YamlNode& entry : rules->items) {
      NL_TRY(RuleScore score, read_entry(entry));
      scores.push_back(std::move(score));
    }
    return scores;
  }

 private:
  Error fault(int line, const std::string& what) const { return yaml_error(name_, line, what); }

  Result<std::string> text_of(const YamlNode& entry, const char* key) const {
    const YamlNode* const value = entry.find(key);
    if (value == nullptr || !value->is_text()) return fault(entry.line, std::string("no ") + key);
    return value->text;
  }

  Result<int64_t> count_of(const YamlNode& entry, const char* key) const {
    NL_TRY(const std::string text, text_of(entry, key));
    int64_t count = 0;
    if (parse_int64(text, count) && count >= 0) return count;
    return fault(entry.line, std::string(key) + " is no count: " + text);
  }

  Result<RuleScore> read_entry(const YamlNode& entry) const {
    RuleScore score;
    NL_TRY(score.rule, text_of(entry, "rule"));
    NL_TRY(const int64_t version, count_of(entry, "version"));
    score.rule_version = static_cast<int>(version);
    NL_TRY(score.pairs, count_of(entry, "pairs"));
    NL_TRY(score.held, count_of(entry, "held"));
    NL_TRY(score.covers_whole, count_of(entry, "covers_whole"));
    NL_TRY(const std::string median, text_of(entry, "median_ratio"));
    double ratio = 0;
    if (!model::label_number(median, ratio)) return fault(entry.line, "median_ratio is no number: " + median);
    score.median_ratio = ratio;
    score.verdict = verdict_on(score.pairs, score.held, score.median_ratio);
    return score;
  }

  const std::string& name_;
};

}  // namespace

Result<std::vector<RuleScore>> parse_proofs(const std::string& text, const std::string& name) {
  NL_TRY(const YamlNode root, parse_data(text, name));
  return ProofReader(name).read(root);
}

Result<std::vector<RuleScore>> built_in_proofs() {
  const EmbeddedFile& file = kProofFiles[0];
  return parse_proofs(std::string(file.text), "data/proof/" + std::string(file.name));
}

std::string proof_of(const Rule& rule, const std::vector<RuleScore>& proofs) {
  if (!promises_gain(rule)) return kNoPromise;
  const auto at = std::find_if(proofs.begin(), proofs.end(), [&](const RuleScore& one) {
    return one.rule == rule.id && one.rule_version == rule.version;
  });
  return at == proofs.end() ? proof_text({}) : proof_text(*at);
}

}  // namespace nl::analyze
