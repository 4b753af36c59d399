#pragma once
// KernelName: what can be read from the raw name of a kernel. Names are untrusted and may be hundreds of KiB
// long, so parsing takes time linear in the length. Thread-safe: no state.

#include <string>
#include <string_view>
#include <vector>

namespace nl::analyze {

struct KernelName {
  std::string demangled;   ///< readable form; the raw name if it is not mangled or too involved to expand
  std::string short_name;  ///< without return type, namespaces, arguments; of a mere wrapper, what it wraps
  std::string
      dtype;  ///< of the inputs where the name tells it (fp32, tf32, bf16, fp16, fp8, int8, ...), else ""
  std::string tile;      ///< of a product where the name tells it, e.g. 256x128x32, else ""
  std::string function;  ///< with namespaces, without arguments: at::native::reduce_kernel
  /// Names inside the template arguments, in order and without their own arguments; the first 32.
  std::vector<std::string> functors;
};

KernelName parse_kernel_name(std::string_view raw);

/// The short name, of a frame with what it is filled with: vectorized_elementwise_kernel<MulFunctor>.
std::string kernel_label(const KernelName& name);

/// After the last "::".
std::string_view last_component(std::string_view qualified);

}  // namespace nl::analyze
