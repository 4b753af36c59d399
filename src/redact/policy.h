#pragma once
// What a redacted run hides. A policy is a file that people write; without one, everything is hidden that may
// be secret, and shapes stay. YAML:
//
//   shapes: keep               # or round (to powers of two), or drop
//   public: [acme, router]     # more words that may be shown
//   private: [attention]       # words of the public list that must not be shown
//   keep: [spans.args, run.hosts]   # fields that stay as they are

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "redact/text_redactor.h"

namespace nl::redact {

enum class Shapes { kKeep, kRound, kDrop };

struct Policy {
  Shapes shapes = Shapes::kKeep;
  WordRules words = {};
  std::set<std::string, std::less<>> kept_fields = {};

  bool keeps(std::string_view field) const { return kept_fields.contains(field); }
};

/// `name` stands in messages.
Result<Policy> parse_policy(const std::string& text, const std::string& name);

/// Every field that a policy may keep: table.column for texts of fact tables, and run.* for parts of
/// run.json.
std::vector<std::string> redacted_fields();

}  // namespace nl::redact
