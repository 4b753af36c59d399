#include "analyze/load/phases.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <vector>

#include "analyze/engine_files.inc"
#include "base/parsed_data.h"

namespace nl::analyze {
namespace {

constexpr size_t kLongestName = 1024;

/// The number in one group of a match; absent if the group took no part.
class Groups {
 public:
  Groups(const RE2& pattern, std::string_view name) : pattern_(pattern) {
    groups_.resize(static_cast<size_t>(pattern.NumberOfCapturingGroups()) + 1);
    const re2::StringPiece text(name.data(), name.size());
    pattern.Match(text, 0, text.size(), RE2::ANCHOR_BOTH, groups_.data(), static_cast<int>(groups_.size()));
  }

  bool has(const std::string& group) const { return !text_of(group).empty(); }

  std::optional<int64_t> number(const std::string& group) const {
    const re2::StringPiece text = text_of(group);
    int64_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || failed != std::errc()) return std::nullopt;
    return number;
  }

 private:
  re2::StringPiece text_of(const std::string& group) const {
    const auto& names = pattern_.NamedCapturingGroups();
    const auto it = names.find(group);
    return it == names.end() ? re2::StringPiece() : groups_[static_cast<size_t>(it->second)];
  }

  const RE2& pattern_;
  std::vector<re2::StringPiece> groups_;
};

/// The patterns of data/engines, compiled once.
class EnginePatterns {
 public:
  static const EnginePatterns& shared() {
    static const EnginePatterns patterns;
    return patterns;
  }

  std::optional<EngineStep> step_of(std::string_view name) const {
    std::vector<int> fitting;
    if (!set_.Match(re2::StringPiece(name.data(), name.size()), &fitting)) return std::nullopt;
    const auto first = static_cast<size_t>(*std::min_element(fitting.begin(), fitting.end()));
    return step_from(engines_[first], Groups(*patterns_[first], name));
  }

 private:
  EnginePatterns() : set_(RE2::Options(), RE2::ANCHOR_BOTH) {
    const auto root = parse_data(std::string(kEngineFiles[0].text), std::string(kEngineFiles[0].name));
    for (const YamlNode& step : root.value().find("steps")->items) {
      const std::string& pattern = step.find("pattern")->text;
      set_.Add(pattern, nullptr);
      patterns_.push_back(std::make_unique<RE2>(pattern));
      engines_.push_back(step.find("engine")->text);
    }
    set_.Compile();
  }

  static std::optional<EngineStep> step_from(const std::string& engine, const Groups& groups) {
    EngineStep step{engine,
                    Phase::kMixed,
                    groups.number("prefill_requests"),
                    groups.number("prefill_tokens"),
                    groups.number("decode_requests"),
                    groups.number("decode_tokens"),
                    groups.number("decode_context")};
    if (groups.has("mixed")) return step;
    const int64_t prefill = step.prefill_requests.value_or(0), decode = step.decode_requests.value_or(0);
    if (prefill + decode == 0) return std::nullopt;
    if (!step.decode_tokens) step.decode_tokens = step.decode_requests;  // one token a request
    if (decode == 0) step.phase = Phase::kPrefill;
    if (prefill == 0) step.phase = Phase::kDecodeStep;
    return step;
  }

  RE2::Set set_;
  std::vector<std::unique_ptr<RE2>> patterns_;
  std::vector<std::string> engines_;
};

}  // namespace

std::string_view phase_name(Phase phase) {
  static constexpr std::string_view kNames[] = {"prefill", "decode", "decode_step", "mixed"};
  return kNames[static_cast<size_t>(phase)];
}

std::optional<EngineStep> engine_step_of(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) return std::nullopt;
  return EnginePatterns::shared().step_of(name);
}

std::optional<Phase> phase_of(std::string_view name, const PhaseNames& names) {
  if (name == names.prefill) return Phase::kPrefill;
  if (name == names.decode_all) return Phase::kDecodeAll;
  if (name == names.decode_step) return Phase::kDecodeStep;
  const auto step = engine_step_of(name);
  return step ? std::optional(step->phase) : std::nullopt;
}

}  // namespace nl::analyze
