#pragma once
// What the name of a kernel tells besides its class: for which generation of devices it was written, and
// whether it is one that a newer kind has replaced.

#include <string>
#include <string_view>

namespace nl::analyze {

struct KernelKinds {
  bool is_ampere = false;     ///< written for Ampere or older
  bool needs_hopper = false;  ///< runs on compute capability 9.0 or newer only
  bool is_flash2 = false;     ///< FlashAttention-2
  bool is_sgemm = false;      ///< a product in fp32 without matrix units
};

KernelKinds kernel_kinds(std::string_view name);

/// A letter for each kind: the form in which a name states them, see stated_name.h.
std::string kinds_text(const KernelKinds& kinds);

}  // namespace nl::analyze
