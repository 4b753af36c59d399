#pragma once
// What the state says of a run, as JSON and as text: labels with their origins, tags, notes, baselines.

#include <string>

#include "ops/operation.h"
#include "ops/run_names.h"
#include "store/ledger.h"

namespace nl::ops {

/// {labels, past_labels, tags, notes, baselines} of a run in the ledger.
Result<nlohmann::json> run_state_json(store::Ledger& ledger, const NamedRun& run,
                                      const nlohmann::json& document);
/// The same for a bundle that is not in the ledger: what its source says.
nlohmann::json source_state_json(const nlohmann::json& document);

nlohmann::json note_json(const store::Note& note);

/// model=llama-3-8b precision=fp16 batch=8, in an order that people expect. An engine that is the backend is
/// left out: every run would have it.
std::string compact_labels(const nlohmann::json& labels, const std::string& backend);

/// The lines of `show`.
std::string run_state_text(const nlohmann::json& data, const TextStyle& style);

}  // namespace nl::ops
