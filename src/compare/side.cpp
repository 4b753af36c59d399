#include "compare/side.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "analyze/load/module_paths.h"
#include "analyze/load/span_memo.h"
#include "analyze/names/stated_name.h"
#include "analyze/roofline/launch_counters.h"
#include "analyze/run_analysis.h"
#include "analyze/time/engine_layers.h"
#include "compare/owned_time.h"

namespace nl::compare {
namespace {

using analyze::Interval;
using analyze::IntervalSet;
using analyze::kNoRow;
using analyze::LoadedRun;
using analyze::Taxonomy;
using analyze::Timeline;
using analyze::without_statement;
using analyze::Work;
using analyze::WorkKind;
using analyze::WorkTable;

/// "ProfilerStep#12" and "nn.Module: Linear_37" without their numbers, which say when and not what.
std::string_view without_number(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos || end + 1 == name.size()) return name;
  return name[end] == '#' || name[end] == '_' ? name.substr(0, end) : name;
}

/// Texts of a run in the table of both sides, each looked up once: a run has few names and many rows.
class TextsOfRun {
 public:
  using Shortened = std::string_view (*)(std::string_view);
  TextsOfRun(const analyze::Names& names, Texts& texts, Shortened shortened)
      : names_(names), texts_(texts), shortened_(shortened), ids_(names.size(), kNoText) {}
  uint32_t operator()(uint32_t name) {
    if (ids_[name] == kNoText) ids_[name] = texts_.add(shortened_(names_[name]));
    return ids_[name];
  }

 private:
  const analyze::Names& names_;
  Texts& texts_;
  Shortened shortened_;
  std::vector<uint32_t> ids_;
};

std::string_view group_name(std::string_view name) {
  return without_number(without_statement(name));
}

std::string_view as_it_is(std::string_view text) {
  return text;
}

/// The spans around launches that say where in the model they are: ops, modules, ranges.
class GroupTree {
 public:
  GroupTree(const Timeline& run, Texts& texts, PagedVector<Group>& groups)
      : run_(run), name_of_(run.names, texts, group_name), groups_(groups), of_span_(run.spans) {}

  uint32_t around(uint32_t span) {
    return of_span_.around(span, kNoText,
                           [this](uint32_t group, uint32_t inner) { return below(group, inner); });
  }

 private:
  bool says_where(uint32_t span) const {
    using model::SpanKind;
    const SpanKind kind = run_.spans.kind[span];
    if (kind == SpanKind::python) return analyze::is_module_frame(run_.names[run_.spans.name[span]]);
    return kind == SpanKind::op || kind == SpanKind::annotation;
  }

  uint32_t below(uint32_t parent, uint32_t span) {
    if (!says_where(span)) return parent;
    groups_.push_back(
        {parent, name_of_(run_.spans.name[span]), run_.spans.kind[span] == model::SpanKind::op});
    return static_cast<uint32_t>(groups_.size() - 1);
  }

  const Timeline& run_;
  TextsOfRun name_of_;
  PagedVector<Group>& groups_;
  analyze::SpanMemo<uint32_t> of_span_;
};

/// The steps behind the warm-up, as far as the steady part goes: a last step that the capture cuts off is
/// out.
PagedVector<Interval> step_intervals(const LoadedRun& run, int64_t warm_up) {
  PagedVector<Interval> steps;
  const auto& windows = run.run.windows;
  const size_t end = windows.steady.first_step + windows.steady.steps;
  for (size_t i = static_cast<size_t>(warm_up); i < end; i++) steps.push_back(windows.steps.list[i].time);
  return steps;
}

PagedVector<Interval> unit_intervals(const LoadedRun& run, const SideChoice& choice,
                                     const IntervalSet& window) {
  return choice.window == "steps" ? step_intervals(run, choice.warm_up) : window;
}

std::string unit_name(const std::string& window) {
  if (window == "whole" || window == "steady") return "capture";
  return window == "steps" || window.starts_with("step:") ? "step" : "range";
}

/// One device of a time line.
class DeviceSide {
 public:
  DeviceSide(const LoadedRun& run, const Taxonomy& taxonomy, const SideChoice& choice, Texts& texts)
      : run_(run),
        device_(run.run.devices[choice.device]),
        taxonomy_(taxonomy),
        choice_(choice),
        texts_(texts),
        name_of_(run.run.timeline.names, texts, without_statement),
        shape_text_(run.sources.arguments.texts, texts, as_it_is),
        identities_(run.run.timeline.names.size()) {}

