#include "ops/runs/graph_donors.h"

#include <optional>

#include "base/path_text.h"
#include "ops/runs/named_analysis.h"
#include "store/run_search.h"

namespace nl::ops {
namespace {

using Donor = analyze::DonorChoice::Donor;

/// Each one is read for the question, so there are few.
constexpr int64_t kMostCandidates = 4;

Result<Donor> read_donor(const NamedRun& run, std::string label, std::string chosen) {
  NL_TRY(const analyze::Taxonomy* const taxonomy, analyze::Taxonomy::shared());
  NL_TRY(const auto open, open_derived(run));
  NL_TRY(auto donor, analyze::read_graph_donor(*open, *taxonomy));
  donor.run_id = run.run_id;
  donor.label = std::move(label);
  donor.chosen = std::move(chosen);
  return std::make_shared<const analyze::GraphDonor>(std::move(donor));
}

struct Candidates {
  std::string model;
  std::vector<NamedRun> runs = {};
};

/// Newest first.
Result<Candidates> candidates_of(const NamedRun& run, const nlohmann::json& document) {
  if (!run.ledger) return Candidates{};
  NL_TRY(const auto labels, run.ledger->labels(run.run_id, document));
  Candidates found{store::counting_values(labels)["model"]};
  if (found.model.empty()) return found;
  NL_TRY(auto search,
         store::RunSearch::start(run.ledger->index(), {{"model", store::Comparison::kEqual, found.model}}));
  NL_TRY(const auto rows, search.page({}, kMostCandidates + 1, 0));
  for (const store::RunRow& row : rows) {
    if (row.run_id == run.run_id || found.runs.size() == kMostCandidates) continue;
    found.runs.push_back({row.run_id, run.ledger->run_folder(row.run_id)});
  }
  return found;
}

}  // namespace

Result<analyze::DonorChoice> named_donor(Context& context, const std::string& name) {
  NL_TRY(const NamedRun run, resolve_run(context, name));
  const std::string label = base_name(name);
  return analyze::DonorChoice{true, [run, label](size_t) { return read_donor(run, label, "named"); }};
}

analyze::DonorChoice donors_in_ledger(const NamedRun& run, const nlohmann::json& document) {
  const auto found = std::make_shared<std::optional<Candidates>>();
  return {false, [run, document, found](size_t number) -> Result<Donor> {
            if (!*found) {
              NL_TRY(*found, candidates_of(run, document));
            }
            if (number >= (*found)->runs.size()) return Donor();
            const NamedRun& other = (*found)->runs[number];
            auto donor = read_donor(other, short_id(other.run_id),
                                    "a run of the ledger with the same model label: " + (*found)->model);
            const bool is_gone = !donor && donor.error().code == ErrorCode::kNotFound;
            return is_gone ? std::make_shared<const analyze::GraphDonor>() : std::move(donor);
          }};
}

}  // namespace nl::ops
