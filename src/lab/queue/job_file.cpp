#include "lab/queue/job_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include "base/base64.h"
#include "base/files.h"
#include "base/json.h"
#include "base/small_json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/yaml.h"

namespace nl::lab {
namespace {

using nlohmann::json;

constexpr int64_t kMostFileBytes = 256 << 20;
constexpr int64_t kMostLogBytes = 1 << 30, kLeastLogBytes = 4096;
constexpr int64_t kMostTimeLimit = 604'800 * int64_t{4};

/// What most programs need to start at all, and nothing that is a secret.
constexpr std::array<std::string_view, 9> kAlwaysPassed = {"HOME",  "LANG",   "LANGUAGE", "LOGNAME", "PATH",
                                                           "SHELL", "TMPDIR", "TZ",       "USER"};

/// Where an entry stands, for messages.
struct Place {
  std::string file;  ///< empty: it is no file
  int line = 0;

  Error error(const std::string& what, const std::string& hint = {}) const {
    return file.empty() ? Error{ErrorCode::kBadInput, what, hint} : yaml_error(file, line, what, hint);
  }
  Place at(const YamlNode& node) const { return {file, node.line == 0 ? line : node.line}; }
};

// ---- JSON and parameters in the form of YAML, so that one reader does for all

YamlNode node_of(const json& value, int line) {
  using enum YamlNode::Kind;
  if (value.is_string()) return YamlNode(kText, line, value.get<std::string>());
  if (value.is_number_integer() || value.is_boolean()) return YamlNode(kText, line, value.dump());
  YamlNode node(value.is_array() ? kList : value.is_object() ? kMap : kNull, line);
  if (value.is_array()) {
    for (const json& item : value) node.items.push_back(node_of(item, line));
  } else if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      node.members.push_back({key, line, node_of(member, line)});
  }
  return node;
}

// ---- Values

Result<std::string> text_at(const YamlNode& node, const std::string& key, const Place& place) {
  if (node.is_text()) return node.text;
  return place.at(node).error(key + " must be a text");
}

Result<int64_t> number_at(const YamlNode& node, const std::string& key, int64_t least, int64_t most,
                          const Place& place) {
  int64_t number = 0;
  const char* const end = node.text.data() + node.text.size();
  const auto [stopped, failed] = std::from_chars(node.text.data(), end, number);
  const bool is_number = node.is_text() && failed == std::errc() && stopped == end;
  if (is_number && number >= least && number <= most) return number;
  return place.at(node).error(fmt::format("{} must be a whole number from {} to {}", key, least, most));
}

/// A list of texts; a text alone is a list of one.
Result<std::vector<std::string>> texts_at(const YamlNode& node, const std::string& key, const Place& place) {
  std::vector<std::string> texts;
  if (node.is_text()) return std::vector{node.text};
  if (!node.is_list()) return place.at(node).error(key + " must be a list of texts");
  for (const YamlNode& item : node.items) {
    if (!item.is_text()) return place.at(item).error(key + " must be a list of texts");
    texts.push_back(item.text);
  }
  return texts;
}

Result<std::string> bytes_of_base64(const std::string& text, const std::string& key, const Place& place) {
  std::string url = text.substr(0, text.find('='));
  std::replace(url.begin(), url.end(), '+', '-');
  std::replace(url.begin(), url.end(), '/', '_');
  const auto bytes = bytes_of_base64url(url);
  if (!bytes || text.size() % 4 != 0) return place.error(key + " is no base64: " + text.substr(0, 40));
  return *bytes;
}

// ---- Entries

class EntryReader {
 public:
  EntryReader(const YamlNode& entry, const Environment& surroundings, Place place)
      : entry_(entry), surroundings_(surroundings), place_(std::move(place)) {}

  Result<JobPlan> read() {
    if (!entry_.is_map()) return place_.error("a job must be a map: command: [...], or shell: ...");
    plan_.folder = surroundings_.folder();
    for (const YamlMember& member : entry_.members) NL_CHECK(take(member));
    if (commands_ != 1)
      return place_.error("a job needs one of command, command_base64, shell and shell_base64",
                          "command: [program, argument] runs a program as it is; shell: text runs /bin/sh");
    auto environment = job_environment(environment_, surroundings_);
    if (!environment) return place_.error(environment.error().message, environment.error().hint);
    plan_.environment = std::move(*environment);
    if (auto fine = check_plan(plan_); !fine) return in_place(fine.error());
    return std::move(plan_);
  }

 private:
  Error in_place(const Error& error) const {
    Error said = place_.error(error.message, error.hint);
    said.code = error.code;
    return said;
  }

  Result<void> take(const YamlMember& member) {
    const std::string& key = member.key;
    const YamlNode& value = member.value;
    if (key == "command" || key == "command_base64") return take_command(key, value);
    if (key == "shell" || key == "shell_base64") return take_script(key, value);
    if (key == "folder") return take_folder(value);
    if (key == "use") return take_use(value);
    if (key == "retry") return take_retries(value);
    if (key == "name") return set(plan_.name, text_at(value, key, place_));
    if (key == "device") return set(plan_.device, text_at(value, key, place_));
    if (key == "env") return set(environment_, texts_at(value, key, place_));
    if (key == "needs") return set(plan_.needs, texts_at(value, key, place_));
    if (key == "priority") return set(plan_.priority, number_at(value, key, -1'000'000, 1'000'000, place_));
    if (key == "time_limit") return set(plan_.time_limit_s, number_at(value, key, 1, kMostTimeLimit, place_));
    if (key == "log_bytes")
      return set(plan_.log_bytes, number_at(value, key, kLeastLogBytes, kMostLogBytes, place_));
    return Place{place_.file, member.line}.error(
        "a job has no key " + key,
        "keys: command, command_base64, shell, shell_base64, name, folder, env, device, use, priority, "
        "time_limit, retry, log_bytes, needs");
  }

