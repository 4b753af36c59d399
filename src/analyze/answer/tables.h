#pragma once
// The tables of an analysis. Each divides the same device time in another way: by kernel, op, module, phase
// or layer.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/device_name.h"
#include "analyze/answer/remark.h"
#include "analyze/names/op_class.h"

namespace nl::analyze {

/// Calls of one kernel or one kind of copy.
struct KernelAnswer {
  DeviceName on = {};
  std::string name = {};
  std::string short_name = {};
  std::string label = {};
  OpClass op_class = OpClass::k_other;
  std::string family = {};
  bool is_copy = false;
  int64_t total_ns = 0;
  int64_t calls = 0;
  std::optional<double> mean_ns = {};
  std::optional<double> share = {};
  int64_t longest_ns = 0;
  int64_t longest_row = 0;
  std::string longest_table = {};
  int64_t exposed_ns = 0;
  std::optional<double> exposed_share = {};

  static constexpr auto fields() {
    using K = KernelAnswer;
    return std::tuple{merged(&K::on),
                      field("name", &K::name, "as the source writes it"),
                      field("short_name", &K::short_name, "without parameters and namespaces"),
                      field("label", &K::label, "for narrow columns"),
                      field("class", &K::op_class, "what the kernel does"),
                      field("family", &K::family, "library or generator that it comes from"),
                      field("is_copy", &K::is_copy, "a copy, not a kernel"),
                      field("total_ns", &K::total_ns, "sum of its calls, clipped to the window"),
                      field("calls", &K::calls, "calls in the window, also those that are partly in it"),
                      field("mean_ns", &K::mean_ns, "of a call"),
                      field("share", &K::share, "share of the sum of all kernels and copies of the device"),
                      field("longest_ns", &K::longest_ns, "longest call, not clipped"),
                      field("longest_row", &K::longest_row, "row of that call in its table"),
                      field("longest_table", &K::longest_table, "that table: kernels, copies or spans"),
                      field("exposed_ns", &K::exposed_ns, "time in which nothing else ran on the device"),
                      field("exposed_share", &K::exposed_share, "of total_ns")};
  }
};

/// To whom device time belongs. kGraphOp: kernels of graph replays whose op another run told.
enum class Owner : uint8_t { kOp, kGraphLaunch, kCall, kNoLaunch, kLayer, kGraphOp };
inline constexpr size_t kOwners = 6;
/// op, graph_launch, …
std::string_view owner_name(Owner owner);

/// An op with the device time that it launched, an op of a host with its own time, or a layer of an engine.
struct OpAnswer {
  std::optional<DeviceName> on = {};  ///< none of a layer
  std::string name = {};
  std::optional<std::string> op_type = {};
  OpClass op_class = OpClass::k_other;
  Owner owner = Owner::kOp;
  std::optional<std::string> fusion = {};
  std::optional<std::vector<std::string>> model_layers = {};
  std::optional<int64_t> device_ns = {};
  std::optional<int64_t> own_ns = {};
  std::optional<int64_t> calls = {};
  std::optional<int64_t> kernels = {};
  std::optional<double> share = {};

  /// The time that the table is sorted by.
  int64_t time_ns() const { return own_ns ? *own_ns : device_ns.value_or(0); }

  static constexpr auto fields() {
    using O = OpAnswer;
    return std::tuple{
        merged(&O::on),
        field("name", &O::name, "name of the op, call or layer"),
        field("op_type", &O::op_type, "of the op"),
        field("class", &O::op_class, "what the op does"),
        field("owner", &O::owner, "what kind of row it is"),
        field_if_any("fusion", &O::fusion, "for a layer: how it was fused"),
        field_if_any("model_layers", &O::model_layers,
                     "for a layer: layers of the model that it was made from"),
        field_if_any("device_ns", &O::device_ns, "time on the device, clipped to the window"),
        field_if_any("own_ns", &O::own_ns, "on a host: its time without that of ops and calls inside it"),
        field("calls", &O::calls, "calls with work in the window; null if the launch is not known"),
        field_if_any("kernels", &O::kernels, "kernels and copies that it launched"),
        field("share", &O::share, "share of the sum of all rows")};
  }
};

struct ModuleAnswer {
  DeviceName on = {};
  std::optional<std::string> path = {};
  int64_t device_ns = 0;
  int64_t kernels = 0;
  std::optional<double> share = {};

  static constexpr auto fields() {
    using M = ModuleAnswer;
    return std::tuple{merged(&M::on),
                      field("path", &M::path, "path of the module; null: work outside of modules"),
                      field("device_ns", &M::device_ns, "sum of the work that it launched"),
                      field("kernels", &M::kernels, "kernels and copies"),
                      field("share", &M::share, "share of the sum of all rows")};
  }
};

/// Work that was launched in the ranges of one phase of an LLM.
struct PhaseAnswer {
  DeviceName on = {};
  std::string phase = {};
  int64_t ranges = 0;
  int64_t host_ns = 0;
  int64_t device_ns = 0;
  int64_t kernels = 0;
  int64_t graph_kernels = 0;

