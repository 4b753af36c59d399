#pragma once
// PatternTable: ordered rules of data/taxonomy/*.yaml, of which the first that fits names a class and a
// family. Patterns must fit a whole name. Thread-safe once loaded.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/op_class.h"
#include "base/embedded_file.h"
#include "base/result.h"

namespace re2 {
class RE2;
}

namespace nl::analyze {

/// What a rule can look at; views of the caller's text.
struct MatchSubject {
  std::string_view name;                               ///< for function: and op:
  std::string_view scope = {};                         ///< namespaces
  const std::vector<std::string>* functors = nullptr;  ///< qualified names of template arguments
};

class PatternTable {
 public:
  struct Rule {
    OpClass op_class = OpClass::k_other;
    std::string family;
    std::unique_ptr<re2::RE2> scope;  ///< nullptr: any
    int functor = -1;                 ///< number in the set of functors; -1: any
  };

  static Result<PatternTable> load(const EmbeddedFile& file);
  PatternTable(PatternTable&&) noexcept;
  PatternTable& operator=(PatternTable&&) noexcept;
  ~PatternTable();

  /// nullptr if no rule fits.
  const Rule* find(const MatchSubject& subject) const;
  size_t size() const { return rules_.size(); }

 private:
  struct Sets;
  PatternTable();
  bool fits(const Rule& rule, const MatchSubject& subject, std::optional<std::vector<bool>>& functors) const;

  std::vector<Rule> rules_;
  std::unique_ptr<Sets> sets_;
};

}  // namespace nl::analyze
