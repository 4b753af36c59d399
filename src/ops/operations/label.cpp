#include <fmt/core.h>

#include <algorithm>

#include "model/labels.h"
#include "ops/runs/run_labels.h"
#include "ops/runs/run_names.h"
#include "ops/runs/run_state.h"
#include "ops/text/text.h"
#include "store/ledger.h"
#include "store/run_document.h"

namespace nl::ops::label_operation {
namespace {

using nlohmann::json;
using store::LabelChange;
using store::LabelOrigin;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "labels": {"type": "array", "items": {"type": "string"}, "x-positional": 2,
               "description": "key=value sets a label, key= removes your value; without it: list the labels"},
    "force": {"x-rare": true, "type": "boolean", "description": "use your value even if the source says something else"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "labels", "past_labels"],
  "properties": {"run_id": {"type": "string"},
    "labels": {"type": "array", "items": {"type": "object", "required": ["key", "value", "origin", "origins"],
      "properties": {"origins": {"type": "array", "description": "the one that counts comes first",
        "items": {"type": "object", "required": ["origin", "value", "forced", "set_at_ns", "user"]}}}}},
    "past_labels": {"type": "array", "description": "values that were replaced or removed, oldest first",
      "items": {"type": "object", "required": ["key", "origin", "value", "set_at_ns", "user", "until_ns",
                                               "until_user"]}}}})";

Error conflict(const std::string& run_id, const std::string& key, const std::string& said,
               const std::string& wanted) {
  return Error{ErrorCode::kConflict,
               fmt::format("the source says {}={}, not {}={}", key, said, key, wanted),
               "to use your value: {}",
               {suggested("label", {{"run", short_id(run_id)},
                                    {"labels", json::array({key + "=" + wanted})},
                                    {"force", true}})}};
}

Error nothing_to_remove(const std::vector<store::Label>& now, const std::string& key) {
  const auto label =
      std::find_if(now.begin(), now.end(), [&](const store::Label& one) { return one.key == key; });
  if (label == now.end()) return Error{ErrorCode::kNotFound, "the run has no label " + key};
  return Error{ErrorCode::kNotFound,
               fmt::format("{} was not set by neurolens label but by {}", key,
                           store::origin_name(label->effective().origin)),
               "set another value to replace it: " + key + "=value"};
}

bool set_by_user(const std::vector<store::LabelValue>& kept, const std::string& key) {
  return std::any_of(kept.begin(), kept.end(), [&](const store::LabelValue& one) {
    return one.key == key && one.origin == LabelOrigin::kUser;
  });
}

Result<std::vector<LabelChange>> parse_changes(const std::vector<std::string>& texts, bool force) {
  std::vector<LabelChange> changes;
  for (const auto& text : texts) {
    NL_TRY(const auto label, parse_label(text, true));
    const auto& [key, value] = label;
    for (const auto& other : changes) {
      if (other.key == key)
        return Error{ErrorCode::kBadInput, "named twice: " + key, "one value for each key"};
    }
    changes.push_back(
        {key, LabelOrigin::kUser, value.empty() ? std::nullopt : std::optional<std::string>(value), force});
  }
  return changes;
}

/// The source is never overruled silently, and a key that is not there is not removed silently.
Result<void> check_changes(store::Ledger& ledger, const std::string& run_id, const json& document,
                           const std::vector<LabelChange>& changes) {
  const auto source = store::source_labels(document);
  NL_TRY(const auto kept, ledger.state().labels(run_id));
  for (const auto& change : changes) {
    if (!change.value && !set_by_user(kept, change.key))
      return nothing_to_remove(store::merge_labels(source, kept), change.key);
    const auto said = source.find(change.key);
    const bool disputed = change.value && said != source.end() && said->second != *change.value;
    if (disputed && !change.forced) return conflict(run_id, change.key, said->second, *change.value);
  }
  return {};
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(const auto changes, parse_changes(parameters.value("labels", std::vector<std::string>()),
                                           parameters.value("force", false)));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto named, resolve_ledger_run(context, ledger, parameters["run"]));
  NL_TRY(const auto shared, store::shared_run_document(named.bundle + "/run.json"));
  const json& document = *shared;
  if (!changes.empty()) {
    NL_CHECK(ledger.may_write());
    NL_CHECK(check_changes(ledger, named.run_id, document, changes));
    NL_CHECK(ledger.change_state(
        [&](store::State& state) { return state.change_labels(named.run_id, changes, act_of(context)); }));
    NL_CHECK(ledger.keep(named.run_id));
  }
  NL_TRY(const json state, run_state_json(ledger, named, document));
  Outcome outcome;
  outcome.data = {
      {"run_id", named.run_id}, {"labels", state["labels"]}, {"past_labels", state["past_labels"]}};
  const std::string id = short_id(named.run_id);
  if (changes.empty()) {
    outcome.next.push_back(
        suggested("label", {{"run", id}, {"labels", {"model=NAME", "precision=fp16", "batch=8"}}}));
  } else {
    const std::string& key = changes[0].key;
    outcome.next.push_back(changes[0].value
                               ? suggested("runs", {{"where", json::array({key + "=" + *changes[0].value})}})
                               : suggested("label", {{"run", id}}));
  }
  return outcome;
}

std::string who_and_when(const json& value) {
  if (value["user"].is_null()) return "";
  return value["user"].get<std::string>() + ", " + time_text(value["set_at_ns"]);
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const auto& data = outcome.data;
  std::string out = bold("run " + short_id(data["run_id"]), style) + "\n";
  if (data["labels"].empty()) return out + "  no labels\n";
  using enum TextTable::Align;
  TextTable table({kLeft, kLeft, kLeft, kLeft});
  table.add({"label", "value", "from", "by"});
  const size_t width = style.width > 80 ? static_cast<size_t>(style.width) - 50 : 30;
  for (const auto& label : data["labels"]) {
    bool first = true;
    for (const auto& value : label["origins"]) {
      const std::string from =
          value["origin"].get<std::string>() + (value["forced"].get<bool>() ? ", forced" : "");
      const std::string shown = shortened(value["value"].get<std::string>(), width);
      table.add({first ? label["key"].get<std::string>() : "", first ? shown : "(" + shown + ")", from,
                 who_and_when(value)});
      first = false;
    }
  }
  out += table.text("  ", true, style);
  if (!data["past_labels"].empty()) {
    out += dim("  " + counted(static_cast<int64_t>(data["past_labels"].size()), "earlier value") +
                   ": --json lists all",
               style) +
           "\n";
  }
  return out;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "label",
      .summary = "Label a run with key=value, e.g. precision, batch, commit, owner",
      .use_when =
          "you want to mark or annotate a run with what it was (batch 16, fp8), or to set, add, correct, "
          "store or remove such an attribute, value or commit hash",
      .not_when = "one word is enough: tag",
      .example = R"({"run": "@latest", "labels": ["model=llama-3-8b", "batch=8"]})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kWrite,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cost = Cost::kLight,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::label_operation
