#include "mcp/operations/resources.h"

#include <fmt/core.h>

#include "base/decimal.h"
#include "base/safe_text.h"
#include "base/text.h"
#include "mcp/message.h"

namespace nl::mcp {
namespace {

using nlohmann::json;

constexpr std::string_view kScheme = "neurolens://";
constexpr size_t kMostAddressBytes = 512;
constexpr size_t kShortId = 12;

struct FixedResource {
  const char* uri;
  const char* name;
  const char* description;
};

constexpr FixedResource kFixedResources[] = {
    {"neurolens://rules", "rules", "The rules behind findings: conditions, proofs, what they suggest"},
    {"neurolens://metrics", "metrics", "The definition of every metric: formula, unit, direction, source"},
};

constexpr FixedResource kTemplates[] = {
    {"neurolens://run/{run}", "run",
     "What a run is: hardware, software, counts, health, labels, tags, notes"},
    {"neurolens://run/{run}/report", "report", "Where the time of a run went, as text"},
    {"neurolens://rule/{rule}", "rule", "One rule with its evidence, suggestions and references"},
    {"neurolens://metric/{metric}", "metric", "The definition of one metric"},
};

/// A name in an address: letters, digits and a few signs, so that nothing has to be decoded and no path fits.
bool is_name(std::string_view text) {
  static constexpr std::string_view kSigns = "-_.@~:";
  for (const char c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter && !is_digit(c) && kSigns.find(c) == std::string_view::npos) return false;
  }
  return !text.empty();
}

std::optional<Question> question_of(const std::vector<std::string>& steps) {
  if (steps.size() == 1 && steps[0] == "rules") return Question{"rules", {{"action", "list"}}};
  if (steps.size() == 1 && steps[0] == "metrics") return Question{"metrics", json::object()};
  if (steps.size() < 2 || !is_name(steps[1])) return std::nullopt;
  const bool is_report = steps.size() == 3 && steps[0] == "run" && steps[2] == "report";
  if (is_report) return Question{"analyze", {{"run", steps[1]}}, true};
  if (steps.size() != 2) return std::nullopt;
  if (steps[0] == "run") return Question{"show", {{"run", steps[1]}}};
  if (steps[0] == "rule")
    return Question{"rules", {{"action", "show"}, {"targets", json::array({steps[1]})}}};
  if (steps[0] == "metric") return Question{"metrics", {{"name", steps[1]}}};
  return std::nullopt;
}

/// Files, device and labels: what a person would tell runs apart by. All of it is text of somebody else.
std::string described(const json& run) {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  };
  for (const json& file : run.value("file_names", json::array()))
    add(file.is_string() ? file.get<std::string>() : "");
  add(text_of(run, "device"));
  const json labels = run.value("labels", json::object());
  for (const auto& [key, value] : labels.items())
    add(key + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  return text_for_people(text, false);
}

}  // namespace

std::optional<Question> resource_of(std::string_view uri) {
  if (uri.size() > kMostAddressBytes || !uri.starts_with(kScheme)) return std::nullopt;
  return question_of(split(uri.substr(kScheme.size()), '/'));
}

json fixed_resources() {
  json list = json::array();
  for (const FixedResource& one : kFixedResources)
    list.push_back({{"uri", one.uri},
                    {"name", one.name},
                    {"description", one.description},
                    {"mimeType", "application/json"}});
  return list;
}

json run_resource(const json& run) {
  const std::string id = text_of(run, "run_id");
  return {{"uri", fmt::format("{}run/{}", kScheme, id)},
          {"name", "run " + id.substr(0, kShortId)},
          {"description", described(run)},
          {"mimeType", "application/json"}};
}

json resource_templates() {
  json list = json::array();
  for (const FixedResource& one : kTemplates) {
    const bool is_text = std::string_view(one.name) == "report";
    list.push_back({{"uriTemplate", one.uri},
                    {"name", one.name},
                    {"description", one.description},
                    {"mimeType", is_text ? "text/plain" : "application/json"}});
  }
  return list;
}

std::optional<int64_t> offset_of(const std::string& cursor) {
  if (cursor.empty()) return 0;
  int64_t offset = 0;
  return parse_int64(cursor, offset) && offset > 0 ? std::optional(offset) : std::nullopt;
}

std::string cursor_for(int64_t offset) {
  return std::to_string(offset);
}

std::optional<CompletionSource> completion_of(const json& ref, std::string_view argument) {
  const bool names_run = argument == "run" || argument == "base" || argument == "new";
  const std::string type = text_of(ref, "type");
  if (type != "ref/prompt" && type != "ref/resource") return std::nullopt;
  if (names_run) return CompletionSource{"runs", {{"limit", kRunsOnPage}}, "runs", "run_id"};
  if (type == "ref/prompt") return std::nullopt;
  if (argument == "rule") return CompletionSource{"rules", {{"action", "list"}}, "rules", "id"};
  if (argument == "metric") return CompletionSource{"metrics", json::object(), "metrics", "id"};
  return std::nullopt;
}

}  // namespace nl::mcp
