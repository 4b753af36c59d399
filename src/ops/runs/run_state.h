#pragma once
// What the state of the ledger holds about a run, as JSON and as text: labels with their origins, tags,
// notes, baselines.

#include <string>
#include <vector>

#include "ops/operation.h"
#include "ops/runs/run_names.h"
#include "store/ledger.h"

namespace nl::ops {

/// False for a bundle elsewhere: no state is kept for it.
bool is_in_ledger(const Context& context, const NamedRun& run);

/// By key. A bundle elsewhere has those of its source.
Result<std::vector<store::Label>> labels_of_run(const Context& context, const NamedRun& run,
                                                const nlohmann::json& document);

/// {labels, past_labels, tags, notes, baselines, claimed_by} of a run in the ledger.
Result<nlohmann::json> run_state_json(store::Ledger& ledger, const NamedRun& run,
                                      const nlohmann::json& document);
/// The same for a bundle that is not in the ledger: what its source says and what came along.
nlohmann::json state_json_elsewhere(const NamedRun& run, const nlohmann::json& document);

nlohmann::json note_json(const store::Note& note);
nlohmann::json past_note_json(const store::PastNote& past);

/// model=llama-3-8b precision=fp16 batch=8, in an order that people expect. An engine that is the backend is
/// left out: every run would have it.
std::string compact_labels(const nlohmann::json& labels, const std::string& backend);

/// The lines of `show`.
std::string run_state_text(const nlohmann::json& data, const TextStyle& style);

}  // namespace nl::ops
