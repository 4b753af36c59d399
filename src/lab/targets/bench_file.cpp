#include "lab/targets/bench_file.h"

#include <algorithm>
#include <filesystem>

#include "base/decimal.h"
#include "base/files.h"
#include "base/json.h"
#include "base/json_schema.h"
#include "base/path_text.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/yaml.h"
#include "lab/bench_schema_text.inc"

namespace nl::lab {
namespace {

using nlohmann::json;
using Texts = std::map<std::string, std::string>;

constexpr int64_t kMostBytes = 1 << 20;
constexpr size_t kMostTargets = 10'000;
constexpr int kMostDepth = 12;  // of folders that are searched
constexpr char kHint[] = "neurolens bench schema prints what such a file may hold";

const JsonSchema& schema() {
  static const JsonSchema kSchema{std::string(bench_schema()), "bench.yaml"};
  return kSchema;
}

// ---- Shape

json as_json(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return nullptr;
    case YamlNode::Kind::kText:
      return node.text;
    case YamlNode::Kind::kList: {
      json list = json::array();
      for (const YamlNode& item : node.items) list.push_back(as_json(item));
      return list;
    }
    case YamlNode::Kind::kMap:
      break;
  }
  json object = json::object();
  for (const YamlMember& member : node.members) object[member.key] = as_json(member.value);
  return object;
}

/// The line of what a JSON pointer names, or of the nearest thing around it.
int line_of(const YamlNode& root, const std::string& pointer) {
  const YamlNode* node = &root;
  int line = root.line;
  for (const std::string& step : split(pointer, '/')) {
    if (step.empty()) continue;
    const YamlNode* next = nullptr;
    int64_t index = 0;
    if (node->is_list() && parse_int64(step, index) && index >= 0 && index < std::ssize(node->items)) {
      next = &node->items[static_cast<size_t>(index)];
      line = next->line;
    } else {
      for (const YamlMember& member : node->members) {
        if (member.key != step) continue;
        next = &member.value;
        line = member.line;
      }
    }
    if (next == nullptr) return line;
    node = next;
  }
  return line;
}

// ---- Values

/// {name} replaced by the parameter of that name; braces around anything else stay.
std::string filled(const std::string& text, const Texts& parameters) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
    const auto found =
        end == std::string::npos ? parameters.end() : parameters.find(text.substr(at + 1, end - at - 1));
    if (found == parameters.end()) {
      out += text[at++];
    } else {
      out += found->second;
      at = end + 1;
    }
  }
  return out;
}

std::map<std::string, std::vector<std::string>> lists_in(const YamlNode& node) {
  std::map<std::string, std::vector<std::string>> lists;
  for (const YamlMember& member : node.members) {
    for (const YamlNode& item : member.value.items) lists[member.key].push_back(item.text);
  }
  return lists;
}

void take_whole(const YamlNode& node, std::string_view key, int64_t& to) {
  if (const YamlNode* const found = node.find(key))
    parse_int64(found->text, to);  // the schema has seen to it
}

/// "2.5" or "2.5%"; the schema has seen to it.
std::optional<double> number_in(const YamlNode& node, std::string_view key) {
  const YamlNode* const found = node.find(key);
  int64_t billionths = 0;
  if (found == nullptr) return std::nullopt;
  const std::string_view text = found->text;
  const bool is_percent = text.ends_with('%');
  if (parse_decimal(text.substr(0, text.size() - (is_percent ? 1 : 0)), 9, billionths) == DecimalParse::kBad)
    return std::nullopt;
  return static_cast<double>(billionths) * 1e-9;
}

ProfileLevel profile_level(const std::string& name) {
  if (name == "deep") return ProfileLevel::kDeep;
  return name == "light" ? ProfileLevel::kLight : ProfileLevel::kNone;
}

bool is_bench_file_name(const std::string& name) {
  return name == "bench.yaml" || name == "bench.yml" || name.ends_with(".bench.yaml");
}

