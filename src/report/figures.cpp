#include "report/figures.h"

#include <algorithm>
#include <set>

#include "report/device_label.h"
#include "report/sql.h"

namespace nl::report {
namespace {

using nlohmann::json;

/// A query with more pieces or text than this is no longer something to read.
constexpr size_t kMostPieces = 500;
constexpr size_t kMostClassText = 20'000;

constexpr const char* kParts[] = {"window_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns"};

class Figures {
 public:
  Figures(const json& analysis, int64_t top) : analysis_(analysis), top_(static_cast<size_t>(top)) {
    for (const json& piece : analysis["window"]["intervals"]) window_.push_back({0, piece[0], piece[1]});
    for (const json& row : analysis["top_ops"]) {
      if (row.value("owner", "") == "graph_launch") graph_calls_.insert(row["name"].get<std::string>());
    }
  }

  json all() {
    add_window();
    for (const json& device : analysis_["devices"]) add_device(device);
    if (!analysis_["phases"].empty()) {
      add_without_query("phases", "Phases",
                        "ranges of phases are told by their names; neurolens analyze RUN --window prefill or "
                        "decode gives the figures of one");
    }
    if (!analysis_["layers"].is_null()) add_layers();
    if (!analysis_.value("counters", json()).is_null()) add_counters();
    const json collectives = analysis_.value("collectives", json::object());
    if (!collectives.value("kinds", json::array()).empty()) {
      add_without_query("collectives", "Collectives by kind",
                        "calls of several ranks are matched by what they say; kernels has the calls");
      if (!collectives["straggler"].is_null())
        add_without_query("rank-waits", "Waits of ranks", "waits follow from the matched calls");
    }
    add_recorded(analysis_.value("recorded_times", json()));
    return list_;
  }

 private:
  void add(std::string id, std::string title, std::string sql, json columns, json rows) {
    json figure = {{"id", std::move(id)}, {"title", std::move(title)}, {"columns", std::move(columns)}};
    const bool too_long = window_.size() > kMostPieces;
    figure["sql"] = too_long || sql.empty() ? json(nullptr) : json(std::move(sql));
    if (too_long) figure["no_query"] = "the window has too many pieces to be written into a query";
    figure["rows"] = std::move(rows);
    list_.push_back(std::move(figure));
  }

  void add_without_query(std::string id, std::string title, std::string why) {
    list_.push_back({{"id", std::move(id)},
                     {"title", std::move(title)},
                     {"sql", nullptr},
                     {"no_query", std::move(why)},
                     {"columns", json::array()},
                     {"rows", json::array()}});
  }

  void add_window() {
    const json& window = analysis_["window"];
    if (window["name"] != "whole" || window_.empty()) {
      return add_without_query("window", "Window",
                               "the length of the pieces of time that the other queries list");
    }
    const json row = {window_[0].begin, window_[0].end, window["total_ns"]};
    add("window", "Window", capture_sql(), {"begin_ns", "end_ns", "window_ns"}, json::array({row}));
  }

  static json row_of(const json& from, const std::vector<const char*>& keys) {
    json row = json::array();
    for (const char* key : keys) row.push_back(from[key]);
    return row;
  }

  json first_rows(const json& rows, const std::vector<const char*>& keys) const {
    json list = json::array();
    for (size_t i = 0; i < std::min(rows.size(), top_); i++) list.push_back(row_of(rows[i], keys));
    return list;
  }

  void add_device(const json& device) {
    if (window_.empty()) return;
    const std::string of = " of " + device_title(device), id = "-" + device_id(device);
    const json parts = row_of(device, {std::begin(kParts), std::end(kParts)});
    add_strip(device, of, id);
    add("decomposition" + id, "Where the time went" + of, decomposition_sql(device, window_), kParts,
        json::array({parts}));
    add("idle" + id, "Idle causes" + of, decomposition_sql(device, window_), kParts, json::array({parts}));
    if (device["kind"] == "host") {
      add_host_ops(device, of, id);
    } else {
      add_kernels(device, of, id);
      add_ops(device, of, id);
      add_coverage(device, of, id);
      add_roofline(device, of, id);
    }
    if (device.contains("memory")) add_memory(device, of, id);
    if (!analysis_["steps"]["list"].empty()) add_steps(device, of, id);
  }

  void add_strip(const json& device, const std::string& of, const std::string& id) {
    json rows = json::array();
    for (const json& bucket : device["strip"]) {
      int64_t window = 0;
      for (const json& part : bucket) window += part.get<int64_t>();
      rows.push_back({window, bucket[0], bucket[1], bucket[2], bucket[3]});
    }
    add("timeline" + id, "Timeline" + of, strip_sql(device, window_, rows.size()), kParts, rows);
  }

  void add_kernels(const json& device, const std::string& of, const std::string& id) {
    const json kernels = rows_of(analysis_["top_kernels"], device);
    if (kernels.empty()) return;
    add("kernels" + id, "Kernels and copies" + of, kernels_sql(device, window_, top_),
        {"name", "total_ns", "calls", "exposed_ns"},
        first_rows(kernels, {"name", "total_ns", "calls", "exposed_ns"}));
    if (device["classes"].empty()) return;
    json rows = json::array();
    for (const auto& [name, ns] : device["classes"].items()) rows.push_back({name, ns});
    std::string sql = classes_sql(device, window_, kernels);
    if (sql.size() > kMostClassText) {
      return add_without_query("classes" + id, "Classes of kernels" + of,
                               "the names of the classes are too many for a query to read; kernels.md has "
                               "the class of each kernel");
    }
    add("classes" + id, "Classes of kernels" + of, std::move(sql), {"class", "total_ns"}, rows);
  }

