#include "ops/runs/redacted_run.h"

#include "base/files.h"
#include "base/private_folder.h"
#include "fingerprint/fingerprint.h"
#include "ops/runs/run_measures.h"
#include "ops/runs/run_state.h"
#include "redact/policy.h"
#include "redact/text_redactor.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr int kRedactMemoryMb = 200;
constexpr int64_t kMostPolicyBytes = 64 << 10;

Result<redact::Policy> policy_of(const std::string& path) {
  if (path.empty()) return redact::Policy();
  NL_TRY(const std::string text, read_small_file(path, kMostPolicyBytes));
  return redact::parse_policy(text, path);
}

/// Those of the ledger at home, which gets a key if it has none.
Result<redact::Pseudonyms> pseudonyms_of(store::Ledger& ledger) {
  std::string key;
  NL_CHECK(ledger.change_state([&](store::State& state) -> Result<void> {
    NL_TRY(key, state.redaction_key(redact::new_redaction_key()));
    return {};
  }));
  NL_TRY(auto known, ledger.state().pseudonyms());
  return redact::Pseudonyms(std::move(key), std::move(known));
}

/// What people said of the run. Their keys and values may be as secret as any name.
Result<std::map<std::string, std::string>> labels_along(const Context& context, const NamedRun& named,
                                                        const json& document, const redact::Policy& policy,
                                                        redact::Pseudonyms& pseudonyms) {
  NL_TRY(const auto labels, labels_of_run(context, named, document));
  redact::TextRedactor redactor(pseudonyms, policy.words);
  std::map<std::string, std::string> along;
  for (const auto& label : labels) {
    if (label.effective().origin == store::LabelOrigin::kSource) continue;
    const std::string& value = label.effective().value;
    if (policy.keeps("run.labels"))
      along[label.key] = value;
    else
      along[redactor.text(label.key)] = redactor.text(value);
  }
  return along;
}

/// The places of ops in a fingerprint follow from their names, so that those of the original are carried
/// along.
Result<json> carried_along(const NamedRun& named) {
  const auto measures = run_measures(named);
  if (!measures) return json();  // nothing to analyse, so nothing to carry
  NL_TRY(const auto print, fingerprint::fingerprint_of(*measures));
  return json{{"fingerprint", fingerprint::op_places(print)}};
}

json told_of(const redact::RedactedRun& redacted, const redact::Policy& policy) {
  json told = {{"hidden", redacted.hidden}, {"dropped", redacted.dropped}, {"kept", policy.kept_fields}};
  told["shapes"] = policy.shapes == redact::Shapes::kKeep    ? "kept"
                   : policy.shapes == redact::Shapes::kRound ? "rounded"
                                                             : "dropped";
  return told;
}

}  // namespace

Result<RedactedCopy> redacted_copy(const Context& context, const NamedRun& named,
                                   const std::string& policy_file) {
  NL_TRY(const redact::Policy policy, policy_of(policy_file));
  NL_TRY(const auto ledger, ledger_of(context, named));
  NL_CHECK(ledger->may_write());
  NL_TRY(redact::Pseudonyms pseudonyms, pseudonyms_of(*ledger));
  NL_TRY(const auto document, store::shared_run_document(named.bundle + "/run.json"));
  NL_TRY(FolderAside folder, make_private_folder(*context.environment, PrivateUse::kFiles));
  const std::string bundle = folder.path() + "/bundle";
  NL_CHECK(make_folders(bundle));
  NL_CHECK(make_folders(folder.path() + "/temp"));
  NL_TRY(auto engine, store::Engine::open({1, kRedactMemoryMb, folder.path() + "/temp"}));
  const redact::RedactCall call{
      named.bundle, *document, policy, pseudonyms, [&named] { return carried_along(named); }, bundle};
  NL_TRY(const auto redacted, redact::redact_run(engine, call, context.cancelled));
  NamedRun copy{redacted.document["run_id"], bundle};
  copy.is_foreign = true;
  copy.cached = folder.path() + "/derived";
  NL_TRY(copy.came_along.labels, labels_along(context, named, *document, policy, pseudonyms));
  // Known at home before anything leaves.
  NL_CHECK(
      ledger->change_state([&](store::State& state) { return state.add_pseudonyms(pseudonyms.added()); }));
  json told = told_of(redacted, policy);
  told["new_pseudonyms"] = pseudonyms.added().size();
  return RedactedCopy{std::move(folder), std::move(copy), std::move(told)};
}

}  // namespace nl::ops