/// Reads one combination of parameters of one target.
class TargetReader {
 public:
  TargetReader(const BenchFile& file, const YamlNode* defaults, const YamlNode& node, Texts parameters)
      : file_(file), defaults_(defaults), node_(node), parameters_(std::move(parameters)) {}

  Result<Target> read() const {
    Target target;
    target.line = node_.line;
    target.base_name = node_.find("name")->text;
    target.parameters = parameters_;
    target.name = target.base_name + parameters_text();
    target.about = text_in(node_, "about");
    if (defaults_ != nullptr) NL_CHECK(take_settings(*defaults_, target));
    NL_CHECK(take_settings(node_, target));
    for (const std::string& input : words_in(node_, "inputs")) target.inputs.push_back(below(input));
    if (const std::string time = text_in(node_, "time"); time.starts_with("printed "))
      target.printed = time.substr(time.find(' ') + 1);
    NL_CHECK(take_expectations(target));
    NL_CHECK(take_sides(target));
    return target;
  }

 private:
  Error fault(int line, const std::string& what) const { return yaml_error(file_.path, line, what, kHint); }

  std::string parameters_text() const {
    std::string text;
    for (const auto& [name, value] : parameters_) text += (text.empty() ? "[" : ",") + name + "=" + value;
    return text.empty() ? text : text + "]";
  }

  std::string below(const std::string& path) const {
    return (std::filesystem::path(file_.folder) / path).lexically_normal().string();
  }

  std::string text_in(const YamlNode& node, std::string_view key) const {
    const YamlNode* const found = node.find(key);
    return found == nullptr ? "" : filled(found->text, parameters_);
  }

  Texts texts_in(const YamlNode& node, std::string_view key) const {
    Texts texts;
    if (const YamlNode* const found = node.find(key)) {
      for (const YamlMember& member : found->members)
        texts[member.key] = filled(member.value.text, parameters_);
    }
    return texts;
  }

  std::vector<std::string> words_in(const YamlNode& node, std::string_view key) const {
    std::vector<std::string> words;
    if (const YamlNode* const found = node.find(key)) {
      for (const YamlNode& item : found->items) words.push_back(filled(item.text, parameters_));
    }
    return words;
  }

  Result<void> take_settings(const YamlNode& node, Target& target) const {
    take_whole(node, "warm_up", target.warm_up);
    take_whole(node, "iterations", target.iterations);
    take_whole(node, "time_limit", target.time_limit_seconds);
    if (node.find("seed") != nullptr) take_whole(node, "seed", target.seed.emplace());
    if (node.find("check") != nullptr) target.check = words_in(node, "check");
    if (node.find("tags") != nullptr) target.tags = words_in(node, "tags");
    if (node.find("pin") != nullptr) target.pin = text_in(node, "pin");
    if (node.find("device") != nullptr) target.device = text_in(node, "device");
    if (node.find("profile") != nullptr) target.profile = profile_level(text_in(node, "profile"));
    for (const auto& [key, value] : texts_in(node, "labels")) target.labels[key] = value;
    const YamlNode* const stop = node.find("stop");
    return stop == nullptr ? Result<void>() : take_stop(*stop, target.stop);
  }

  Result<void> take_stop(const YamlNode& node, StopRule& stop) const {
    take_whole(node, "runs", stop.runs);
    if (node.find("least") == nullptr) stop.least = std::min(stop.least, stop.runs);
    take_whole(node, "least", stop.least);
    if (const auto percent = number_in(node, "width")) stop.width = *percent / 100;
    if (const auto minutes = number_in(node, "minutes")) stop.minutes = minutes;
    constexpr int64_t kMostRuns = 10'000;
    if (stop.least >= 1 && stop.runs >= stop.least && stop.runs <= kMostRuns) return {};
    return fault(node.line, "runs must be from least to 10000, and least from 1");
  }

  Result<void> take_expectations(Target& target) const {
    const YamlNode* const list = node_.find("expect");
    if (list == nullptr) return {};
    for (const YamlNode& item : list->items) {
      auto expectation = parse_expectation(filled(item.text, parameters_));
      if (!expectation) return fault(item.line, expectation.error().message);
      expectation->line = item.line;
      target.expectations.push_back(std::move(*expectation));
    }
    return {};
  }

