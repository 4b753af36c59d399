#include "compare/comparability.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace nl::compare {
namespace {

using nlohmann::json;
using State = FactorState;

/// Labels that say what was computed. Others (variant, commit) say what was changed on purpose.
constexpr const char* kWorkloadLabels[] = {"model",        "batch",         "sequence_length",
                                           "input_length", "output_length", "parameters"};

struct Weight {
  double different;
  double unknown;
};

std::optional<std::string> if_known(std::string text) {
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

/// What a side does not know is an empty text here.
Factor factor(std::string name, std::string base, std::string next, Weight weight, std::string words) {
  Factor out{std::move(name), State::kEqual, 1, if_known(std::move(base)), if_known(std::move(next)), {}};
  if (!out.base || !out.next) {
    out.state = State::kUnknown;
    out.score = weight.unknown;
    out.words = !out.base && !out.next ? "not known" : "known of one side only";
  } else if (out.base != out.next) {
    out.state = State::kDifferent;
    out.score = weight.different;
    out.words = std::move(words);
  }
  return out;
}

std::string label_of(const RunFacts& run, const std::string& key) {
  const auto it = run.labels.find(key);
  return it == run.labels.end() ? "" : it->second;
}

std::string joined(const std::set<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Names of the devices that did something.
std::string devices_of(const RunFacts& run) {
  std::set<std::string> names;
  for (const json& device : run.document["hardware"]["devices"]) {
    if (!device.value("active", true)) continue;
    names.insert(device.contains("name") ? device["name"].get<std::string>() : device.value("vendor", ""));
  }
  names.erase("");
  return joined(names);
}

std::string device_count(const RunFacts& run) {
  int64_t count = 0;
  for (const json& device : run.document["hardware"]["devices"]) count += device.value("active", true);
  return count == 0 ? "" : std::to_string(count);
}

/// Versions whose name holds `part`, or does not.
std::string versions(const RunFacts& run, std::string_view part, bool holds) {
  std::set<std::string> found;
  for (const auto& [name, version] : run.document["software"]["versions"].items()) {
    if ((name.find(part) != std::string::npos) == holds && name != "nsys_export_schema")
      found.insert(name + " " + (version.is_string() ? version.get<std::string>() : version.dump()));
  }
  return joined(found);
}

/// Sources whose times are compared: not telemetry, nor counters beside a trace.
std::vector<json> timing_sources(const RunFacts& run) {
  std::vector<json> sources, replays;
  for (const json& source : run.document["sources"]) {
    if (source["format"] == "telemetry") continue;
    (source["format"] == "ncu" ? replays : sources).push_back(source);
  }
  return sources.empty() ? replays : sources;
}

std::string profilers(const RunFacts& run) {
  std::set<std::string> found;
  for (const json& source : timing_sources(run)) found.insert(source["format"]);
  return joined(found);
}

std::string profiler_versions(const RunFacts& run) {
  std::set<std::string> found;
  for (const json& source : timing_sources(run)) {
    if (source.contains("tool_version")) found.insert(source["tool_version"]);
  }
  return joined(found);
}

/// How times came about. Replayed launches ran one by one at fixed clocks; layers that are timed one by one
/// are slower than together.
std::string way_of_measuring(const RunFacts& run) {
  std::set<std::string> ways;
  for (const json& source : timing_sources(run)) {
    const std::string format = source["format"], role = source.value("role", "");
    if (format == "ncu") ways.insert("replayed launches");
    if (format == "trtexec" && role == "profile") ways.insert("layer by layer");
    if (format == "trtexec" && role == "times") ways.insert("whole inferences");
    if (format != "ncu" && format != "trtexec") ways.insert("trace");
  }
  return joined(ways);
}

/// What the profiler was told to record; stacks and shapes cost time.
std::string profiler_mode(const RunFacts& run) {
  std::set<std::string> flags;
  for (const json& flag : run.document["capture"]["flags"]) flags.insert(flag);
  return flags.empty() ? "plain" : joined(flags);
}

std::string completeness(const RunFacts& run) {
  const json& counts = run.document["capture"]["counts"];
  int64_t dropped = 0;
  for (const auto& [reason, count] : counts["dropped"].items()) dropped += count.get<int64_t>();
  if (dropped == 0) return "complete";
  return fmt::format("{} of {} records dropped", dropped, counts["seen"].get<int64_t>());
}

Factor completeness_factor(const RunFacts& base, const RunFacts& next) {
  Factor out{"completeness", State::kEqual, 1, completeness(base), completeness(next), {}};
  if (out.base == "complete" && out.next == "complete") return out;
  out.state = State::kDifferent;
  out.score = 0.7;
  out.words = "records are missing";
  return out;
}

std::string window_words(const Side& side) {
  return fmt::format("{} of {}", side.unit, side.source);
}

/// The framework or engine; runtimes of devices are below any of them.
std::string framework_of(const RunFacts& run) {
  const std::string backend = run.document["software"].value("backend", "unknown");
  const bool is_runtime = backend == "unknown" || backend == "cuda" || backend == "hip" || backend == "rocm";
  return is_runtime ? "" : backend;
}

/// How alike the shapes are, by the time spent on them; absent if a side has none.
std::optional<double> shape_overlap(const Side& base, const Side& next) {
  std::map<std::pair<uint32_t, uint32_t>, std::array<double, 2>> times;
  std::array<double, 2> sums{}, all{};
  const Side* sides[] = {&base, &next};
  for (size_t s = 0; s < 2; s++) {
    for (const Item& item : sides[s]->items) {
      all[s] += static_cast<double>(item.owned_ns);
      if (item.shape == kNoText) continue;
      times[{item.op, item.shape}][s] += static_cast<double>(item.owned_ns);
      sums[s] += static_cast<double>(item.owned_ns);
    }
  }
  if (sums[0] * 2 < all[0] || sums[1] * 2 < all[1] || sums[0] == 0 || sums[1] == 0) return std::nullopt;
  double common = 0;
  for (const auto& [key, ns] : times)
    if (ns[0] > 0 && ns[1] > 0) common += (ns[0] / sums[0] + ns[1] / sums[1]) / 2;
  return common;
}

Factor shapes_factor(const Side& base, const Side& next) {
  const auto overlap = shape_overlap(base, next);
  if (!overlap) return {"shapes", State::kUnknown, 1, {}, {}, "no shapes of most of the work"};
  if (*overlap >= 0.98) return {"shapes", State::kEqual, 1, "recorded", "equal", {}};
  return {"shapes",
          State::kDifferent,
          std::max(0.2, *overlap),
          "recorded",
          fmt::format("{:.0f} % of the time has equal ones", *overlap * 100),
          "ops got inputs of other shapes"};
}

/// New calls for each call of the base: the middle one by time, among names of both sides.
std::optional<double> work_ratio(const Changes& changes, const Side& base, const Side& next) {
  std::vector<std::pair<double, double>> ratios;
  double weight = 0;
  for (const Change& row : changes.rows) {
    if (row.base.calls == 0 || row.next.calls == 0) continue;
    const double ns = static_cast<double>(row.base.time_ns);
    ratios.emplace_back(static_cast<double>(row.next.calls) * static_cast<double>(base.units) /
                            (static_cast<double>(row.base.calls) * static_cast<double>(next.units)),
                        ns);
    weight += ns;
  }
  std::sort(ratios.begin(), ratios.end());
  double below = 0;
  for (const auto& [ratio, ns] : ratios) {
    below += ns;
    if (below * 2 >= weight) return ratio;
  }
  return std::nullopt;
}

Factor amount_factor(const Changes& changes, const Side& base, const Side& next) {
  const auto ratio = work_ratio(changes, base, next);
  if (!ratio) return {"amount of work", State::kUnknown, 0.5, {}, {}, "no work of one name on both sides"};
  Factor out{"amount of work", State::kEqual, 1, "1", fmt::format("{:.3g}", *ratio), {}};
  if (std::abs(*ratio - 1) < 0.005) return out;
  out.state = State::kDifferent;
  out.score = std::min(*ratio, 1 / *ratio);
  out.words = fmt::format("a {} of the new side has {:.3g} times the calls", next.unit, *ratio);
  return out;
}

Factor matched_factor(const Changes& changes) {
  const double base = changes.base_ns == 0 ? 1
                                           : static_cast<double>(changes.matched_base_ns) /
                                                 static_cast<double>(changes.base_ns);
  const double next = changes.next_ns == 0 ? 1
                                           : static_cast<double>(changes.matched_next_ns) /
                                                 static_cast<double>(changes.next_ns);
  Factor out{"matched work",
             State::kEqual,
             1,
             fmt::format("{:.0f} %", base * 100),
             fmt::format("{:.0f} %", next * 100),
             {}};
  if (std::min(base, next) >= 0.5) return out;
  out.state = State::kDifferent;
  out.score = std::max(0.3, std::sqrt(std::min(base, next)));
  out.words = "most of the time went into work without a counterpart";
  return out;
}

void add_versions(const RunFacts& run, std::map<std::string, std::string>& facts) {
  facts["device"] = devices_of(run);
  facts["profiler"] = profilers(run);
  facts["profiler version"] = profiler_versions(run);
  for (const auto& [name, version] : run.document["software"]["versions"].items())
    facts[name] = version.is_string() ? version.get<std::string>() : version.dump();
  for (const auto& [key, value] : run.labels) facts[key] = value;
}

}  // namespace

double Comparability::score() const {
  double product = 1;
  for (const Factor& factor : factors) product *= factor.score;
  return product;
}

std::vector<std::string> Comparability::reasons() const {
  std::vector<const Factor*> low;
  for (const Factor& factor : factors) {
    if (factor.score < 1) low.push_back(&factor);
  }
  std::stable_sort(low.begin(), low.end(),
                   [](const Factor* a, const Factor* b) { return a->score < b->score; });
  std::vector<std::string> out;
  for (const Factor* factor : low) {
    const std::string words = factor->words.value_or("");
    out.push_back(factor->base && factor->next ? fmt::format("{}: {} against {} ({})", factor->name,
                                                             *factor->base, *factor->next, words)
                                               : fmt::format("{}: {}", factor->name, words));
  }
  return out;
}

Mode mode_between(const RunFacts& base, const RunFacts& next) {
  const std::string frameworks[] = {framework_of(base), framework_of(next)};
  if (frameworks[0] != frameworks[1] && !frameworks[0].empty() && !frameworks[1].empty())
    return Mode::kOtherBackend;
  const std::string devices[] = {devices_of(base), devices_of(next)};
  const bool known = !devices[0].empty() && !devices[1].empty();
  return known && devices[0] != devices[1] ? Mode::kOtherHardware : Mode::kSame;
}

Comparability comparability(const RunFacts& base, const RunFacts& next) {
  Comparability out;
  const auto add = [&](const char* name, auto value_of, Weight weight, const char* words) {
    out.factors.push_back(factor(name, value_of(base), value_of(next), weight, words));
  };
  add("measured", way_of_measuring, {0, 0.9},
      "times of different kinds of measurement are no times of one kind");
  add("device", devices_of, {0.3, 0.95}, "other hardware");
  add("devices", device_count, {0.4, 1}, "another number of devices");
  for (const char* key : kWorkloadLabels)
    add(
        key, [&](const RunFacts& run) { return label_of(run, key); },
        {0.3, key == std::string("model") ? 0.97 : 1.0}, "another workload");
  add(
      "precision", [](const RunFacts& run) { return label_of(run, "precision"); }, {0.4, 1},
      "another precision");
  add(
      "clocks", [](const RunFacts& run) { return label_of(run, "clocks"); }, {0.7, 1},
      "another clock setting");
  add(
      "driver", [](const RunFacts& run) { return versions(run, "driver", true); }, {0.9, 0.99},
      "another driver");
  add(
      "software", [](const RunFacts& run) { return versions(run, "driver", false); }, {0.95, 1},
      "other versions");
  add("backend", framework_of, {0.3, 1}, "another backend");
  add("profiler", profilers, {0.7, 1}, "another profiler has another cost");
  add("profiler version", profiler_versions, {0.97, 1}, "another version of the profiler");
  add("profiler mode", profiler_mode, {0.8, 1}, "what is recorded besides costs time");
  out.factors.push_back(completeness_factor(base, next));
  return out;
}

Comparability comparability(const RunFacts& base, const RunFacts& next, const Side& base_side,
                            const Side& next_side, const Changes& changes) {
  Comparability out = comparability(base, next);
  out.factors.push_back(factor("window", window_words(base_side), window_words(next_side), {0.2, 1},
                               "windows of another kind"));
  out.factors.push_back(shapes_factor(base_side, next_side));
  out.factors.push_back(amount_factor(changes, base_side, next_side));
  out.factors.push_back(matched_factor(changes));
  return out;
}

std::vector<FactDifference> differences(const RunFacts& base, const RunFacts& next) {
  std::map<std::string, std::string> before, after;
  add_versions(base, before);
  add_versions(next, after);
  const auto known = [](const std::string& value) { return value.empty() ? "?" : value; };
  std::vector<FactDifference> out;
  for (const auto& [name, value] : before) {
    const auto it = after.find(name);
    const std::string now = it == after.end() ? "" : it->second;
    if (now != value) out.push_back({name, known(value), known(now)});
  }
  for (const auto& [name, value] : after) {
    if (!before.contains(name)) out.push_back({name, "?", value});
  }
  return out;
}

ComparabilityScore score_of(Comparability comparability) {
  return {comparability.score(), kComparabilityFloor, std::move(comparability.factors)};
}

}  // namespace nl::compare
