#include <fmt/core.h>

#include <algorithm>

#include "base/path_text.h"
#include "base/text.h"
#include "ops/runs/run_names.h"
#include "ops/runs/run_state.h"
#include "ops/text/text.h"
#include "store/ledger.h"
#include "store/run_search.h"

namespace nl::ops::runs_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "limit": {"type": "integer", "minimum": 1, "maximum": 100000, "default": 30, "description": "runs or groups to list"},
    "offset": {"x-rare": true, "type": "integer", "minimum": 0, "default": 0, "description": "runs or groups to skip"},
    "where": {"type": "array", "items": {"type": "string"},
              "description": "key=value, key!=value (also runs without the key), key~part, key>=n or key<=n; a key is a label, or format, backend, device, tag, file, dropped, records, kernels; all must be true"},
    "tag": {"x-rare": true, "type": "array", "items": {"type": "string"}, "description": "only runs with this tag; may be repeated"},
    "sort": {"type": "string", "default": "imported",
             "description": "key to sort by, smallest first (imported: newest first); --sort=-KEY reverses"},
    "reverse": {"x-rare": true, "type": "boolean", "description": "reverse the order"},
    "group": {"type": "string", "description": "one row for each value of this key"},
    "facets": {"type": "string", "x-optional-value": true,
               "description": "count runs for each value of these keys, with commas between; empty: all labels, format, device and tag"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["runs", "total", "matching"],
  "properties": {"total": {"type": "integer", "description": "runs in the ledger"},
    "matching": {"type": "integer", "description": "runs that meet all conditions"},
    "runs": {"type": "array", "items": {"type": "object",
      "required": ["run_id", "imported_at_ns", "file_names", "format", "backend", "device", "devices", "records",
                   "dropped", "kernels", "bundle_bytes", "on_the_way", "labels", "tags"]}},
    "group_by": {"type": "string"},
    "groups": {"type": "array", "items": {"type": "object",
      "required": ["value", "runs", "kernels", "records", "newest_run_id", "newest_imported_at_ns"]}},
    "groups_total": {"type": "integer"},
    "facets": {"type": "array", "items": {"type": "object", "required": ["key", "distinct", "without", "values"],
      "properties": {"values": {"type": "array", "items": {"type": "object", "required": ["value", "runs"]}}}}}}})";

constexpr Cut kCuts[] = {{"/facets"}, {"/groups"}, {"/runs"}};

json row_json(const store::RunRow& row) {
  return {{"run_id", row.run_id},
          {"imported_at_ns", row.imported_at_ns},
          {"file_names", row.file_names},
          {"format", row.format},
          {"backend", row.backend},
          {"device", row.device.empty() ? json() : json(row.device)},
          {"devices", row.devices},
          {"records", row.records},
          {"dropped", row.dropped},
          {"kernels", row.kernels},
          {"bundle_bytes", row.bundle_bytes},
          {"on_the_way", row.on_the_way},
          {"labels", row.labels},
          {"tags", row.tags}};
}

Result<std::vector<store::Condition>> conditions(const json& parameters) {
  std::vector<store::Condition> where;
  for (const auto& text : parameters.value("where", std::vector<std::string>())) {
    NL_TRY(auto condition, store::parse_condition(text));
    where.push_back(std::move(condition));
  }
  for (const auto& tag : parameters.value("tag", std::vector<std::string>())) {
    where.push_back({"tag", store::Comparison::kEqual, tag});
  }
  return where;
}

store::SortOrder sort_order(const json& parameters) {
  store::SortOrder order{parameters["sort"], parameters.value("reverse", false)};
  if (order.key.starts_with('-')) {
    order.key.erase(0, 1);
    order.reverse = !order.reverse;
  }
  return order;
}

Result<json> facets_json(store::Ledger& ledger, store::RunSearch& search, const std::string& asked) {
  std::vector<std::string> keys = split(asked, ',');
  if (asked.empty()) {
    NL_TRY(keys, store::RunSearch::label_keys(ledger.index()));
    for (const char* field : {"format", "device", "tag"}) keys.emplace_back(field);
  }
  json list = json::array();
  for (const auto& key : keys) {
    NL_TRY(const auto facet, search.facet(key));
    if (asked.empty() && facet.values.empty()) continue;
    json values = json::array();
    for (const auto& value : facet.values) values.push_back({{"value", value.value}, {"runs", value.runs}});
    list.push_back({{"key", key},
                    {"distinct", facet.values.size()},
                    {"without", facet.without},
                    {"values", std::move(values)}});
  }
  return list;
}