  Result<void> take_sides(Target& target) const {
    if (const YamlNode* const baseline = node_.find("baseline")) {
      NL_TRY(target.baseline, side_of("baseline", *baseline));
    }
    const YamlNode* const variants = node_.find("variants");
    if (variants == nullptr) return {};
    for (const YamlMember& member : variants->members) {
      if (member.key == "baseline") return fault(member.line, "a variant cannot be called baseline");
      NL_TRY(Side side, side_of(member.key, member.value));
      target.variants.push_back(std::move(side));
    }
    return {};
  }

  Result<Side> side_of(const std::string& name, const YamlNode& node) const {
    Side side;
    side.name = name;
    side.line = node.line;
    if (node.find("command") != nullptr) {
      side.command = words_in(node, "command");
    } else {
      side.kind = node.find("model") != nullptr ? SideKind::kModel : SideKind::kPython;
      side.workload = text_in(node, side.kind == SideKind::kModel ? "model" : "python");
    }
    side.folder = below(text_in(node, "folder"));
    for (const YamlNode* const from : {defaults_, &node_, &node}) {
      if (from == nullptr) continue;
      for (const auto& [key, value] : texts_in(*from, "environment")) side.environment[key] = value;
    }
    for (const char* const option : {"threads", "inter_threads", "optimize", "provider", "library", "data"}) {
      if (const std::string value = text_in(node, option); !value.empty()) side.options[option] = value;
    }
    side.sizes = texts_in(node, "size");
    if (side.kind != SideKind::kModel && !(side.options.empty() && side.sizes.empty()))
      return fault(node.line, "only a model has threads, optimize, size and the like");
    return side;
  }

  const BenchFile& file_;
  const YamlNode* defaults_;
  const YamlNode& node_;
  Texts parameters_;
};

/// Every combination of the values of a matrix, the last name turning fastest.
std::vector<Texts> combinations(const YamlNode* matrix) {
  std::vector<Texts> all = {{}};
  if (matrix == nullptr) return all;
  for (const auto& [name, values] : lists_in(*matrix)) {
    std::vector<Texts> next;
    for (const Texts& before : all) {
      for (const std::string& value : values) {
        next.push_back(before);
        next.back()[name] = value;
      }
    }
    if (next.size() > kMostTargets) return next;
    all = std::move(next);
  }
  return all;
}

/// The target for each combination of its parameters, with its larger sizes.
Result<void> add_targets(const YamlNode& node, const YamlNode* defaults, BenchFile& file) {
  for (const Texts& parameters : combinations(node.find("matrix"))) {
    NL_TRY(Target target, TargetReader(file, defaults, node, parameters).read());
    if (const YamlNode* const grow = node.find("grow")) {
      for (const Texts& sizes : combinations(grow)) {
        Texts larger = parameters;
        for (const auto& [name, value] : sizes) larger[name] = value;
        NL_TRY(target.larger.emplace_back(), TargetReader(file, defaults, node, std::move(larger)).read());
      }
    }
    file.targets.push_back(std::move(target));
  }
  return {};
}

Result<void> check_shape(const YamlNode& root, const std::string& path) {
  NL_TRY(const auto faults, schema().faults(as_json(root), 8));
  if (faults.empty()) return {};
  const JsonFault& first = *std::max_element(faults.begin(), faults.end(), [](const auto& a, const auto& b) {
    return a.pointer.size() < b.pointer.size();  // the innermost says most
  });
  const std::string where = first.pointer.empty() ? "" : first.pointer.substr(1) + ": ";
  return yaml_error(path, line_of(root, first.pointer), where + first.message, kHint);
}

}  // namespace

std::string_view bench_schema() {
  return kBenchSchemaText;
}

