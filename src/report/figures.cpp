#include "report/figures.h"

#include <algorithm>
#include <set>

#include "report/device_label.h"
#include "report/sql.h"

namespace nl::report {
namespace {

using analyze::Analysis;
using analyze::Decomposition;
using analyze::DeviceAnswer;

/// A query with more pieces or text than this is no longer something to read.
constexpr size_t kMostPieces = 500;
constexpr size_t kMostClassText = 20'000;

const std::vector<std::string> kParts = {"window_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns",
                                         "idle_ns"};

FigureRow parts_of(const Decomposition& time) {
  return {time.window_ns, time.compute_ns, time.exposed_comm_ns, time.exposed_copy_ns, time.idle_ns};
}

template <class T>
FigureValue value_or_null(const std::optional<T>& value) {
  return value ? FigureValue(*value) : FigureValue();
}

class Figures {
 public:
  Figures(const Analysis& analysis, int64_t top) : analysis_(analysis), top_(static_cast<size_t>(top)) {
    for (const analyze::Interval& piece : analysis.window.intervals)
      window_.push_back({0, piece.begin, piece.end});
    for (const analyze::OpAnswer& row : analysis.top_ops) {
      if (row.owner == analyze::Owner::kGraphLaunch) graph_calls_.insert(row.name);
    }
  }

  std::vector<Figure> all() {
    add_window();
    for (const DeviceAnswer& device : analysis_.devices) add_device(device);
    if (!analysis_.phases.empty()) {
      add_without_query("phases", "Phases",
                        "phases are found by the names of their ranges; neurolens analyze RUN --window "
                        "prefill or decode gives the figures of one phase");
    }
    if (analysis_.layers) add_layers(*analysis_.layers);
    if (analysis_.counters) add_counters(*analysis_.counters);
    if (!analysis_.collectives.kinds.empty()) {
      add_without_query(
          "collectives", "Collectives by kind",
          "calls of several ranks are matched by their arguments; the table kernels has the calls");
      if (analysis_.collectives.straggler)
        add_without_query("rank-waits", "Waits of ranks", "waits follow from the matched calls");
    }
    if (analysis_.recorded_times) add_recorded(*analysis_.recorded_times);
    return std::move(list_);
  }

 private:
  void add(std::string id, std::string title, std::string sql, std::vector<std::string> columns,
           std::vector<FigureRow> rows) {
    Figure figure{.id = std::move(id),
                  .title = std::move(title),
                  .columns = std::move(columns),
                  .rows = std::move(rows)};
    if (window_.size() > kMostPieces) {
      figure.no_query = "the window has too many pieces to be written into a query";
    } else if (!sql.empty()) {
      figure.sql = std::move(sql);
    }
    list_.push_back(std::move(figure));
  }

  void add_without_query(std::string id, std::string title, std::string why) {
    list_.push_back({.id = std::move(id), .title = std::move(title), .no_query = std::move(why)});
  }

  void add_window() {
    if (analysis_.window.name != "whole" || window_.empty()) {
      return add_without_query("window", "Window",
                               "the length of the pieces of time that the other queries list");
    }
    add("window", "Window", capture_sql(), {"begin_ns", "end_ns", "window_ns"},
        {{window_[0].begin, window_[0].end, analysis_.window.total_ns}});
  }

  /// The rows that reports show; pointers or rows.
  template <class Rows, class ToRow>
  std::vector<FigureRow> first_rows(const Rows& rows, ToRow&& to_row) const {
    std::vector<FigureRow> list;
    for (size_t i = 0; i < std::min(rows.size(), top_); i++) list.push_back(to_row(rows[i]));
    return list;
  }

  void add_device(const DeviceAnswer& device) {
    if (window_.empty()) return;
    const std::string of = " of " + device_title(device.on), id = "-" + device_id(device.on);
    add_strip(device, of, id);
    add("decomposition" + id, "Where the time went" + of, decomposition_sql(device, window_), kParts,
        {parts_of(device.time)});
    add("idle" + id, "Idle causes" + of, decomposition_sql(device, window_), kParts, {parts_of(device.time)});
    if (device.is_host()) {
      add_host_ops(device, of, id);
    } else {
      add_kernels(device, of, id);
      add_ops(device, of, id);
      add_coverage(device, of, id);
      add_roofline(device, of, id);
    }
    if (device.memory) add_memory(device, of, id);
    if (!analysis_.steps.list.empty()) add_steps(device, of, id);
  }