Result<json> groups_json(store::Ledger& ledger, const std::vector<store::RunGroup>& groups, int64_t limit,
                         int64_t offset) {
  json list = json::array();
  const auto end = std::min(static_cast<int64_t>(groups.size()), offset + limit);
  for (int64_t i = offset; i < end; i++) {
    const auto& group = groups[static_cast<size_t>(i)];
    NL_TRY(const auto newest, ledger.index().row(group.newest_run_no));
    list.push_back({{"value", group.value ? json(*group.value) : json()},
                    {"runs", group.runs},
                    {"kernels", group.kernels},
                    {"records", group.records},
                    {"newest_run_id", newest.run_id},
                    {"newest_imported_at_ns", newest.imported_at_ns}});
  }
  return list;
}

void add_next(Outcome& outcome) {
  const json& data = outcome.data;
  if (data["total"] == 0) {
    outcome.next.push_back(suggested("import", {{"paths", json::array({"trace.json.gz"})}}));
  } else if (data["matching"] == 0) {
    outcome.next.push_back(suggested("runs", {{"facets", ""}}));
  } else if (data.contains("groups") && !data["groups"].empty()) {
    outcome.next.push_back(suggested("show", {{"run", short_id(data["groups"][0]["newest_run_id"])}}));
  } else if (!data["runs"].empty()) {
    outcome.next.push_back(suggested("show", {{"run", short_id(data["runs"][0]["run_id"])}}));
  }
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(const auto where, conditions(parameters));
  const store::SortOrder order = sort_order(parameters);
  const int64_t limit = parameters["limit"];
  const int64_t offset = parameters["offset"];
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(auto search, store::RunSearch::start(ledger.index(), where));
  NL_TRY(const int64_t total, ledger.count());
  Outcome outcome;
  outcome.data = {{"total", total}, {"matching", search.count()}, {"runs", json::array()}};
  for (const auto& key : search.unknown_keys()) outcome.warnings.push_back("no run has a value for " + key);
  if (parameters.contains("group")) {
    const std::string key = parameters["group"];
    NL_TRY(const auto groups, search.groups(key));
    outcome.data["group_by"] = key;
    outcome.data["groups_total"] = groups.size();
    NL_TRY(outcome.data["groups"], groups_json(ledger, groups, limit, offset));
  } else {
    const bool plain = where.empty() && order.key == "imported" && !order.reverse;
    NL_TRY(const auto rows, plain ? ledger.list(limit, offset) : search.page(order, limit, offset));
    for (const auto& row : rows) outcome.data["runs"].push_back(row_json(row));
  }
  if (parameters.contains("facets")) {
    NL_TRY(outcome.data["facets"], facets_json(ledger, search, parameters["facets"]));
  }
  add_next(outcome);
  return outcome;
}

constexpr size_t kShownValues = 8;

std::string facets_text(const json& data, const TextStyle& style) {
  std::string out;
  for (const auto& facet : data["facets"]) {
    const size_t distinct = facet["distinct"];
    out += bold(facet["key"].get<std::string>(), style) + "\n";
    using enum TextTable::Align;
    TextTable table({kLeft, kRight, kLeft});
    const auto matching = static_cast<double>(data["matching"].get<int64_t>());
    size_t shown = 0;
    for (const auto& value : facet["values"]) {
      if (shown++ == kShownValues) break;
      const int64_t runs = value["runs"];
      table.add({shortened(value["value"].get<std::string>(), 44), grouped(runs),
                 bar(static_cast<double>(runs) / matching, 20)});
    }
    if (const int64_t without = facet["without"]; without > 0) table.add({"(none)", grouped(without), ""});
    out += table.text("  ", false, style);
    if (distinct > kShownValues) {
      out += dim(fmt::format("  and {} more: neurolens runs --group {}",
                             grouped(static_cast<int64_t>(distinct - kShownValues)),
                             facet["key"].get<std::string>()),
                 style) +
             "\n";
    }
  }
  return out;
}

std::string groups_text(const json& data, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kLeft, kRight, kRight, kRight, kLeft, kLeft});
  table.add({data["group_by"], "runs", "kernels", "records", "newest", "imported"});
  for (const auto& group : data["groups"]) {
    table.add({group["value"].is_null() ? "(none)" : shortened(group["value"].get<std::string>(), 36),
               grouped(group["runs"]), grouped(group["kernels"]), grouped(group["records"]),
               short_id(group["newest_run_id"]), time_text(group["newest_imported_at_ns"])});
  }
  return table.text("", true, style);
}