Result<Expectation> parse_expectation(const std::string& text) {
  static constexpr std::pair<const char*, Figure> kFigures[] = {
      {"speedup", Figure::kSpeedup},    {"median_ms", Figure::kMedianMs},  {"p50_ms", Figure::kMedianMs},
      {"p90_ms", Figure::kP90Ms},       {"p99_ms", Figure::kP99Ms},        {"first_ms", Figure::kFirstMs},
      {"memory_mb", Figure::kMemoryMb}, {"per_second", Figure::kPerSecond}};
  const std::vector<std::string> words = split(trimmed(text), ' ');
  Expectation expectation;
  expectation.text = text;
  const auto figure = std::find_if(std::begin(kFigures), std::end(kFigures), [&](const auto& known) {
    return !words.empty() && words[0] == known.first;
  });
  int64_t billionths = 0;
  if (words.size() != 3 || figure == std::end(kFigures) || (words[1] != ">=" && words[1] != "<=") ||
      parse_decimal(words[2], 9, billionths) == DecimalParse::kBad || billionths <= 0)
    return Error{
        ErrorCode::kBadInput, "not an expectation: " + text.substr(0, 100),
        "such as: speedup >= 1.05, p99_ms <= 40; figures are speedup, median_ms, p90_ms, p99_ms, first_ms, "
        "memory_mb and per_second"};
  expectation.figure = figure->second;
  expectation.at_least = words[1] == ">=";
  expectation.bound = static_cast<double>(billionths) * 1e-9;
  const bool more_is_better =
      expectation.figure == Figure::kSpeedup || expectation.figure == Figure::kPerSecond;
  if (expectation.at_least == more_is_better) return expectation;
  return Error{ErrorCode::kBadInput, std::string("of ") + figure->first +
                                         (more_is_better ? " more" : " less") + " is better: write " +
                                         figure->first + (more_is_better ? " >= " : " <= ") + words[2]};
}

const char* figure_name(Figure figure) {
  switch (figure) {
    case Figure::kSpeedup:
      return "speedup";
    case Figure::kMedianMs:
      return "median_ms";
    case Figure::kP90Ms:
      return "p90_ms";
    case Figure::kP99Ms:
      return "p99_ms";
    case Figure::kFirstMs:
      return "first_ms";
    case Figure::kMemoryMb:
      return "memory_mb";
    case Figure::kPerSecond:
      return "per_second";
  }
  return "";
}

Result<BenchFile> parse_bench_file(const std::string& text, const std::string& path) {
  NL_TRY(const YamlNode root, parse_yaml(text, path));
  NL_CHECK(check_shape(root, path));
  BenchFile file;
  file.path = path;
  file.folder = std::filesystem::path(path).parent_path().string();
  file.sha256 = sha256_hex(text);
  const YamlNode* const suite = root.find("suite");
  file.suite = suite == nullptr ? base_name(file.folder) : suite->text;
  if (const YamlNode* const machine = root.find("environment")) {
    if (const YamlNode* const allow = machine->find("allow")) {
      for (const YamlMember& member : allow->members) file.allowed[member.key] = member.value.text;
    }
  }
  for (const YamlNode& node : root.find("targets")->items) {
    NL_CHECK(add_targets(node, root.find("defaults"), file));
    if (file.targets.size() > kMostTargets)
      return yaml_error(path, node.line, "more than 10000 targets, counting each combination of parameters");
  }
  return file;
}

Result<BenchFile> read_bench_file(const Environment& surroundings, const std::string& path) {
  NL_TRY(const std::string text, read_small_file(path, kMostBytes));
  return parse_bench_file(text, surroundings.absolute(path));
}

std::vector<std::string> find_bench_files(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::error_code failed;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto at = fs::recursive_directory_iterator(folder, options, failed); !failed && at != fs::end(at);
       at.increment(failed)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      const bool is_foreign = name.starts_with('.') || name == "node_modules" || name == "build";
      if (is_foreign || at.depth() >= kMostDepth) at.disable_recursion_pending();
    } else if (is_bench_file_name(name) && at->is_regular_file(ignored)) {
      found.push_back(at->path().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace nl::lab