  void add_strip(const DeviceAnswer& device, const std::string& of, const std::string& id) {
    std::vector<FigureRow> rows;
    for (const analyze::StripColumn& part : *device.strip) {
      const int64_t window = part.compute_ns + part.exposed_comm_ns + part.exposed_copy_ns + part.idle_ns;
      rows.push_back({window, part.compute_ns, part.exposed_comm_ns, part.exposed_copy_ns, part.idle_ns});
    }
    const size_t stretches = rows.size();
    add("timeline" + id, "Timeline" + of, strip_sql(device, window_, stretches), kParts, std::move(rows));
  }

  void add_kernels(const DeviceAnswer& device, const std::string& of, const std::string& id) {
    const auto kernels = rows_of(analysis_.top_kernels, device.on);
    if (kernels.empty()) return;
    add("kernels" + id, "Kernels and copies" + of, kernels_sql(device, window_, top_),
        {"name", "total_ns", "calls", "exposed_ns"}, first_rows(kernels, [](const auto* row) -> FigureRow {
          return {row->name, row->total_ns, row->calls, row->exposed_ns};
        }));
    if (device.classes.empty()) return;
    std::vector<FigureRow> rows;
    for (const auto& [name, ns] : device.classes) rows.push_back({name, ns});
    std::string sql = classes_sql(device, window_, kernels);
    if (sql.size() > kMostClassText) {
      return add_without_query(
          "classes" + id, "Classes of kernels" + of,
          "there are too many names for a readable query; kernels.md has the class of each kernel");
    }
    add("classes" + id, "Classes of kernels" + of, std::move(sql), {"class", "total_ns"}, std::move(rows));
  }

  static FigureRow op_row(const analyze::OpAnswer& op) {
    const bool nobody = op.owner == analyze::Owner::kNoLaunch;
    return {std::string(owner_name(op.owner)),
            nobody ? FigureValue() : FigureValue(op.name),
            value_or_null(op.op_type),
            value_or_null(op.device_ns),
            nobody ? FigureValue(int64_t{0}) : value_or_null(op.calls),
            value_or_null(op.kernels)};
  }

  void add_ops(const DeviceAnswer& device, const std::string& of, const std::string& id) {
    const auto ops = rows_of(analysis_.top_ops, device.on);
    if (ops.empty()) return;
    add("ops" + id, "Ops by the device time that they launched" + of,
        ops_sql(device, window_, graph_calls(), top_),
        {"owner", "name", "op_type", "device_ns", "calls", "kernels"},
        first_rows(ops, [](const analyze::OpAnswer* op) { return op_row(*op); }));
    const auto modules = rows_of(analysis_.top_modules, device.on);
    if (modules.empty()) return;
    add("modules" + id, "Modules" + of, modules_sql(device, window_, top_), {"path", "device_ns", "kernels"},
        first_rows(modules, [](const auto* row) -> FigureRow {
          return {value_or_null(row->path), row->device_ns, row->kernels};
        }));
  }

  void add_host_ops(const DeviceAnswer& device, const std::string& of, const std::string& id) {
    const auto ops = rows_of(analysis_.top_ops, device.on);
    if (ops.empty()) return;
    add("ops" + id, "Ops by their own time" + of, host_ops_sql(window_, top_),
        {"name", "op_type", "own_ns", "calls"}, first_rows(ops, [](const auto* op) -> FigureRow {
          return {op->name, value_or_null(op->op_type), value_or_null(op->own_ns), value_or_null(op->calls)};
        }));
  }

  void add_coverage(const DeviceAnswer& device, const std::string& of, const std::string& id) {
    const auto rows = rows_of(analysis_.coverage, device.on);
    if (rows.empty()) return;
    const analyze::CoverageAnswer& row = *rows[0];
    add("coverage" + id, "Coverage" + of, coverage_sql(device, window_, graph_calls()),
        {"kernel_ns", "with_launch_ns", "with_op_ns", "in_graphs_ns"},
        {{row.kernel_ns, row.with_launch_ns, row.with_op_ns, row.in_graphs_ns}});
  }

  /// Operations and bytes come from models of the ops; the time that the models must account for does not.
  void add_roofline(const DeviceAnswer& device, const std::string& of, const std::string& id) {
    int64_t ns = device.roofline.modelled_ns;
    for (const auto& [reason, part] : device.roofline.without_model) ns += part;
    add("roofline" + id, "Roofline" + of, op_kernel_time_sql(device, window_), {"op_kernel_ns"}, {{ns}});
  }

