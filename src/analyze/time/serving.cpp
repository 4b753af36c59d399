#include "analyze/time/serving.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyze/load/launches.h"

namespace nl::analyze {
namespace {

void add(std::optional<int64_t>& sum, const std::optional<int64_t>& tokens) {
  if (tokens) sum = sum.value_or(0) + *tokens;
}

/// Requests of both kinds may be unknown, but not the tokens of a kind that is there.
bool has_all_tokens(const EngineStep& step) {
  return (step.prefill_requests.value_or(0) == 0 || step.prefill_tokens) &&
         (step.decode_requests.value_or(0) == 0 || step.decode_tokens) &&
         (step.prefill_requests || step.decode_requests);
}

struct Group {
  ServingRow row;
  PagedVector<int64_t> lengths;
  bool all_tokens = true;
};

ServingRow finished(Group group) {
  ServingRow row = std::move(group.row);
  row.steps = static_cast<int64_t>(group.lengths.size());
  row.median_ns = median(group.lengths);
  const int64_t tokens = row.prefill_tokens.value_or(0) + row.decode_tokens.value_or(0);
  if (group.all_tokens && row.total_ns > 0)
    row.tokens_per_s = static_cast<double>(tokens) * 1e9 / static_cast<double>(row.total_ns);
  const int64_t requests = row.decode_requests.value_or(0) * row.steps;
  if (requests > 0 && row.decode_tokens.value_or(0) > 0)
    row.ns_per_output_token =
        static_cast<int64_t>(static_cast<double>(row.total_ns) * static_cast<double>(*row.decode_requests) /
                             static_cast<double>(*row.decode_tokens));
  return row;
}

/// Adds each kernel of the main device to the steps it runs in, by class. A kernel that runs on into the next
/// step counts for each with its part.
void add_classes(const PreparedRun& run, const std::vector<ServingRow*>& row_of_step) {
  const DeviceState* main = main_device(run);
  if (main == nullptr || main->device.is_host) return;
  const std::vector<Step>& steps = run.windows.steps.list;
  for (const Work& work : main->device.work) {
    if (work.kind == WorkKind::kCopy) continue;
    const OpClass op_class = run.classes.kernel[work.name];
    auto step = std::partition_point(steps.begin(), steps.end(),
                                     [&](const Step& one) { return one.time.end <= work.start; });
    for (; step != steps.end() && step->time.begin < work.end; ++step) {
      ServingRow* row = row_of_step[static_cast<size_t>(step - steps.begin())];
      if (row == nullptr) continue;
      row->classes[std::string(op_class_name(op_class))] +=
          std::min(step->time.end, work.end) - std::max(step->time.begin, work.start);
    }
  }
}

}  // namespace

std::vector<ServingRow> serving_rows(const PreparedRun& run, const IntervalSet& window) {
  std::map<std::tuple<std::string, Phase, std::optional<int64_t>, std::optional<int64_t>>, Group> groups;
  const std::vector<Step>& steps = run.windows.steps.list;
  std::vector<ServingRow*> row_of_step(steps.size());
  for (size_t i = 0; i < steps.size(); i++) {
    const Step& step = steps[i];
    if (!step.engine || length_inside(window, step.time) != step.time.length()) continue;
    const EngineStep& known = *step.engine;
    Group& group = groups[{known.engine, known.phase, known.prefill_requests, known.decode_requests}];
    group.row.engine = known.engine;
    group.row.phase = phase_name(known.phase);
    group.row.prefill_requests = known.prefill_requests;
    group.row.decode_requests = known.decode_requests;
    group.row.total_ns += step.time.length();
    group.lengths.push_back(step.time.length());
    add(group.row.prefill_tokens, known.prefill_tokens);
    add(group.row.decode_tokens, known.decode_tokens);
    add(group.row.decode_context, known.decode_context);
    group.all_tokens = group.all_tokens && has_all_tokens(known);
    row_of_step[i] = &group.row;
  }
  if (!groups.empty()) add_classes(run, row_of_step);
  std::vector<ServingRow> rows;
  for (auto& [key, group] : groups) rows.push_back(finished(std::move(group)));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ServingRow& a, const ServingRow& b) { return a.total_ns > b.total_ns; });
  return rows;
}

std::optional<ServingRow> described_steps(const Steps& steps, const IntervalSet& window,
                                          const StepFacts& facts) {
  if (!facts.phase || !facts.requests) return std::nullopt;
  const bool is_prefill = *facts.phase == Phase::kPrefill;
  if (is_prefill && !facts.prefill_tokens) return std::nullopt;
  Group group;
  for (const Step& step : steps.list) {
    const bool is_other = step.phase && *step.phase != *facts.phase;
    if (is_other || step.engine || length_inside(window, step.time) != step.time.length()) continue;
    group.lengths.push_back(step.time.length());
    group.row.total_ns += step.time.length();
  }
  if (group.lengths.empty()) return std::nullopt;
  const auto count = static_cast<int64_t>(group.lengths.size());
  group.row.phase = phase_name(*facts.phase);
  if (is_prefill) {
    group.row.prefill_requests = facts.requests;
    group.row.prefill_tokens = *facts.prefill_tokens * count;
  } else {
    group.row.decode_requests = facts.requests;
    group.row.decode_tokens = *facts.requests * count;
  }
  return finished(std::move(group));
}

}  // namespace nl::analyze