  Side make(const IntervalSet& window) {
    begin(window);
    const auto units = unit_intervals(run_, choice_, window);
    describe_units(units);
    add_items(window);
    add_time(window);
    std::erase_if(side_.items, [](const Item& item) { return item.calls == 0; });
    return std::move(side_);
  }

 private:
  struct Identity {
    uint32_t label = kNoText, family = kNoText;
  };

  void begin(const IntervalSet& window) {
    side_.source = device_.device.is_host ? "host" : "device";
    side_.device = analyze::device_text(device_.device);
    side_.window = choice_.window;
    side_.unit = unit_name(choice_.window);
    side_.warm_up = choice_.warm_up;
    side_.window_ns = total_length(window);
  }

  void describe_units(const PagedVector<Interval>& units) {
    side_.units = std::max<int64_t>(1, static_cast<int64_t>(units.size()));
    for (const Interval& unit : units) side_.unit_ns.push_back(unit.length());
  }

  const Identity& identity(const Work& work) {
    Identity& known = identities_[work.name];
    if (known.label != kNoText) return known;
    const std::string_view name = run_.run.timeline.names[work.name];
    if (work.table == WorkTable::kKernels) {
      const auto kernel = taxonomy_.kernel(name);
      known.label = texts_.add(kernel_label(kernel.name));
      known.family = texts_.add(kernel.family == "other" ? kernel.name.short_name : kernel.family);
    } else {
      known.label = known.family = texts_.add(without_statement(name));
    }
    return known;
  }

  Part part_of(const Work& work) const {
    if (work.kind == WorkKind::kCommunication) return Part::communication();
    if (work.kind == WorkKind::kCopy) return Part::copy();
    const auto& classes = run_.run.classes;
    return Part::compute(device_.device.is_host ? classes.op[run_.run.timeline.spans.op_type[work.row]]
                                                : classes.kernel[work.name]);
  }

  uint32_t shape_of(const Work& work) {
    const auto& shapes = run_.sources.arguments.shapes;
    if (work.op == kNoRow || work.op >= shapes.size() || shapes[work.op] == kNoRow) return kNoText;
    return shape_text_(shapes[work.op]);
  }

  /// Order of the launch calls; of one call, of the device.
  PagedVector<uint32_t> launch_order() const {
    const auto& work = device_.device.work;
    const auto& starts = run_.run.timeline.spans.start;
    PagedVector<int64_t> called(work.size());
    for (size_t i = 0; i < work.size(); i++)
      called[i] = work[i].launch == kNoRow ? work[i].start : starts[work[i].launch];
    PagedVector<uint32_t> order(work.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return called[a] < called[b]; });
    return order;
  }

  Item item_of(const Work& work, int64_t ns) {
    const Identity& known = identity(work);
    Item item{name_of_(work.name), known.label, known.family};
    item.part = part_of(work);
    item.time_ns = ns;
    if (work.op != kNoRow && !device_.device.is_host)
      item.op = name_of_(run_.run.timeline.spans.name[work.op]);
    item.shape = shape_of(work);
    return item;
  }