  template <class To, class From>
  static Result<void> set(To& to, Result<From> from) {
    if (!from) return from.error();
    to = std::move(*from);
    return {};
  }

  Result<void> take_command(const std::string& key, const YamlNode& value) {
    commands_++;
    if (!value.is_list())
      return place_.at(value).error(key + " must be a list: the program and its arguments");
    NL_TRY(plan_.command, texts_at(value, key, place_));
    if (key == "command") return {};
    for (std::string& word : plan_.command) {
      NL_TRY(word, bytes_of_base64(word, key, place_.at(value)));
    }
    return {};
  }

  Result<void> take_script(const std::string& key, const YamlNode& value) {
    commands_++;
    plan_.is_script = true;
    NL_TRY(std::string text, text_at(value, key, place_));
    if (key == "shell_base64") {
      NL_TRY(text, bytes_of_base64(text, key, place_.at(value)));
    }
    plan_.command = {std::move(text)};
    return {};
  }

  Result<void> take_folder(const YamlNode& value) {
    NL_TRY(const std::string folder, text_at(value, "folder", place_));
    plan_.folder = surroundings_.absolute(folder);
    if (std::filesystem::is_directory(plan_.folder)) return {};
    return place_.at(value).error("there is no such folder: " + plan_.folder);
  }

  Result<void> take_use(const YamlNode& value) {
    NL_TRY(const std::string use, text_at(value, "use", place_));
    if (use != "alone" && use != "shared") return place_.at(value).error("use must be alone or shared");
    plan_.use = use == "alone" ? Use::kAlone : Use::kShared;
    return {};
  }

  Result<void> take_retries(const YamlNode& value) {
    NL_TRY(const auto rules, texts_at(value, "retry", place_));
    for (const std::string& rule : rules) {
      if (auto fine = rule == "none" ? no_retries() : set_retry(plan_.retries, rule); !fine)
        return place_.at(value).error(fine.error().message, fine.error().hint);
    }
    return {};
  }

  Result<void> no_retries() {
    plan_.retries = {0, 0, 0, 0};
    return {};
  }

  const YamlNode& entry_;
  const Environment& surroundings_;
  const Place place_;
  JobPlan plan_;
  std::vector<std::string> environment_;
  int commands_ = 0;
};

Result<std::vector<YamlNode>> yaml_entries(const std::string& text, const std::string& name) {
  NL_TRY(YamlNode root, parse_yaml(text, name));
  if (root.is_list()) return std::move(root.items);
  return yaml_error(name, std::max(root.line, 1), "this is no list of jobs", "- command: [python, train.py]");
}

Result<std::vector<YamlNode>> json_entries(const std::string& text, const std::string& name) {
  std::vector<YamlNode> entries;
  int line = 0;
  for (const std::string& row : split(text, '\n')) {
    line++;
    if (trimmed(row).empty()) continue;
    const json value = parse_small_json(row);
    if (value.is_discarded()) return yaml_error(name, line, "this line is no JSON");
    entries.push_back(node_of(value, line));
  }
  return entries;
}

}  // namespace

Result<std::vector<JobPlan>> read_job_file(const std::string& path, const Environment& surroundings) {
  const std::string whole = surroundings.absolute(path);
  NL_TRY(const std::string text, read_small_file(whole, kMostFileBytes));
  if (!is_utf8(text))
    return Error{ErrorCode::kBadInput, "this file is not UTF-8: " + path,
                 "a command of other bytes is written as command_base64 or shell_base64"};
  NL_TRY(const auto entries, path.ends_with(".jsonl") ? json_entries(text, path) : yaml_entries(text, path));
  if (entries.empty()) return Error{ErrorCode::kBadInput, "there is no job in " + path};
  const Environment there(surroundings.variables(), std::filesystem::path(whole).parent_path().string());
  std::vector<JobPlan> plans;
  for (const YamlNode& entry : entries) {
    NL_TRY(auto plan, EntryReader(entry, there, {path, entry.line}).read());
    if (entry.find("folder") == nullptr) plan.folder = surroundings.folder();
    plans.push_back(std::move(plan));
  }
  return plans;
}

Result<JobPlan> plan_of(const json& entry, const Environment& surroundings) {
  const YamlNode node = node_of(entry, 0);
  return EntryReader(node, surroundings, {}).read();
}

Result<std::vector<std::string>> job_environment(const std::vector<std::string>& given,
                                                 const Environment& surroundings) {
  std::map<std::string, std::string> chosen;
  for (const std::string& variable : surroundings.variables()) {
    const std::string name = variable.substr(0, variable.find('='));
    const bool is_passed = name.starts_with("LC_") ||
                           std::find(kAlwaysPassed.begin(), kAlwaysPassed.end(), name) != kAlwaysPassed.end();
    if (is_passed) chosen[name] = surroundings.get(name);
  }
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (name.empty() || name.starts_with("NEUROLENS_QUEUE"))
      return Error{ErrorCode::kBadInput, "not a variable for a job: " + text.substr(0, 40)};
    if (equals == std::string::npos && !surroundings.has(name))
      return Error{ErrorCode::kBadInput, "this variable is not set: " + name,
                   fmt::format("set it, or give its value: {}=value", name)};
    chosen[name] = equals == std::string::npos ? surroundings.get(name) : text.substr(equals + 1);
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : chosen) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace nl::lab
