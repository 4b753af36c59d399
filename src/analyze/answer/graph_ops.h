#pragma once
// What another run, the donor, tells of the kernels of graph replays: which ops they are, and how sure that
// is. A replay has one launch call for all its kernels, so its own run cannot tell.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/device_name.h"
#include "analyze/names/op_class.h"

namespace nl::analyze {

/// Where the donor's launches come from.
enum class DonorKind : uint8_t { kCapture, kEager, kNone };
inline constexpr size_t kDonorKinds = 3;
/// capture, eager, none
std::string_view donor_kind_name(DonorKind kind);

/// Kernels of replays that belong to one op with the same shapes in the same module.
struct GraphOpAnswer {
  DeviceName on = {};
  std::string name = {};
  OpClass op_class = OpClass::k_other;
  std::optional<std::string> shapes = {};
  std::optional<std::string> module = {};
  int64_t kernels = 0;
  int64_t device_ns = 0;
  std::optional<double> share = {};

  static constexpr auto fields() {
    using G = GraphOpAnswer;
    return std::tuple{
        merged(&G::on),
        field("name", &G::name, "name of the op in the donor, the run that the ops come from"),
        field("class", &G::op_class, "what the op does"),
        field("shapes", &G::shapes,
              "input shapes as recorded in the donor; null if unknown or of another batch size"),
        field("module", &G::module, "path of modules around it; null if the donor has none"),
        field("kernels", &G::kernels, "kernels of replays in the window"),
        field("device_ns", &G::device_ns, "their time, clipped to the window"),
        field("share", &G::share, "share of the kernel time of replays in the window")};
  }
};

struct GraphOpsAnswer {
  std::string donor_run_id = {};
  std::string donor = {};
  std::string chosen = {};
  DonorKind kind = DonorKind::kNone;
  int64_t replays = 0;
  int64_t graphs = 0;
  int64_t graphs_matched = 0;
  int64_t kernels = 0;
  int64_t by_name = 0;
  int64_t by_class = 0;
  int64_t kernel_ns = 0;
  int64_t by_name_ns = 0;
  int64_t by_class_ns = 0;
  std::optional<double> matched = {};
  std::optional<double> matched_time = {};
  std::optional<double> by_name_time = {};
  std::string shapes = {};
  std::optional<std::string> refused = {};
  std::vector<GraphOpAnswer> top = {};

  bool is_used() const { return by_name + by_class > 0; }

  static constexpr auto fields() {
    using G = GraphOpsAnswer;
    return std::tuple{
        field("donor_run_id", &G::donor_run_id, "id of the run that the ops come from: the donor"),
        field("donor", &G::donor, "name of the donor, as it was given"),
        field("chosen", &G::chosen, "why this run was chosen"),
        field(
            "kind", &G::kind,
            "capture: launches while a graph was recorded; eager: kernels outside of graphs; none: neither"),
        field("replays", &G::replays, "graph launches with kernels, in the whole run"),
        field("graphs", &G::graphs, "different sequences of kernels among them"),
        field("graphs_matched", &G::graphs_matched, "how many of these sequences got ops"),
        field("kernels", &G::kernels, "kernels of all replays"),
        field("by_name", &G::by_name,
              "kernels that got an op because a kernel of the donor has the same name"),
        field("by_class", &G::by_class, "kernels that got an op because a kernel of the donor does the same"),
        field("kernel_ns", &G::kernel_ns, "time of all these kernels"),
        field("by_name_ns", &G::by_name_ns, "time of kernels matched by name"),
        field("by_class_ns", &G::by_class_ns, "time of kernels matched by class"),
        field("matched", &G::matched, "share of the kernels that got an op"),
        field("matched_time", &G::matched_time, "share of the kernel time that got an op"),
        field("by_name_time", &G::by_name_time, "share of the time that was matched by name"),
        field("shapes", &G::shapes, "whether the shapes of the donor are valid here, and why"),
        field("refused", &G::refused, "why kernels got no ops; null if all graphs were matched"),
        field("top", &G::top, "ops of replays with shapes and modules, by time, device after device")};
  }
};

}  // namespace nl::analyze

namespace nl {

template <>
struct DescribedAs<analyze::DonorKind>
    : DescribedEnum<analyze::DonorKind, analyze::donor_kind_name, analyze::kDonorKinds> {};

}  // namespace nl
