#include "analyze/names/kernel_kinds.h"

#include <algorithm>
#include <array>

#include "analyze/names/stated_name.h"

namespace nl::analyze {
namespace {

template <size_t n>
bool has_any(std::string_view name, const std::array<std::string_view, n>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

constexpr std::array<std::string_view, 8> kAmpere = {"sm70", "sm72", "sm75",    "sm80",
                                                     "sm86", "sm89", "ampere_", "turing_"};
constexpr std::array<std::string_view, 4> kHopper = {"nvjet_", "sm90_", "Sm90", "sm100_"};
constexpr std::array<std::string_view, 3> kFlash2 = {"flash_fwd_kernel<", "flash_fwd_splitkv_kernel<",
                                                     "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<"};
constexpr std::array<std::string_view, 2> kSgemm = {"_sgemm_", "scudnn_"};
constexpr std::array<std::string_view, 4> kMatrixUnits = {"tf32", "s1688", "s884", "s16816"};

}  // namespace

KernelKinds kernel_kinds(std::string_view name) {
  if (const auto letters = stated(name, "kinds")) {
    const auto has = [&](char letter) { return letters->find(letter) != std::string_view::npos; };
    return {has('a'), has('h'), has('f'), has('s')};
  }
  KernelKinds kinds;
  kinds.needs_hopper = has_any(name, kHopper);
  kinds.is_ampere = !kinds.needs_hopper && (has_any(name, kAmpere) || name.starts_with("volta_"));
  kinds.is_flash2 = has_any(name, kFlash2);
  kinds.is_sgemm = has_any(name, kSgemm) && !has_any(name, kMatrixUnits);
  return kinds;
}

std::string kinds_text(const KernelKinds& kinds) {
  return std::string(kinds.is_ampere ? "a" : "") + (kinds.needs_hopper ? "h" : "") +
         (kinds.is_flash2 ? "f" : "") + (kinds.is_sgemm ? "s" : "");
}

}  // namespace nl::analyze