  static constexpr auto fields() {
    using P = PhaseAnswer;
    return std::tuple{merged(&P::on),
                      field("phase", &P::phase, "prefill, decode, decode_step or mixed"),
                      field("ranges", &P::ranges, "ranges that mark the phase"),
                      field("host_ns", &P::host_ns, "time that the ranges cover"),
                      field("device_ns", &P::device_ns, "sum of the work launched in them"),
                      field("kernels", &P::kernels, "launched in them"),
                      field("graph_kernels", &P::graph_kernels, "of these, kernels of graphs")};
  }
};

/// What a table leaves out.
struct LeftOut {
  int64_t rows = 0;
  int64_t total_ns = 0;

  static constexpr auto fields() {
    return std::tuple{field("rows", &LeftOut::rows, "rows that are not listed"),
                      field("total_ns", &LeftOut::total_ns, "their time")};
  }
};

struct NotShown {
  DeviceName on = {};
  std::optional<LeftOut> kernels = {}, ops = {}, modules = {}, graph_ops = {};

  static constexpr auto fields() {
    using N = NotShown;
    return std::tuple{merged(&N::on), field_if_any("kernels", &N::kernels, "rows missing from top_kernels"),
                      field_if_any("ops", &N::ops, "rows missing from top_ops"),
                      field_if_any("modules", &N::modules, "rows missing from top_modules"),
                      field_if_any("graph_ops", &N::graph_ops, "rows missing from graph_ops.top")};
  }
};

/// How much of the kernel time of a device is known to belong to something.
struct CoverageAnswer {
  DeviceName on = {};
  int64_t kernel_ns = 0;
  int64_t with_launch_ns = 0;
  std::optional<double> with_launch = {};
  int64_t with_op_ns = 0;
  std::optional<double> with_op = {};
  int64_t in_graphs_ns = 0;
  std::optional<double> in_graphs = {};
  std::optional<double> classified = {};
  int64_t untimed = 0;

  static constexpr auto fields() {
    using C = CoverageAnswer;
    return std::tuple{merged(&C::on),
                      field("kernel_ns", &C::kernel_ns, "all kernel time in the window"),
                      field("with_launch_ns", &C::with_launch_ns, "kernel time whose launch call is known"),
                      field("with_launch", &C::with_launch, "as a share"),
                      field("with_op_ns", &C::with_op_ns, "kernel time whose op is known"),
                      field("with_op", &C::with_op, "as a share"),
                      field("in_graphs_ns", &C::in_graphs_ns, "in graphs"),
                      field("in_graphs", &C::in_graphs, "as a share"),
                      field("classified", &C::classified, "share whose class is known"),
                      field("untimed", &C::untimed, "rows without timing; no figure includes them")};
  }
};

/// Layers of a compiled engine with their times.
struct EngineLayers {
  int64_t count = 0;
  int64_t timed = 0;
  int64_t total_ns = 0;
  int64_t iterations = 0;
  std::optional<int64_t> inference_ns = {};
  int64_t reformat_ns = 0;
  int64_t quantize_ns = 0;
  std::map<std::string, int64_t> precisions = {};
  std::map<std::string, int64_t> classes = {};
  std::vector<OpAnswer> top = {};
  LeftOut not_shown = {};
  std::vector<Remark> remarks = {};

  static constexpr auto fields() {
    using E = EngineLayers;
    return std::tuple{
        field("count", &E::count, "layers of the engine"),
        field("timed", &E::timed, "layers with a time"),
        field("total_ns", &E::total_ns, "sum of the layers with a time"),
        field("iterations", &E::iterations, "most calls of a layer"),
        field("inference_ns", &E::inference_ns,
              "total_ns / iterations; null if the source does not count them"),
        field("reformat_ns", &E::reformat_ns, "of total_ns: layers that only change the layout"),
        field("quantize_ns", &E::quantize_ns, "of total_ns: layers that only quantise or dequantise"),
        field("precisions", &E::precisions,
              "ns of convolutions and products by the type of their input; empty if the source does "
              "not give types"),
        field("classes", &E::classes, "ns by class"),
        field("top", &E::top, "by time"),
        field("not_shown", &E::not_shown, "what the list of layers leaves out"),
        field("remarks", &E::remarks, "what stands out, for people")};
  }
};

}  // namespace nl::analyze

namespace nl {

template <>
struct DescribedAs<analyze::Owner> : DescribedEnum<analyze::Owner, analyze::owner_name, analyze::kOwners> {};

}  // namespace nl
