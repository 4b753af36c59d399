#pragma once
// Reads a bundle back as if an adapter read its sources: rows go to a sink, facts about the run into a
// RunInfo. So an existing run can become the first source of a larger one.

#include <functional>
#include <vector>

#include "model/run_info.h"
#include "model/run_sink.h"
#include "store/engine.h"
#include "store/run_document.h"

namespace nl::store {

/// What run.json says, as adapters said it.
Result<model::RunInfo> run_info_of(const nlohmann::json& document);
Result<std::vector<SourceFile>> sources_of(const nlohmann::json& document);

/// All fact tables, in the order of tables.def, rows in their order.
Result<void> read_tables(const std::shared_ptr<Engine>& engine, const std::string& bundle,
                         const nlohmann::json& document, model::RunSink& sink,
                         const std::function<bool()>& cancelled);

}  // namespace nl::store