  void add_items(const IntervalSet& window) {
    analyze::ModulePaths modules(run_.run.timeline);
    GroupTree tree(run_.run.timeline, texts_, side_.groups);
    const auto& work = device_.device.work;
    place_.resize(work.size());
    side_.items.reserve(work.size());
    for (const uint32_t i : launch_order()) {
      place_[i] = static_cast<uint32_t>(side_.items.size());
      const bool inside = touches(work[i], window);
      Item item = inside ? item_of(work[i], clipped_ns(work[i], window)) : Item{kNoText, kNoText, kNoText};
      if (!inside) item.calls = 0;
      const uint32_t around = work[i].launch != kNoRow ? work[i].launch : work[i].op;
      if (inside && around != kNoRow && modules.any()) item.module = texts_.add(modules.around(around));
      if (inside && choice_.with_groups) item.group = tree.around(outside(work[i]));
      side_.items.push_back(item);
    }
  }

  /// The first span around the work itself.
  uint32_t outside(const Work& work) const {
    const auto& parents = run_.run.timeline.spans.parent;
    if (device_.device.is_host) return parents[work.row];
    return work.op != kNoRow ? work.op : work.launch != kNoRow ? parents[work.launch] : kNoRow;
  }

  void add_time(const IntervalSet& window) {
    for_owned_time(device_.device, [&](size_t index, Interval time) {
      Item& item = side_.items[place_[index]];
      const int64_t ns = length_inside(window, time);
      if (ns == 0) return;
      item.owned_ns += ns;
      side_.parts[item.part.index()] += ns;
    });
    device_.idle.for_each([&](const analyze::IdlePiece& piece) {
      side_.parts[Part::idle(piece.cause).index()] += length_inside(window, piece.time);
    });
  }

  const LoadedRun& run_;
  const analyze::DeviceState& device_;
  const Taxonomy& taxonomy_;
  const SideChoice& choice_;
  Texts& texts_;
  TextsOfRun name_of_, shape_text_;
  std::vector<Identity> identities_;
  PagedVector<uint32_t> place_;  // of each work in the items
  Side side_;
};

/// Layers of an engine, each with its time of one inference, by name: their order in the engine is not kept.
Result<PagedVector<Item>> layer_items(LoadedRun& run, const Taxonomy& taxonomy, Texts& texts) {
  NL_TRY(auto engine, engine_layers(*run.open, taxonomy, INT64_MAX));
  PagedVector<Item> items;
  if (!engine) return items;
  std::vector<analyze::OpAnswer>& rows = engine->layers.top;
  std::sort(rows.begin(), rows.end(), [](const analyze::OpAnswer& a, const analyze::OpAnswer& b) {
    return std::tie(a.name, a.op_type) < std::tie(b.name, b.op_type);
  });
  for (const analyze::OpAnswer& row : rows) {
    const uint32_t name = texts.add(without_statement(row.name));
    Item item{name, name, texts.add(row.op_type.value_or(""))};
    item.part = Part::compute(row.op_class);
    const int64_t calls = std::max<int64_t>(1, row.calls.value_or(0));
    item.owned_ns = item.time_ns = (row.time_ns() + calls / 2) / calls;
    items.push_back(item);
  }
  return items;
}

/// Launches that a counter profiler replayed, by kernel.
Result<PagedVector<Item>> replay_items(LoadedRun& run, const Taxonomy& taxonomy, Texts& texts) {
  NL_TRY(const auto counters,
         launch_counters(*run.open, run.sources.document["hardware"], run.sources.peaks, INT64_MAX));
  PagedVector<Item> items;
  if (!counters) return items;
  for (const analyze::CountedKernel& row : counters->kernels) {
    const auto kernel = taxonomy.kernel(row.kernel);
    Item item{texts.add(without_statement(row.kernel)), texts.add(kernel_label(kernel.name)),
              texts.add(kernel.family)};
    item.part = Part::compute(kernel.op_class);
    item.calls = row.launches;
    item.owned_ns = item.time_ns = row.replay_ns.value_or(0);
    items.push_back(item);
  }
  if (counters->not_shown.rows > 0) {
    const uint32_t name = texts.add(std::to_string(counters->not_shown.rows) + " other kernels");
    Item item{name, name, name};
    item.calls = counters->not_shown.rows;
    item.owned_ns = item.time_ns = counters->not_shown.replay_ns;
    items.push_back(item);
  }
  std::stable_sort(items.begin(), items.end(),
                   [&](const Item& a, const Item& b) { return texts[a.name] < texts[b.name]; });
  return items;
}

