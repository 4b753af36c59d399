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
    out.words = !out.base && !out.next ? "not known" : "known for one side only";
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

/// Names or makers of the devices that did something; empty if the source leaves all of them open. "NVIDIA"
/// is no name: it fits every device of that maker.
std::string active_devices(const RunFacts& run, const char* key) {
  std::set<std::string> texts;
  for (const json& device : run.document["hardware"]["devices"]) {
    if (device.value("active", true)) texts.insert(device.value(key, ""));
  }
  texts.erase("");
  return joined(texts);
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

bool has_two_engines(const RunFacts& base, const RunFacts& next) {
  const std::string before = framework_of(base), after = framework_of(next);
  return !before.empty() && !after.empty() && before != after;
}

std::set<uint32_t> ops_with_shapes(const Side& side) {
  std::set<uint32_t> ops;
  for (const Item& item : side.items) {
    if (item.shape != kNoText) ops.insert(item.op);
  }
  return ops;
}

/// How alike the shapes are, by the time spent on them; absent if a side has none. Fused ops have names and
/// inputs of their own: then only ops that both sides have can say something.
std::optional<double> shape_overlap(const Side& base, const Side& next, bool common_ops_only) {
  std::map<std::pair<uint32_t, uint32_t>, std::array<double, 2>> times;
  std::array<double, 2> sums{}, all{};
  const Side* sides[] = {&base, &next};
  const std::set<uint32_t> ops[] = {ops_with_shapes(base), ops_with_shapes(next)};
  for (size_t s = 0; s < 2; s++) {
    for (const Item& item : sides[s]->items) {
      all[s] += static_cast<double>(item.owned_ns);
      if (item.shape == kNoText || (common_ops_only && !ops[1 - s].contains(item.op))) continue;
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

Factor shapes_factor(const Side& base, const Side& next, bool common_ops_only) {
  const auto overlap = shape_overlap(base, next, common_ops_only);
  if (!overlap) return {"shapes", State::kUnknown, 1, {}, {}, "most of the work has no shapes"};
  if (*overlap >= 0.98) return {"shapes", State::kEqual, 1, "recorded", "equal", {}};
  return {"shapes",
          State::kDifferent,
          std::max(0.2, *overlap),
          "recorded",
          fmt::format("{:.0f} % of the time has equal shapes", *overlap * 100),
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

// ---- What a model computes

/// Convolutions, matrix products and recurrent layers of one unit of the window. An engine fuses what is
/// around them, so their number stays where the number of ops does not.
struct Products {
  double conv = 0, product = 0, recurrent = 0;
  double sum() const { return conv + product + recurrent; }
};

Products products_of(const Side& side) {
  using analyze::OpClass;
  Products out;
  const auto is = [](const Item& item, OpClass op_class) { return item.part == Part::compute(op_class); };
  for (const Item& item : side.items) {
    const double calls = static_cast<double>(item.calls) / static_cast<double>(side.units);
    if (is(item, OpClass::k_conv)) out.conv += calls;
    if (is(item, OpClass::k_gemm)) out.product += calls;
    if (is(item, OpClass::k_attention)) out.product += 2 * calls;  // queries by keys, weights by values
    if (is(item, OpClass::k_recurrent)) out.recurrent += calls;
  }
  return out;
}

/// From 0 to 1: the products that both have over those that any of them has.
double common_products(const Products& a, const Products& b) {
  const double common =
      std::min(a.conv, b.conv) + std::min(a.product, b.product) + std::min(a.recurrent, b.recurrent);
  const double any =
      std::max(a.conv, b.conv) + std::max(a.product, b.product) + std::max(a.recurrent, b.recurrent);
  return any == 0 ? 0 : common / any;
}

double pieces_per_unit(const Side& side) {
  double calls = 0;
  for (const Item& item : side.items) calls += static_cast<double>(item.calls);
  return calls / static_cast<double>(side.units);
}

/// One unit of work of a model; a capture may hold any number of them.
bool is_one_pass(const Side& side) {
  return side.unit == "step" || side.unit == "inference";
}

/// Whether both sides compute the same, though their ops differ in number and name.
class SameWork {
 public:
  SameWork(const RunFacts& base, const RunFacts& next, const Side& base_side, const Side& next_side)
      : products_{products_of(base_side), products_of(next_side)},
        pieces_{pieces_per_unit(base_side), pieces_per_unit(next_side)},
        unit_(next_side.unit),
        other_engine_(has_two_engines(base, next)),
        by_label_(is_one_model(base, next) && is_one_pass(base_side) && is_one_pass(next_side) &&
                  !has_other_products()),
        by_products_(!other_engine_ && has_same_products()) {}

  bool is_shown() const { return by_label_ || by_products_; }
  /// Of sides that hardly match: another number of products is another model, whatever a few ops of one name
  /// say.
  bool is_refuted() const { return has_enough_products() && has_other_products(); }
  Factor refuting_factor() const {
    return {kAmountOfWork,    State::kDifferent, common_products(products_[0], products_[1]),
            products_text(0), products_text(1),  "other numbers of convolutions and matrix products"};
  }
  std::string products_text(size_t side) const {
    return fmt::format("{:.4g} products a {}", products_[side].sum(), unit_);
  }
  /// In words, for whoever reads rows op by op.
  std::string remark() const {
    const size_t fewer = pieces_[1] < pieces_[0] ? 1 : 0;
    const std::string who = other_engine_ ? "one model on two engines" : "one model, fused differently";
    return fmt::format(
        "{}: {} runs {:.4g} pieces of work a {} where {} runs {:.4g}{}; compare the times, not single ops",
        who, fewer == 1 ? "the new side" : "the base", pieces_[fewer], unit_,
        fewer == 1 ? "the base" : "the new side", pieces_[1 - fewer],
        by_products_ ? ", with the same convolutions and matrix products" : "");
  }

 private:
  /// A few products are too few to know a model by.
  bool has_enough_products() const {
    constexpr double kFewest = 3;
    return std::min(products_[0].sum(), products_[1].sum()) >= kFewest;
  }
  bool has_same_products() const {
    constexpr double kSame = 0.95;
    return has_enough_products() && common_products(products_[0], products_[1]) >= kSame;
  }

  /// Of one engine: a step of training and one of inference bear the same label. Engines may count in ways of
  /// their own.
  bool has_other_products() const {
    constexpr double kMerged = 0.5;  // three products of an attention layer may have become one
    if (other_engine_ || products_[0].sum() == 0 || products_[1].sum() == 0) return false;
    return common_products(products_[0], products_[1]) < kMerged;
  }

  Products products_[2];
  double pieces_[2];
  std::string unit_;
  bool other_engine_, by_label_, by_products_;
};

// ---- Factors of the work

bool is_same_amount(std::optional<double> ratio) {
  return ratio && std::abs(*ratio - 1) < 0.005;
}

Factor amount_factor(std::optional<double> ratio, const std::string& unit) {
  if (!ratio) return {kAmountOfWork, State::kUnknown, 0.5, {}, {}, "no work has the same name on both sides"};
  Factor out{kAmountOfWork, State::kEqual, 1, "1", fmt::format("{:.3g}", *ratio), {}};
  if (is_same_amount(ratio)) return out;
  out.state = State::kDifferent;
  out.score = std::min(*ratio, 1 / *ratio);
  out.words = fmt::format("a {} of the new side has {:.3g} times the calls", unit, *ratio);
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
  facts["device"] = active_devices(run, "name");
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

bool is_one_model(const RunFacts& base, const RunFacts& next) {
  if (label_of(base, "model").empty() || label_of(next, "model").empty()) return false;
  return std::all_of(std::begin(kWorkloadLabels), std::end(kWorkloadLabels), [&](const char* key) {
    const std::string before = label_of(base, key), after = label_of(next, key);
    return before.empty() || after.empty() || before == after;
  });
}

Both<std::string> devices_of(const RunFacts& base, const RunFacts& next) {
  Both<std::string> names{active_devices(base, "name"), active_devices(next, "name")};
  if (!names.base.empty() && !names.next.empty()) return names;
  const std::string makers[] = {active_devices(base, "vendor"), active_devices(next, "vendor")};
  const bool tells = !makers[0].empty() && !makers[1].empty() && makers[0] != makers[1];
  return tells ? Both<std::string>{makers[0], makers[1]} : names;
}

Mode mode_between(const RunFacts& base, const RunFacts& next) {
  const auto devices = devices_of(base, next);
  const bool known = !devices.base.empty() && !devices.next.empty();
  const bool other_hardware = known && devices.base != devices.next;
  if (has_two_engines(base, next) && (other_hardware || !is_one_model(base, next)))
    return Mode::kOtherBackend;
  return other_hardware ? Mode::kOtherHardware : Mode::kSame;
}

namespace {

/// The engines of one model are measured by tools of their own, each in its own way; that is one difference
/// and not four.
struct EngineWeights {
  Weight measured, backend, profiler, window;
};
constexpr EngineWeights kOneEngine{{0, 0.9}, {0.3, 1}, {0.7, 1}, {0.2, 1}};
constexpr EngineWeights kTwoEngines{{0.9, 0.9}, {0.9, 1}, {0.9, 1}, {0.9, 1}};

const EngineWeights& engine_weights(const RunFacts& base, const RunFacts& next) {
  return is_one_model(base, next) && has_two_engines(base, next) ? kTwoEngines : kOneEngine;
}

/// Layers one by one and replayed launches are other quantities than a whole inference, whatever the model.
Weight measured_weight(const RunFacts& base, const RunFacts& next) {
  for (const RunFacts* run : {&base, &next}) {
    const std::string way = way_of_measuring(*run);
    if (way != "trace" && way != "whole inferences") return kOneEngine.measured;
  }
  return engine_weights(base, next).measured;
}

std::string unnamed_device_remark(const Both<std::string>& devices) {
  if (devices.base.empty() == devices.next.empty()) return "";
  const bool base = devices.base.empty();
  return fmt::format("the profile of {} does not name its device, so it is not known whether it is also {}",
                     base ? "the base" : "the new side", base ? devices.next : devices.base);
}

}  // namespace

Comparability comparability(const RunFacts& base, const RunFacts& next) {
  Comparability out;
  const auto add = [&](const char* name, auto value_of, Weight weight, const char* words) {
    out.factors.push_back(factor(name, value_of(base), value_of(next), weight, words));
  };
  const EngineWeights& weights = engine_weights(base, next);
  add("measured", way_of_measuring, measured_weight(base, next),
      "the times were measured in different ways and cannot be compared");
  const auto devices = devices_of(base, next);
  out.factors.push_back(factor("device", devices.base, devices.next, {0.3, 0.95}, "other hardware"));
  if (auto remark = unnamed_device_remark(devices); !remark.empty()) out.remarks.push_back(std::move(remark));
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
  add("backend", framework_of, weights.backend, "another backend");
  add("profiler", profilers, weights.profiler, "another profiler has another cost");
  add("profiler version", profiler_versions, {0.97, 1}, "another version of the profiler");
  add("profiler mode", profiler_mode, {0.8, 1}, "other recorded data also costs time");
  out.factors.push_back(completeness_factor(base, next));
  return out;
}

Comparability comparability(const RunFacts& base, const RunFacts& next, const Side& base_side,
                            const Side& next_side, const Changes& changes) {
  Comparability out = comparability(base, next);
  const auto ratio = work_ratio(changes, base_side, next_side);
  const Factor matched = matched_factor(changes);
  const SameWork same(base, next, base_side, next_side);
  const bool is_fused = same.is_shown() && (!is_same_amount(ratio) || matched.score < 1);
  out.factors.push_back(factor("window", window_words(base_side), window_words(next_side),
                               engine_weights(base, next).window, "windows of another kind"));
  out.factors.push_back(shapes_factor(base_side, next_side, is_fused));
  if (!is_fused) {
    const bool refuted = matched.score < 1 && same.is_refuted();
    out.factors.push_back(refuted ? same.refuting_factor() : amount_factor(ratio, next_side.unit));
    out.factors.push_back(matched);
    return out;
  }
  out.factors.push_back({kAmountOfWork, State::kEqual, 1, same.products_text(0), same.products_text(1), {}});
  out.factors.push_back(matched);
  out.factors.back().score = 1;
  out.remarks.push_back(same.remark());
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
