#include "ops/runs/named_window.h"

#include "analyze/load/windows.h"
#include "analyze/loaded_run.h"
#include "analyze/names/taxonomy.h"
#include "ops/runs/named_analysis.h"

namespace nl::ops {

Result<analyze::IntervalSet> named_window(const NamedRun& run, const std::string& name) {
  NL_TRY(const auto open, open_derived(run));
  NL_TRY(const analyze::Taxonomy* taxonomy, analyze::Taxonomy::shared());
  NL_TRY(const auto loaded, analyze::load_run(open, *taxonomy, {}));
  NL_TRY(auto window, analyze::window_named(name, loaded.run.timeline, loaded.run.windows));
  if (window.empty()) return Error{ErrorCode::kNotFound, "the window is empty: " + name};
  return window;
}

}  // namespace nl::ops
