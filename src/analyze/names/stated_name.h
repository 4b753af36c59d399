#pragma once
// A name of a redacted run may no longer tell what analysis reads from names. Then the original is read
// before, and the name states it at its end: "hukoyijewavuxoqi {nl kernel=gemm/cutlass_gemm tile=128x64x32}".
// What a name states counts before what it looks like. Keys: kernel (class/family), dtype, tile, kinds, op
// and layer (a class). Pure functions, any thread.

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace nl::analyze {

/// The name itself.
std::string_view without_statement(std::string_view name);

/// What the name states for this key; may be empty.
std::optional<std::string_view> stated(std::string_view name, std::string_view key);

/// Values have no blanks. No values: the name as it is.
std::string with_statement(std::string_view name, const std::map<std::string, std::string>& values);

}  // namespace nl::analyze
