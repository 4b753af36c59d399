#pragma once
// Finds the module of the model that a span belongs to, from the nn.Module frames around it. PyTorch's
// profiler records these frames.

#include <map>
#include <string>
#include <vector>

#include "analyze/load/span_memo.h"

namespace nl::analyze {

/// Whether a frame of this name is a module's.
bool is_module_frame(std::string_view name);

/// Of a module frame: "Linear_37" of "nn.Module: Linear_37".
std::string_view module_instance(std::string_view name);
/// And "Linear".
std::string_view module_class(std::string_view name);

/// Paths of modules around spans, each found once: "Bert / BertLayer / Linear", without instance numbers.
class ModulePaths {
 public:
  explicit ModulePaths(const Timeline& run);
  bool any() const { return any_; }
  /// Empty outside of modules.
  const std::string& around(uint32_t span);

 private:
  const std::string* extended(const std::string* path, uint32_t span);

  const Timeline& run_;
  std::vector<bool> is_module_;
  bool any_ = false;
  SpanMemo<const std::string*> known_;
  std::map<std::string, std::string> paths_;
  const std::string none_;
};

}  // namespace nl::analyze
