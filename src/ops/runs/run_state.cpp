#include "ops/runs/run_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "ops/text/text.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr std::string_view kFirst[] = {"model",         "variant",    "precision", "batch", "input_length",
                                       "output_length", "parameters", "engine",    "commit"};

size_t place_of(const std::string& key) {
  return static_cast<size_t>(std::find(std::begin(kFirst), std::end(kFirst), key) - std::begin(kFirst));
}

/// A value that was not taken, and why.
std::string disputed_text(const json& label, const TextStyle& style) {
  const json& counts = label["origins"][0];
  std::string out;
  for (size_t i = 1; i < label["origins"].size(); i++) {
    const json& other = label["origins"][i];
    if (other["value"] == counts["value"]) continue;
    out += fmt::format("  {}  {}={} by {}; {} says {}\n", dim("label   ", style),
                       label["key"].get<std::string>(), shortened(counts["value"].get<std::string>(), 40),
                       counts["origin"].get<std::string>(), other["origin"].get<std::string>(),
                       shortened(other["value"].get<std::string>(), 40));
  }
  return out;
}

std::string line(const char* name, const std::string& text, const TextStyle& style) {
  return fmt::format("  {}  {}\n", dim(fmt::format("{:<8}", name), style), text);
}

}  // namespace

bool is_in_ledger(const Context& context, const NamedRun& run) {
  return run.bundle == context.ledger_folder + "/runs/" + run.run_id;
}

namespace {

/// What the source says, and what came along in a packed run.
std::vector<store::Label> labels_elsewhere(const NamedRun& run, const json& document) {
  std::vector<store::LabelValue> along;
  for (const auto& [key, value] : run.came_along.labels)
    along.push_back({key, store::LabelOrigin::kSidecar, value});
  return store::merge_labels(store::source_labels(document), along);
}

}  // namespace

Result<std::vector<store::Label>> labels_of_run(const Context& context, const NamedRun& run,
                                                const json& document) {
  if (!is_in_ledger(context, run)) return labels_elsewhere(run, document);
  NL_TRY(const auto ledger, ledger_of(context, run));
  return ledger->labels(run.run_id, document);
}

json note_json(const store::Note& note) {
  return {{"note", note.note_id},
          {"written_at_ns", note.written.at_ns},
          {"user", note.written.user},
          {"text", note.text},
          {"about", note.about}};
}

json past_note_json(const store::PastNote& past) {
  json out = note_json(past.note);
  out["until_ns"] = past.until.at_ns;
  out["until_user"] = past.until.user;
  return out;
}

json state_json_elsewhere(const NamedRun& run, const json& document) {
  json labels = json::array();
  for (const auto& label : labels_elsewhere(run, document)) labels.push_back(store::label_json(label));
  json notes = json::array();
  for (const auto& text : run.came_along.notes)
    notes.push_back(note_json({static_cast<int64_t>(notes.size()) + 1, {}, text}));
  return {{"labels", labels},
          {"past_labels", json::array()},
          {"tags", run.came_along.tags},
          {"notes", notes},
          {"baselines", json::array()},
          {"claimed_by", run.claimed_by.empty() ? json() : json(run.claimed_by)}};
}

Result<json> run_state_json(store::Ledger& ledger, const NamedRun& run, const json& document) {
  json out = state_json_elsewhere(run, document);
  NL_TRY(const auto claim, ledger.state().claim(run.run_id));
  if (claim) out["claimed_by"] = claim->claimed_by;
  NL_TRY(const auto labels, ledger.labels(run.run_id, document));
  out["labels"] = json::array();
  for (const auto& label : labels) out["labels"].push_back(store::label_json(label));
  NL_TRY(const auto past, ledger.state().past_labels(run.run_id));
  for (const auto& one : past) out["past_labels"].push_back(store::past_label_json(one));
  NL_TRY(const auto tags, ledger.state().tags(run.run_id));
  std::set<std::string> of_baselines;  // a baseline of several runs is a tag that nobody gave by hand
  for (const std::string& tag : tags) {
    constexpr std::string_view kPrefix = "@baseline:";
    if (tag.starts_with(kPrefix)) {
      of_baselines.insert(tag.substr(kPrefix.size()));
    } else {
      out["tags"].push_back(tag);
    }
  }
  NL_TRY(const auto notes, ledger.state().notes(run.run_id));
  for (const auto& note : notes) out["notes"].push_back(note_json(note));
  NL_TRY(const auto baselines, ledger.state().baselines());
  for (const auto& baseline : baselines) {
    if (baseline.run_id == run.run_id || of_baselines.contains(baseline.name))
      out["baselines"].push_back(baseline.name);
  }
  return out;
}

std::string compact_labels(const json& labels, const std::string& backend) {
  std::vector<std::pair<std::string, std::string>> shown;
  for (const auto& [key, value] : labels.items()) {
    if (key != "engine" || value != backend) shown.emplace_back(key, value);
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [](const auto& a, const auto& b) { return place_of(a.first) < place_of(b.first); });
  std::string out;
  for (const auto& [key, value] : shown) out += (out.empty() ? "" : " ") + key + "=" + value;
  return out;
}

std::string run_state_text(const json& data, const TextStyle& style) {
  json counting = json::object();
  for (const auto& label : data["labels"]) {
    counting[label["key"].get<std::string>()] = shortened(label["value"].get<std::string>(), 40);
  }
  std::string out;
  const std::string labels = compact_labels(counting, data["backend"]);
  const auto width = static_cast<size_t>(std::max(style.width, 60) - 12);
  if (!labels.empty()) out += line("labels", shortened(labels, width), style);
  for (const auto& label : data["labels"]) out += disputed_text(label, style);
  std::string tags;
  for (const auto& tag : data["tags"]) tags += (tags.empty() ? "" : ", ") + tag.get<std::string>();
  for (const auto& name : data["baselines"]) {
    tags += (tags.empty() ? "" : ", ") + ("@baseline:" + name.get<std::string>());
  }
  if (!tags.empty()) out += line("tags", shortened(tags, width), style);
  if (const json claim = data.value("claimed_by", json()); !claim.is_null()) {
    out += line("facts",
                "as claimed by " + shortened(claim.get<std::string>(), 60) + "; nothing here proves them",
                style);
  }
  for (const auto& note : data["notes"]) {
    out += line("note", shortened(note["text"].get<std::string>(), width), style);
  }
  return out;
}

}  // namespace nl::ops
