#include "ops/runs/run_labels.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "model/labels.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

using store::LabelChange;
using store::LabelOrigin;
using Labels = std::map<std::string, std::string>;

/// What the origin says today.
Labels labels_of(const std::vector<store::LabelValue>& kept, LabelOrigin origin) {
  Labels labels;
  for (const auto& label : kept) {
    if (label.origin == origin) labels[label.key] = label.value;
  }
  return labels;
}

/// --set is an act of a person: it is noted again even if the value is the same, unless it counts already.
void add_set(const GivenLabels& given, const std::vector<store::Label>& now,
             std::vector<LabelChange>& changes) {
  for (const auto& [key, value] : given.set) {
    const auto same =
        std::find_if(now.begin(), now.end(), [&, k = key, v = value](const store::Label& label) {
          return label.key == k &&
                 std::any_of(label.origins.begin(), label.origins.end(),
                             [&](const auto& o) { return o.origin == LabelOrigin::kImport && o.value == v; });
        });
    const bool stands =
        same != now.end() && (same->effective().value == value ||
                              same->effective().origin == LabelOrigin::kSource || same->effective().forced);
    if (!stands) changes.push_back({key, LabelOrigin::kImport, value});
  }
}

/// The sidecar as it is now: what it no longer says is taken away.
void add_sidecar(const GivenLabels& given, const Labels& before, std::vector<LabelChange>& changes) {
  if (!given.sidecar.found()) return;
  for (const auto& [key, value] : before) {
    if (!given.sidecar.labels.contains(key)) changes.push_back({key, LabelOrigin::kSidecar, std::nullopt});
  }
  for (const auto& [key, value] : given.sidecar.labels) {
    const auto old = before.find(key);
    if (old == before.end() || old->second != value) changes.push_back({key, LabelOrigin::kSidecar, value});
  }
}

void warn_of_conflicts(const Context& context, const std::string& run_id, const Labels& source,
                       const Labels& given, const char* from, std::vector<std::string>& warnings) {
  for (const auto& [key, value] : given) {
    const auto said = source.find(key);
    if (said == source.end() || said->second == value) continue;
    warnings.push_back(fmt::format(
        "{}={} from {} is not used, because the source says {}={}; to use it: {}", key, value, from, key,
        said->second,
        context.spell(suggested(
            "label", {{"run", short_id(run_id)}, {"labels", {key + "=" + value}}, {"force", true}}))));
  }
}

Result<void> apply_tags_and_notes(store::Ledger& ledger, const std::string& run_id, const Sidecar& sidecar,
                                  const store::Act& act) {
  NL_TRY(const auto tags, ledger.state().tags(run_id));
  std::vector<std::string> added;
  for (const auto& tag : sidecar.tags) {
    if (std::find(tags.begin(), tags.end(), tag) == tags.end()) added.push_back(tag);
  }
  if (!added.empty()) {
    NL_CHECK(ledger.change_state([&](store::State& state) { return state.add_tags(run_id, added, act); }));
  }
  std::set<std::string> known;  // also what somebody has changed or removed: it does not come back
  NL_TRY(const auto notes, ledger.state().notes(run_id));
  for (const auto& note : notes) known.insert(note.text);
  NL_TRY(const auto past, ledger.state().past_notes(run_id));
  for (const auto& one : past) known.insert(one.note.text);
  for (const auto& text : sidecar.notes) {
    if (known.contains(text)) continue;
    NL_CHECK(ledger.change_state([&](store::State& state) { return state.add_note(run_id, text, "", act); }));
  }
  return {};
}

}  // namespace

Result<std::pair<std::string, std::string>> parse_label(const std::string& text, bool may_be_empty) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return Error{ErrorCode::kBadInput, "not a label: " + text.substr(0, 80),
                 "write key=value, such as batch=8"};
  }
  const std::string key = text.substr(0, equals);
  const std::string value = text.substr(equals + 1);
  NL_CHECK(model::check_label_key(key));
  if (!value.empty() || !may_be_empty) NL_CHECK(model::check_label_value(key, value));
  return std::pair{key, value};
}

namespace {

template <class T>
void add_new(std::vector<T>& to, const std::vector<T>& from) {
  for (const T& value : from) {
    if (std::find(to.begin(), to.end(), value) == to.end()) to.push_back(value);
  }
}

}  // namespace

Result<GivenLabels> given_labels(const std::vector<std::string>& profiles,
                                 const std::vector<std::string>& set) {
  GivenLabels given;
  for (const auto& text : set) {
    NL_TRY(auto label, parse_label(text, false));
    if (!given.set.insert(label).second) {
      return Error{ErrorCode::kBadInput, "--set names a label twice: " + label.first,
                   "one value for each key"};
    }
  }
  for (const auto& profile : profiles) {
    NL_TRY(auto sidecar, read_sidecars(profile));
    given.sidecar.labels.merge(sidecar.labels);
    add_new(given.sidecar.tags, sidecar.tags);
    add_new(given.sidecar.notes, sidecar.notes);
    add_new(given.sidecar.files, sidecar.files);
    add_new(given.sidecar.passed_over, sidecar.passed_over);
  }
  return given;
}

Result<void> apply_labels(const Context& context, store::Ledger& ledger, const std::string& run_id,
                          const GivenLabels& given, std::vector<std::string>& warnings) {
  for (const std::string& file : given.sidecar.passed_over)
    warnings.push_back("not taken, because it belongs to another user: " + file);
  if (given.set.empty() && !given.sidecar.found()) return {};
  NL_TRY(const auto shared, store::shared_run_document(ledger.run_folder(run_id) + "/run.json"));
  const nlohmann::json& document = *shared;
  NL_TRY(const auto now, ledger.labels(run_id, document));
  NL_TRY(const auto kept, ledger.state().labels(run_id));
  std::vector<LabelChange> changes;
  add_sidecar(given, labels_of(kept, LabelOrigin::kSidecar), changes);
  add_set(given, now, changes);
  if (!changes.empty()) {
    NL_CHECK(ledger.change_state(
        [&](store::State& state) { return state.change_labels(run_id, changes, act_of(context)); }));
  }
  const Labels source = store::source_labels(document);
  warn_of_conflicts(context, run_id, source, given.sidecar.labels, "neurolens.yaml", warnings);
  warn_of_conflicts(context, run_id, source, given.set, "--set", warnings);
  return apply_tags_and_notes(ledger, run_id, given.sidecar, act_of(context));
}

store::Act act_of(const Context& context) {
  return {store::unix_now_ns(), context.principal};
}

}  // namespace nl::ops
