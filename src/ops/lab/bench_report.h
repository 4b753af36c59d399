#pragma once
// bench report: one session of a suite beside the sessions before it.

#include "ops/operation.h"

namespace nl::ops {

Result<Outcome> report_bench(Context& context, const nlohmann::json& parameters);

}  // namespace nl::ops