  void add_ops(const json& device, const std::string& of, const std::string& id) {
    const json ops = rows_of(analysis_["top_ops"], device);
    if (ops.empty()) return;
    json rows = json::array();
    for (size_t i = 0; i < std::min(ops.size(), top_); i++) {
      const json& op = ops[i];
      const bool nobody = op["owner"] == "no_launch";
      rows.push_back({op["owner"], nobody ? json(nullptr) : op["name"], op["op_type"], op["device_ns"],
                      nobody ? json(0) : op["calls"], op["kernels"]});
    }
    add("ops" + id, "Ops by the device time that they launched" + of,
        ops_sql(device, window_, graph_calls(), top_),
        {"owner", "name", "op_type", "device_ns", "calls", "kernels"}, rows);
    const json modules = rows_of(analysis_["top_modules"], device);
    if (modules.empty()) return;
    add("modules" + id, "Modules" + of, modules_sql(device, window_, top_), {"path", "device_ns", "kernels"},
        first_rows(modules, {"path", "device_ns", "kernels"}));
  }

  void add_host_ops(const json& device, const std::string& of, const std::string& id) {
    const json ops = rows_of(analysis_["top_ops"], device);
    if (ops.empty()) return;
    const std::vector<const char*> keys = {"name", "op_type", "own_ns", "calls"};
    add("ops" + id, "Ops by their own time" + of, host_ops_sql(window_, top_), keys, first_rows(ops, keys));
  }

  void add_coverage(const json& device, const std::string& of, const std::string& id) {
    const json rows = rows_of(analysis_["coverage"], device);
    if (rows.empty()) return;
    const std::vector<const char*> keys = {"kernel_ns", "with_launch_ns", "with_op_ns", "in_graphs_ns"};
    add("coverage" + id, "Coverage" + of, coverage_sql(device, window_, graph_calls()), keys,
        json::array({row_of(rows[0], keys)}));
  }

  /// Operations and bytes come from models of the ops; the time that the models must account for does not.
  void add_roofline(const json& device, const std::string& of, const std::string& id) {
    int64_t ns = device["roofline"]["modelled_ns"];
    for (const auto& [reason, part] : device["roofline"]["without_model"].items()) ns += part.get<int64_t>();
    add("roofline" + id, "Roofline" + of, op_kernel_time_sql(device, window_), {"op_kernel_ns"},
        json::array({json::array({ns})}));
  }

  void add_memory(const json& device, const std::string& of, const std::string& id) {
    const json& metrics = device["metrics"];
    const auto value = [&](const char* metric) { return metrics[metric].value("value", json(nullptr)); };
    if (device["memory"]["relative"]) {
      return add_without_query("memory" + id, "Memory" + of,
                               "the source gives changes of memory, not totals");
    }
    add("memory" + id, "Memory" + of, memory_sql(device, window_),
        {"peak_allocated_bytes", "peak_reserved_bytes", "events"},
        json::array(
            {{value("memory_peak_bytes"), value("memory_reserved_peak_bytes"), value("allocation_count")}}));
  }

  void add_steps(const json& device, const std::string& of, const std::string& id) {
    std::vector<Piece> pieces;
    json rows = json::array();
    for (const json& step : analysis_["steps"]["list"]) {
      const int64_t begin = step["start_ns"], number = static_cast<int64_t>(pieces.size());
      pieces.push_back({number, begin, begin + step["dur_ns"].get<int64_t>()});
      const json parts = rows_of(step["devices"], device);
      rows.push_back(row_of(parts[0], {std::begin(kParts), std::end(kParts)}));
    }
    add("steps" + id, "Steps" + of, decomposition_sql(device, pieces), kParts, rows);
  }

  void add_layers() {
    const std::vector<const char*> keys = {"name", "op_type", "device_ns", "calls"};
    add("layers", "Layers of the engine", layers_sql(top_), {"name", "op_type", "total_ns", "calls"},
        first_rows(analysis_["layers"]["top"], keys));
  }

  void add_counters() {
    json rows = json::array();
    for (const json& row : analysis_["counters"]["kernels"]) {
      if (rows.size() == top_) break;
      rows.push_back({row["kernel"], row["device"], row["replay_ns"], row["launches"]});
    }
    add("counters", "Counters by kernel", counters_sql(top_),
        {"kernel_name", "device_name", "replay_ns", "launches"}, std::move(rows));
  }

  void add_recorded(const json& times) {
    if (times.is_null()) return;
    const auto add_list = [&](const char* key, const char* title, const std::vector<const char*>& columns) {
      if (!times[key].empty())
        add(std::string("recorded-") + key, title, times["queries"][key], columns,
            first_rows(times[key], columns));
    };
    add_list("scopes", "Scopes", {"name", "calls", "own_ns", "total_ns"});
    add_list("functions", "Functions", {"name", "own_ns", "total_ns", "all_ns"});
    add_list("python", "Python functions", {"name", "own_ns", "total_ns", "all_ns"});
    add_list("waits", "Threads that did not run", {"name", "times", "total_ns"});
  }

  std::vector<std::string> graph_calls() const { return {graph_calls_.begin(), graph_calls_.end()}; }

  const json& analysis_;
  size_t top_;
  std::vector<Piece> window_;
  std::set<std::string> graph_calls_;
  json list_ = json::array();
};

}  // namespace

json figures_of(const json& analysis, int64_t top) {
  return Figures(analysis, top).all();
}

json figure_named(const json& figures, const std::string& id) {
  for (const json& figure : figures) {
    if (figure["id"] == id) return figure;
  }
  return nullptr;
}

}  // namespace nl::report