/// A side whose items are sums: they are the window.
Side side_of_sums(PagedVector<Item> items, const char* source, const char* unit) {
  Side side;
  side.source = source;
  side.window = "whole";
  side.unit = unit;
  side.items = std::move(items);
  for (const Item& item : side.items) {
    side.window_ns += item.owned_ns;
    side.parts[item.part.index()] += item.owned_ns;
  }
  return side;
}

/// Of an engine profiled layer by layer, the layers stand for the inferences; what they do not come to is the
/// rest, below zero where layers were slowed down by being measured.
void put_layers(Side& side, PagedVector<Item> layers) {
  int64_t compute = 0, explained = 0;
  for (size_t i = 0; i < Part::kCount; i++) {
    if (Part::number(i).kind() == PartKind::kCompute) compute += std::exchange(side.parts[i], 0);
  }
  for (Item& layer : layers) {
    layer.owned_ns *= side.units;
    layer.time_ns *= side.units;
    layer.calls *= side.units;
    explained += layer.owned_ns;
    side.parts[layer.part.index()] += layer.owned_ns;
  }
  side.parts[Part::rest().index()] = compute - explained;
  std::erase_if(side.items, [](const Item& item) { return item.part.kind() == PartKind::kCompute; });
  side.items.insert(side.items.end(), layers.begin(), layers.end());
  side.source = "layers";
}

/// Ranges without any work that explains them: only their length can be compared.
Result<Side> side_without_work(const LoadedRun& run, const SideChoice& choice) {
  NL_TRY(const IntervalSet window, window_of(run, choice));
  if (window.empty())
    return Error{ErrorCode::kUnsupported, "the run has no time line, layers or replayed launches to compare"};
  Side side;
  side.source = "ranges";
  side.window = choice.window;
  side.unit = unit_name(choice.window);
  const auto units = unit_intervals(run, choice, window);
  side.units = static_cast<int64_t>(units.size());
  for (const Interval& unit : units) side.unit_ns.push_back(unit.length());
  side.window_ns = side.parts[Part::rest().index()] = total_length(window);
  return side;
}

}  // namespace

bool has_devices(const LoadedRun& run) {
  return !run.run.devices.empty();
}

size_t busiest_device(const LoadedRun& run, const IntervalSet& window) {
  size_t best = 0;
  int64_t most = -1;
  for (size_t i = 0; i < run.run.devices.size(); i++) {
    const int64_t busy = total_length(intersect(run.run.devices[i].device.busy, window));
    if (busy > most) {
      most = busy;
      best = i;
    }
  }
  return best;
}

Result<IntervalSet> window_of(const LoadedRun& run, const SideChoice& choice) {
  if (choice.window == "steps") return union_of(step_intervals(run, choice.warm_up));
  return window_named(choice.window, run.run.timeline, run.run.windows);
}

Result<Side> make_side(LoadedRun& run, const Taxonomy& taxonomy, const SideChoice& choice, Texts& texts) {
  NL_TRY(auto layers, layer_items(run, taxonomy, texts));
  if (has_devices(run)) {
    NL_TRY(const IntervalSet window, window_of(run, choice));
    Side side = DeviceSide(run, taxonomy, choice, texts).make(window);
    const auto& device = run.run.devices[choice.device].device;
    if (!layers.empty() && !device.is_host && !device.has_records) put_layers(side, std::move(layers));
    return side;
  }
  if (!layers.empty()) return side_of_sums(std::move(layers), "layers", "inference");
  NL_TRY(auto replays, replay_items(run, taxonomy, texts));
  if (!replays.empty()) return side_of_sums(std::move(replays), "replays", "replay");
  return side_without_work(run, choice);
}

}  // namespace nl::compare
