#pragma once
// PatternTable: the ordered rules of data/taxonomy/*.yaml. The first rule that matches gives the class and
// the family. A pattern must match the whole name, in lower case. Thread-safe once loaded.

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/names/lazy_pattern.h"
#include "analyze/names/op_class.h"
#include "base/embedded_file.h"
#include "base/result.h"
#include "base/yaml.h"

namespace nl::analyze {

/// What a rule can look at, all of it in lower case; of each text the first 1024 bytes count.
struct MatchSubject {
  MatchSubject(std::string_view name, std::string_view scope = {},
               const std::vector<std::string>& functors = {});

  PatternText name;
  PatternText scope;                  ///< namespaces
  std::vector<PatternText> functors;  ///< names of template arguments, without namespaces
};

class PatternTable {
 public:
  struct Rule {
    OpClass op_class = OpClass::k_other;
    std::string family;
    std::unique_ptr<LazyPattern> name;     ///< nullptr: only by its words
    std::unique_ptr<LazyPattern> scope;    ///< nullptr: any
    std::unique_ptr<LazyPattern> functor;  ///< nullptr: any
  };

  static Result<PatternTable> load(const EmbeddedFile& file);

  /// nullptr if no rule fits.
  const Rule* find(const MatchSubject& subject) const;
  /// Compiles every pattern; load() leaves that to the first use.
  Result<void> check() const;

 private:
  friend class RuleReader;
  std::string file_;
  std::vector<Rule> rules_;
  std::unordered_map<std::string, size_t> words_;  ///< whole names, to the first rule that lists them
};

}  // namespace nl::analyze
