#include "ops/gate/expectations.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "base/yaml.h"
#include "ops/gate/share.h"

namespace nl::ops {
namespace {

using compare::ChangeRow;
using compare::Comparison;
using compare::PartRow;

constexpr int64_t kMaxExpectationBytes = 64 * 1024;
constexpr char kExpectationHint[] =
    "base, window, threshold, allow_untested, and limits: a list of {window|part|kernel: WHAT, at_most: "
    "LIMIT}";
constexpr const char* kOptions[] = {"base", "window", "threshold", "allow_untested"};
constexpr const char* kKinds[] = {"window", "part", "kernel"};

/// 1.3 ms, 800us, 15 ns, 2s
std::optional<int64_t> parse_duration(const std::string& text) {
  static const std::map<std::string, double> kUnits = {
      {"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(end, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' '));
  const auto it = kUnits.find(unit);
  if (error != std::errc() || it == kUnits.end() || value < 0 || value * it->second > 9e18)
    return std::nullopt;
  return std::llround(value * it->second);
}

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Result<Expectations> read(const YamlNode& root) {
    if (!root.is_map()) return fault(root.line, "a mapping is expected");
    for (const auto& [key, line, value] : root.members) NL_CHECK(take(key, line, value));
    return std::move(out_);
  }

 private:
  Error fault(int line, const std::string& what) const {
    return yaml_error(name_, line, what, kExpectationHint);
  }

  Result<void> take(const std::string& key, int line, const YamlNode& value) {
    if (key == "limits") return take_limits(value);
    for (const char* option : kOptions) {
      if (key != option) continue;
      if (!value.is_text()) return fault(line, key + " needs a text");
      out_.options[key] = value.text;
      return {};
    }
    return fault(line, "unknown key: " + key.substr(0, 64));
  }

  Result<void> take_limits(const YamlNode& list) {
    if (!list.is_list()) return fault(list.line, "limits must be a list");
    for (const YamlNode& item : list.items) {
      NL_TRY(Limit limit, limit_of(item));
      out_.limits.push_back(std::move(limit));
    }
    return {};
  }

  Result<Limit> limit_of(const YamlNode& item) const {
    Limit limit;
    if (!item.is_map()) return fault(item.line, "a limit is a mapping");
    for (const auto& [key, line, value] : item.members) {
      if (!value.is_text()) return fault(line, key.substr(0, 64) + " needs a text");
      NL_CHECK(take_key(limit, key, line, value.text));
    }
    if (limit.kind.empty() || limit.text.empty())
      return fault(item.line, "a limit needs at_most and one of window, part and kernel");
    return limit;
  }

  Result<void> take_key(Limit& limit, const std::string& key, int line, const std::string& text) const {
    if (key == "at_most") return take_limit(limit, line, text);
    for (const char* kind : kKinds) {
      if (key != kind || !limit.kind.empty()) continue;
      limit.kind = key;
      limit.what = text;
      return {};
    }
    return fault(line,
                 "unknown key of a limit, or a second one of window, part and kernel: " + key.substr(0, 64));
  }

  Result<void> take_limit(Limit& limit, int line, const std::string& text) const {
    limit.text = text;
    if (const auto ns = parse_duration(text)) {
      limit.most_ns = *ns;
      return {};
    }
    const auto share = parse_share("at_most", text);
    if (!share || !text.ends_with('%'))
      return fault(line, "at_most is a time such as 1.3 ms or a share such as 5%");
    limit.share = *share;
    return {};
  }

  const std::string& name_;
  Expectations out_;
};

bool fits(const PartRow& part, const std::string& what) {
  const std::string kind(compare::part_kind_name(part.kind));
  return what == kind || what == kind + " " + part.name;
}

std::optional<int64_t> sum_of_parts(const Comparison& comparison, const std::string& what) {
  std::optional<int64_t> sum;
  for (const PartRow& part : comparison.parts) {
    if (fits(part, what)) sum = sum.value_or(0) + part.new_ns;
  }
  return sum;
}

bool names_hold(const ChangeRow& change, const std::string& what) {
  const auto holds = [&](const std::string& name) { return name.find(what) != std::string::npos; };
  return holds(change.name) || std::any_of(change.next->names.begin(), change.next->names.end(), holds);
}

std::optional<int64_t> sum_of_kernels(const Comparison& comparison, const std::string& what) {
  std::optional<int64_t> sum;
  for (const ChangeRow& change : comparison.changes) {
    if (change.next && names_hold(change, what)) sum = sum.value_or(0) + change.next->time_ns;
  }
  return sum;
}

std::optional<int64_t> value_of(const Comparison& comparison, const Limit& limit) {
  if (limit.kind == "window") return comparison.next.window_ns;
  return limit.kind == "part" ? sum_of_parts(comparison, limit.what) : sum_of_kernels(comparison, limit.what);
}

bool is_met(const Limit& limit, const std::optional<int64_t>& value, double share) {
  if (!value) return false;
  return limit.share >= 0 ? share <= limit.share : *value <= limit.most_ns;
}

}  // namespace

Result<Expectations> parse_expectations(const std::string& text, const std::string& name) {
  NL_TRY(const YamlNode root, parse_yaml(text, name));
  return Reader(name).read(root);
}

Result<Expectations> read_expectations(const std::string& path) {
  NL_TRY(const std::string text, read_small_file(path, kMaxExpectationBytes));
  return parse_expectations(text, path);
}

std::vector<compare::LimitCheck> check_limits(const Comparison& comparison,
                                              const std::vector<Limit>& limits) {
  const auto window = static_cast<double>(comparison.next.window_ns);
  std::vector<compare::LimitCheck> out;
  for (const Limit& limit : limits) {
    const auto value = value_of(comparison, limit);
    const double share = value && window > 0 ? static_cast<double>(*value) / window : 0;
    out.push_back({limit.kind, limit.what, limit.text, value, value ? std::optional(share) : std::nullopt,
                   is_met(limit, value, share)});
  }
  return out;
}

}  // namespace nl::ops
