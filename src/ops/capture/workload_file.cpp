#include "ops/capture/workload_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/files.h"
#include "base/yaml.h"
#include "capture/tools/tool_presets.h"
#include "model/labels.h"

namespace nl::ops {
namespace {

constexpr int64_t kMaxBytes = 64 * 1024;
constexpr char kHint[] =
    "a workload has command: [program, argument, ...], and may have folder, environment, values, labels, "
    "range, phases, inputs, mode, top, nsys, ncu, metrics and allow; see docs/guides/deep.md";

constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
constexpr char kLettersAndDigits[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

bool is_word(const std::string& text) {
  return !text.empty() && text.size() <= 64 && text.find_first_of(kLetters) == 0 &&
         text.find_first_not_of(kLettersAndDigits) == std::string::npos;
}

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class WorkloadReader {
 public:
  WorkloadReader(const std::string& name, const std::vector<std::string>& overrides,
                 const std::vector<std::string>& set)
      : name_(name), overrides_(overrides), set_(set) {}

  Result<Workload> read(const YamlNode& root) {
    if (!root.is_map()) return fault(root.line, "a mapping is expected");
    if (const YamlNode* const values = root.find("values")) NL_CHECK(take_values(*values));
    NL_CHECK(take_overrides());
    for (const auto& [key, line, value] : root.members) {
      if (value.kind == YamlNode::Kind::kNull) return fault(line, key.substr(0, 64) + " has no value");
      NL_CHECK(take(key, line, value));
    }
    if (workload_.command.empty()) return fault(root.line, "there is no command");
    workload_.command.insert(workload_.command.end(), passed_on_.begin(), passed_on_.end());
    return std::move(workload_);
  }

 private:
  Error fault(int line, const std::string& what) const { return yaml_error(name_, line, what, kHint); }

  /// A text with its {values} filled in; braces around anything else stay as they are.
  Result<std::string> filled(const YamlNode& node, const std::string& what) const {
    if (!node.is_text()) return fault(node.line, what + " must be a text");
    std::string out;
    for (size_t at = 0; at < node.text.size();) {
      const size_t end = node.text[at] == '{' ? node.text.find('}', at) : std::string::npos;
      const auto value = end == std::string::npos
                             ? workload_.values.end()
                             : workload_.values.find(node.text.substr(at + 1, end - at - 1));
      if (value == workload_.values.end()) {
        out += node.text[at++];
      } else {
        out += value->second;
        at = end + 1;
      }
    }
    if (out.find('\0') != std::string::npos) return fault(node.line, what + " has a zero byte");
    return out;
  }

  Result<std::vector<std::string>> filled_list(const YamlNode& list, const std::string& what) const {
    if (!list.is_list()) return fault(list.line, what + " must be a list");
    std::vector<std::string> texts;
    for (const YamlNode& item : list.items) {
      NL_TRY(std::string text, filled(item, "an item of " + what));
      texts.push_back(std::move(text));
    }
    return texts;
  }

  Result<std::map<std::string, std::string>> filled_map(const YamlNode& map, const std::string& what) const {
    if (!map.is_map()) return fault(map.line, what + " must be a mapping");
    std::map<std::string, std::string> texts;
    for (const auto& [key, line, value] : map.members) {
      NL_TRY(texts[key], filled(value, what + "." + key.substr(0, 64)));
    }
    return texts;
  }

  Result<void> take_values(const YamlNode& values) {
    NL_TRY(workload_.values, filled_map(values, "values"));
    for (const auto& [key, value] : workload_.values) {
      if (!is_word(key)) return fault(values.line, "not a valid name for a value: " + key.substr(0, 64));
    }
    return {};
  }

  Result<void> take_overrides() {
    for (const std::string& text : overrides_) {
      const size_t equals = text.find('=');
      if (equals == std::string::npos || equals == 0)
        return Error{ErrorCode::kBadInput, "key=value is expected after " + name_ + ", not: " + text};
      const auto value = workload_.values.find(text.substr(0, equals));
      if (value == workload_.values.end()) {
        passed_on_.push_back(text);
      } else {
        value->second = text.substr(equals + 1);
      }
    }
    for (const std::string& text : set_)
      workload_.values[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    return {};
  }

  Result<void> take(const std::string& key, int line, const YamlNode& value) {
    if (key == "values") return {};
    if (key == "environment") return take_environment(value);
    if (key == "labels") return take_labels(value);
    if (key == "phases") return take_phases(value);
    if (key == "range") return take_range(value);
    if (key == "command") return assign(workload_.command, filled_list(value, key));
    if (key == "inputs") return assign(workload_.inputs, filled_list(value, key));
    if (key == "folder") return assign(workload_.folder, filled(value, key));
    if (key == "nsys") return assign(workload_.nsys, filled(value, key));
    if (key == "ncu") return assign(workload_.ncu, filled(value, key));
    if (key == "mode") return take_mode(value);
    if (key == "top") return take_top(value);
    if (key == "metrics") return take_metrics(value);
    if (key == "allow") return assign(workload_.allow, filled_map(value, key));
    return fault(line, "unknown key: " + key.substr(0, 64));
  }

  template <class T>
  static Result<void> assign(T& to, Result<T> from) {
    if (!from) return from.error();
    to = std::move(*from);
    return {};
  }

  Result<void> take_environment(const YamlNode& map) {
    NL_TRY(const auto variables, filled_map(map, "environment"));
    for (const auto& [key, value] : variables) {
      if (!is_word(key)) return fault(map.line, "not a variable: " + key.substr(0, 64));
      workload_.environment.push_back(key + "=" + value);
    }
    return {};
  }

  Result<void> take_labels(const YamlNode& map) {
    NL_TRY(workload_.labels, filled_map(map, "labels"));
    for (const auto& [key, value] : workload_.labels) {
      for (const auto& fine : {model::check_label_key(key), model::check_label_value(key, value)}) {
        if (!fine) return fault(map.line, fine.error().message);
      }
    }
    return {};
  }

  Result<void> take_phases(const YamlNode& map) {
    NL_TRY(const auto phases, filled_map(map, "phases"));
    for (const auto& [phase, range] : phases) {
      if (phase != "prefill" && phase != "decode" && phase != "decode_step")
        return fault(map.line, "phases are prefill, decode and decode_step, not: " + phase.substr(0, 64));
      workload_.phases.push_back(phase + "=" + range);
    }
    return {};
  }

  Result<void> take_mode(const YamlNode& node) {
    NL_TRY(workload_.mode, filled(node, "mode"));
    if (workload_.mode == "light" || workload_.mode == "deep") return {};
    return fault(node.line, "mode is light or deep");
  }

  Result<void> take_top(const YamlNode& node) {
    NL_TRY(const std::string text, filled(node, "top"));
    const auto top = whole_number(text);
    if (!top || *top < 1 || *top > 100) return fault(node.line, "top is a number from 1 to 100");
    workload_.top = *top;
    return {};
  }

  Result<void> take_metrics(const YamlNode& list) {
    NL_TRY(workload_.metrics, filled_list(list, "metrics"));
    for (const std::string& name : workload_.metrics) {
      if (!capture::is_counter_name(name))
        return fault(list.line, "not the name of a counter: " + name.substr(0, 64));
    }
    return {};
  }

  Result<void> take_range(const YamlNode& node) {
    NL_TRY(const std::string text, filled(node, "range"));
    auto range = capture::parse_nvtx_range(text);
    if (!range) return fault(node.line, range.error().message + " (" + range.error().hint + ")");
    workload_.range = *range;
    return {};
  }

  const std::string& name_;
  const std::vector<std::string>& overrides_;
  const std::vector<std::string>& set_;
  std::vector<std::string> passed_on_;
  Workload workload_;
};

}  // namespace

Result<Workload> parse_workload(const std::string& text, const std::string& name,
                                const std::vector<std::string>& overrides,
                                const std::vector<std::string>& set) {
  NL_TRY(const YamlNode root, parse_yaml(text, name));
  return WorkloadReader(name, overrides, set).read(root);
}

Result<Workload> read_workload(const Environment& surroundings, const std::string& path,
                               const std::vector<std::string>& overrides,
                               const std::vector<std::string>& set) {
  NL_TRY(const std::string text, read_small_file(path, kMaxBytes));
  NL_TRY(Workload workload, parse_workload(text, path, overrides, set));
  std::error_code failed;
  const auto beside = std::filesystem::path(surroundings.absolute(path)).parent_path();
  workload.folder = (beside / workload.folder).lexically_normal().string();
  for (std::string& input : workload.inputs) input = (beside / input).lexically_normal().string();
  if (!std::filesystem::is_directory(workload.folder, failed))
    return Error{ErrorCode::kNotFound, "no such folder: " + workload.folder};
  return workload;
}

Result<void> pass_turns_on(Workload& workload) {
  constexpr int64_t kMost = 1'000'000'000;
  constexpr struct {
    const char* value;
    const char* variable;
    int64_t least;
  } kTurns[] = {{"iterations", "NEUROLENS_ITERATIONS", 1}, {"warm_up", "NEUROLENS_WARM_UP", 0}};
  for (const auto& turns : kTurns) {
    const auto value = workload.values.find(turns.value);
    if (value == workload.values.end()) continue;
    const auto number = whole_number(value->second);
    if (!number || *number < turns.least || *number > kMost)
      return Error{ErrorCode::kBadInput, std::string(turns.value) + " is a number from " +
                                             std::to_string(turns.least) + ", not: " + value->second};
    workload.environment.push_back(turns.variable + ("=" + value->second));
  }
  return {};
}

bool names_workload_file(const std::string& word) {
  return word.ends_with(".yaml") || word.ends_with(".yml");
}

}  // namespace nl::ops
