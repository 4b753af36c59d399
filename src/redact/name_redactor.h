#pragma once
// NameRedactor: redacts names that analysis reads more from than their words: classes, families, types,
// tiles. Where the redacted name would be read otherwise, it states what the original tells
// (analyze/names/stated_name.h). Not for use from several threads at once.

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyze/names/taxonomy.h"
#include "redact/text_redactor.h"

namespace nl::redact {

/// What a name is of.
enum class NameRole : uint8_t { kOther, kKernel, kOp, kLayer, kLayerType };

class NameRedactor {
 public:
  NameRedactor(TextRedactor& texts, const analyze::Taxonomy& taxonomy) : texts_(texts), taxonomy_(taxonomy) {}

  std::string name(std::string_view given, NameRole role);

  /// Whether ops or layers have other names now.
  bool has_changed_ops() const { return has_changed_ops_; }

 private:
  using Statement = std::map<std::string, std::string>;
  Statement lost(std::string_view original, std::string_view redacted, NameRole role) const;
  Statement lost_of_kernel(std::string_view original, std::string_view redacted) const;

  TextRedactor& texts_;
  const analyze::Taxonomy& taxonomy_;
  bool has_changed_ops_ = false;
};

}  // namespace nl::redact
