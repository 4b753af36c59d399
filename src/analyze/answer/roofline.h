#pragma once
// The part of an answer that compares ops and kernels with the roofline of their device.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/names/op_class.h"
#include "base/described.h"
#include "base/known.h"

namespace nl::analyze {

/// What a device can do at most.
struct PeaksAnswer {
  std::string device = {};
  std::string source = {};
  std::optional<double> bandwidth = {};
  std::map<std::string, double> dense = {};

  static constexpr auto fields() {
    using P = PeaksAnswer;
    return std::tuple{field("device", &P::device, "as the table of peaks names it"),
                      field("source", &P::source, "who publishes the figures"),
                      field("bandwidth", &P::bandwidth, "of the device memory, bytes per second"),
                      field("dense", &P::dense, "operations per second by data type, without sparsity")};
  }
};

/// All calls of one op with one data type.
struct RooflineOp {
  std::string name = {};
  OpClass op_class = OpClass::k_other;
  std::string dtype = {};
  int64_t calls = 0;
  int64_t flops = 0;
  int64_t bytes = 0;
  int64_t kernel_ns = 0;
  std::optional<double> intensity = {};
  std::optional<double> flops_per_s = {};
  std::optional<double> bytes_per_s = {};
  std::optional<double> roof_share = {};
  std::optional<std::string> absent = {};
  std::optional<std::string> bound = {};
  std::optional<bool> model_or_peak_error = {};

  static constexpr auto fields() {
    using R = RooflineOp;
    return std::tuple{
        field("name", &R::name, "of the op"),
        field("class", &R::op_class, "what the op does"),
        field("dtype", &R::dtype, "data type that it computes in"),
        field("calls", &R::calls, "with this data type"),
        field("flops", &R::flops, "operations by the model of the op"),
        field("bytes", &R::bytes, "bytes that must be moved at least, by the model"),
        field("kernel_ns", &R::kernel_ns, "time of its kernels"),
        field("intensity", &R::intensity, "operations per byte"),
        field("flops_per_s", &R::flops_per_s, "operations over kernel time"),
        field("bytes_per_s", &R::bytes_per_s, "bytes over kernel time"),
        field("roof_share", &R::roof_share, "least time that the device needs over the time that it took"),
        field_if_any("absent", &R::absent, "why there is no roof"),
        field_if_any("bound", &R::bound, "memory or compute"),
        field_if_any("model_or_peak_error", &R::model_or_peak_error,
                     "faster than possible: model or peak is wrong")};
  }
};

struct RooflineAnswer {
  std::vector<RooflineOp> ops = {};
  int64_t modelled_ns = 0;
  int64_t kernel_ns = 0;
  std::map<std::string, int64_t> without_model = {};
  Known<PeaksAnswer> peaks = Absent{"no device"};

  static constexpr auto fields() {
    using R = RooflineAnswer;
    return std::tuple{
        field("ops", &R::ops, "by kernel time"),
        field("modelled_ns", &R::modelled_ns, "kernel time of ops that have a model"),
        field("kernel_ns", &R::kernel_ns, "kernel time of the device in the window"),
        field("without_model", &R::without_model, "kernel time by the reason why there is no model"),
        field("peaks", &R::peaks, "what the device can do at most")};
  }
};

}  // namespace nl::analyze