  void add_memory(const DeviceAnswer& device, const std::string& of, const std::string& id) {
    using analyze::Metric;
    const auto value = [&](Metric metric) {
      return value_or_null(map(device.metrics.get(metric), [](double bytes) {
                             return static_cast<int64_t>(bytes);
                           }).optional());
    };
    if (device.memory->relative) {
      return add_without_query("memory" + id, "Memory" + of,
                               "the source gives changes of memory, not totals");
    }
    add("memory" + id, "Memory" + of, memory_sql(device, window_),
        {"peak_allocated_bytes", "peak_reserved_bytes", "events"},
        {{value(Metric::memory_peak_bytes), value(Metric::memory_reserved_peak_bytes),
          value(Metric::allocation_count)}});
  }

  void add_steps(const DeviceAnswer& device, const std::string& of, const std::string& id) {
    std::vector<Piece> pieces;
    std::vector<FigureRow> rows;
    for (const analyze::StepAnswer& step : analysis_.steps.list) {
      pieces.push_back({static_cast<int64_t>(pieces.size()), step.start_ns, step.start_ns + step.dur_ns});
      rows.push_back(parts_of(step.on(device.on)));
    }
    add("steps" + id, "Steps" + of, decomposition_sql(device, pieces), kParts, std::move(rows));
  }

  void add_layers(const analyze::EngineLayers& layers) {
    add("layers", "Layers of the engine", layers_sql(top_), {"name", "op_type", "total_ns", "calls"},
        first_rows(layers.top, [](const analyze::OpAnswer& row) -> FigureRow {
          return {row.name, value_or_null(row.op_type), value_or_null(row.device_ns),
                  value_or_null(row.calls)};
        }));
  }

  void add_counters(const analyze::CountersAnswer& counters) {
    add("counters", "Counters by kernel", counters_sql(top_),
        {"kernel_name", "device_name", "replay_ns", "launches"},
        first_rows(counters.kernels, [](const analyze::CountedKernel& row) -> FigureRow {
          return {row.kernel, value_or_null(row.device), value_or_null(row.replay_ns), row.launches};
        }));
  }

  void add_functions(const char* id, const char* title, const std::string& sql,
                     const std::vector<analyze::RecordedFunction>& functions) {
    if (functions.empty()) return;
    add(id, title, sql, {"name", "own_ns", "total_ns", "all_ns"},
        first_rows(functions, [](const analyze::RecordedFunction& row) -> FigureRow {
          return {value_or_null(row.name), value_or_null(row.own_ns), value_or_null(row.total_ns),
                  value_or_null(row.all_ns)};
        }));
  }

  void add_recorded(const analyze::RecordedTimes& times) {
    if (!times.scopes.empty()) {
      add("recorded-scopes", "Scopes", times.queries.scopes, {"name", "calls", "own_ns", "total_ns"},
          first_rows(times.scopes, [](const analyze::RecordedScope& row) -> FigureRow {
            return {value_or_null(row.name), value_or_null(row.calls), value_or_null(row.own_ns),
                    value_or_null(row.total_ns)};
          }));
    }
    add_functions("recorded-functions", "Functions", times.queries.functions, times.functions);
    add_functions("recorded-python", "Python functions", times.queries.python, times.python);
    if (times.waits.empty()) return;
    add("recorded-waits", "Threads that did not run", times.queries.waits, {"name", "times", "total_ns"},
        first_rows(times.waits, [](const analyze::RecordedWait& row) -> FigureRow {
          return {value_or_null(row.name), value_or_null(row.times), value_or_null(row.total_ns)};
        }));
  }

  std::vector<std::string> graph_calls() const { return {graph_calls_.begin(), graph_calls_.end()}; }

  const Analysis& analysis_;
  size_t top_;
  std::vector<Piece> window_;
  std::set<std::string> graph_calls_;
  std::vector<Figure> list_;
};

}  // namespace

std::vector<Figure> figures_of(const Analysis& analysis, int64_t top) {
  return Figures(analysis, top).all();
}

const Figure* figure_named(const std::vector<Figure>& figures, const std::string& id) {
  const auto at =
      std::find_if(figures.begin(), figures.end(), [&](const Figure& one) { return one.id == id; });
  return at == figures.end() ? nullptr : &*at;
}

}  // namespace nl::report
