#pragma once
// Taxonomy: finds the class of a kernel, an op or a layer from its name, by the rules of data/taxonomy. Load
// it once and keep it; all const members may be called from many threads.

#include <string>
#include <string_view>

#include "analyze/names/kernel_name.h"
#include "analyze/names/op_class.h"
#include "analyze/names/pattern_table.h"
#include "base/result.h"

namespace nl::analyze {

struct KernelIdentity {
  OpClass op_class = OpClass::k_other;
  std::string family;  ///< a stable id such as cutlass_gemm; "other" where no rule fits
  KernelName name;
};

class Taxonomy {
 public:
  /// The rules that the build put into the binary.
  static Result<Taxonomy> built_in();
  /// The same, loaded once a process. Any thread may use it.
  static Result<const Taxonomy*> shared();

  KernelIdentity kernel(std::string_view raw_name) const;
  /// aten::mm, AddmmBackward0, c10d::allreduce_, MatMul.
  OpClass op(std::string_view op_name_or_type) const;
  /// A layer of a TensorRT engine; either may be empty. A fusion has the class of its heaviest part.
  OpClass layer(std::string_view layer_type, std::string_view layer_name) const;
  /// Compiles every pattern, which is otherwise left to the first name that needs it.
  Result<void> check() const;

 private:
  Taxonomy(PatternTable kernels, PatternTable ops, PatternTable layers)
      : kernels_(std::move(kernels)), ops_(std::move(ops)), layers_(std::move(layers)) {}
  OpClass layer_type(std::string_view type) const;
  OpClass layer_by_name(std::string_view name) const;
  OpClass layer_part(std::string_view part) const;

  PatternTable kernels_;
  PatternTable ops_;
  PatternTable layers_;
};

}  // namespace nl::analyze
