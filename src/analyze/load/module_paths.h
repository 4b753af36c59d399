#pragma once
// Finds the module of the model that a span belongs to, from the nn.Module frames around it. PyTorch's
// profiler records these frames.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/load/span_memo.h"

namespace nl::analyze {

/// Whether a frame of this name is a module's.
bool is_module_frame(std::string_view name);

/// Of a module frame: "Linear_37" of "nn.Module: Linear_37".
std::string_view module_instance(std::string_view name);
/// And "Linear".
std::string_view module_class(std::string_view name);

/// Paths of modules around spans, each found once: "Bert / BertLayer / Linear", without instance numbers. Of
/// more than kMostModules the middle is left out and counted, since the texts of deep nestings grow with the
/// square of the depth: "A / B / (400 modules) / Y / Z".
class ModulePaths {
 public:
  explicit ModulePaths(const Timeline& run);
  static constexpr uint32_t kMostModules = 48;

  bool any() const { return any_; }
  /// Empty outside of modules.
  const std::string& around(uint32_t span);

 private:
  /// A module on a path, behind the one before it.
  struct Step {
    uint32_t outer;  ///< in steps_; kNoRow for the first
    std::string_view class_name;
    uint32_t depth;  ///< 1 for the first
    uint32_t begin;  ///< the kShown-th of the path, or itself before that
    const std::string* text = nullptr;
  };
  static constexpr uint32_t kShown = kMostModules / 6;  ///< on both sides of the middle that is left out

  uint32_t extended(uint32_t outer, uint32_t span);
  std::string text_of(uint32_t step) const;
  /// The last `count` modules up to this one.
  std::string end_of(uint32_t step, uint32_t count) const;

  const Timeline& run_;
  std::vector<bool> is_module_;
  bool any_ = false;
  SpanMemo<uint32_t> known_;
  std::vector<Step> steps_;
  std::map<std::pair<uint32_t, std::string_view>, uint32_t> places_;  ///< of steps, by outer and class
  std::set<std::string> texts_;
  const std::string none_;
};

}  // namespace nl::analyze