/// Tags with a +, then model, variant and precision by their value alone, then the other labels.
std::vector<std::string> marks_of(const json& run) {
  std::vector<std::string> marks;
  for (const auto& tag : run["tags"]) marks.push_back("+" + tag.get<std::string>());
  json rest = run["labels"];
  for (const char* key : {"model", "variant", "precision"}) {
    if (rest.contains(key)) marks.push_back(rest[key]);
    rest.erase(key);
  }
  const std::string others = compact_labels(rest, run["backend"]);
  for (size_t from = 0; from < others.size();) {
    const size_t blank = std::min(others.find(' ', from), others.size());
    marks.push_back(others.substr(from, blank - from));
    from = blank + 1;
  }
  return marks;
}

/// As many whole marks as fit.
std::string marks_text(const json& run, size_t width) {
  std::string out;
  for (const auto& mark : marks_of(run)) {
    const std::string next = (out.empty() ? "" : out + " ") + mark;
    if (next.size() + 2 > width) return out.empty() ? shortened(mark, width) : out + " …";
    out = next;
  }
  return out;
}

std::string device_of(const json& run, size_t width) {
  const std::string device = run["device"].is_null() ? "-" : run["device"].get<std::string>();
  const int64_t devices = run["devices"];
  return shortened(device, width) + (devices > 1 ? fmt::format(" x{}", devices) : "");
}

std::string rows_text(const json& runs, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kLeft, kLeft, kLeft, kLeft, kRight, kRight, kLeft});
  table.add({"run", "imported", "format", "device", "kernels", "records", "file"});
  const size_t file_width = style.width > 110 ? static_cast<size_t>(style.width) - 90 : 30;
  for (const auto& run : runs) {
    table.add({short_id(run["run_id"]), time_text(run["imported_at_ns"]), run["format"], device_of(run, 24),
               grouped(run["kernels"]), grouped(run["records"]),
               shortened(base_name(run["file_names"].get<std::string>()), file_width)});
  }
  return table.text("", true, style);
}

/// With labels: what a run is about says more than the name of its file.
std::string labelled_text(const json& runs, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kLeft, kLeft, kLeft, kRight, kLeft});
  table.add({"run", "imported", "device", "kernels", "labels"});
  const size_t width = static_cast<size_t>(std::max(style.width, 80)) - 63;
  for (const auto& run : runs) {
    table.add({short_id(run["run_id"]), time_text(run["imported_at_ns"]), device_of(run, 16),
               grouped(run["kernels"]), marks_text(run, width)});
  }
  return table.text("", true, style);
}

std::string count_text(const json& data, size_t shown, const TextStyle& style) {
  const int64_t total = data["total"];
  const int64_t matching = data["matching"];
  const bool groups = data.contains("groups");
  const int64_t listed = groups ? data["groups_total"].get<int64_t>() : matching;
  const bool more = static_cast<int64_t>(shown) < listed;
  std::string out;
  if (more) out = fmt::format("{} of {} {}", shown, grouped(listed), groups ? "groups" : "runs");
  if (matching < total) {
    out += fmt::format("{}{} of {} match", more ? "; " : "", grouped(matching), counted(total, "run"));
  }
  if (more) out += "; more with --limit";
  return out.empty() ? out : dim(out, style) + "\n";
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const auto& data = outcome.data;
  const auto& runs = data["runs"];
  if (data["total"] == 0) return "The ledger is empty.\n";
  if (data["matching"] == 0) return fmt::format("None of {} match.\n", counted(data["total"], "run"));
  if (data.contains("facets")) {
    return counted(data["matching"], "run") + "\n" + facets_text(data, style) +
           count_text(data, data["matching"], style);
  }
  if (data.contains("groups"))
    return groups_text(data, style) + count_text(data, data["groups"].size(), style);
  const bool labelled =
      std::any_of(runs.begin(), runs.end(), [](const json& r) { return !marks_of(r).empty(); });
  return (labelled ? labelled_text(runs, style) : rows_text(runs, style)) +
         count_text(data, runs.size(), style);
}

std::string conclusion(const Outcome& outcome) {
  const auto matching = outcome.data.at("matching").get<int64_t>();
  const auto total = outcome.data.at("total").get<int64_t>();
  if (total == 0) return "the ledger is empty";
  return matching == total ? fmt::format("{} run{} in the ledger", total, total == 1 ? "" : "s")
                           : fmt::format("{} of {} runs match", matching, total);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "runs",
      .summary = "List, find, search, filter, sort, group and count the runs of the ledger",
      .use_when =
          "you ask which runs or profiles exist, were recorded or imported today, yesterday or last week, by "
          "whom, how many there are per model, batch size, device, label or tag, for the newest or latest "
          "one, or need an id",
      .not_when = "you have the run: show",
      .example = R"({"where": ["model=llama-3-8b", "batch>=8"], "sort": "batch"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cost = Cost::kLight,
      .cuts = kCuts,
      .run = run,
      .text = text,
      .conclusion = conclusion,
  };
  return kOperation;
}

}  // namespace nl::ops::runs_operation
