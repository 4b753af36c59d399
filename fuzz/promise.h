#pragma once
// What a harness holds against any input. A broken promise is printed and traps.

#include <cstdio>
#include <string_view>

namespace nl {

inline void require(bool kept, const char* promise, std::string_view text) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n%.*s\n", promise, static_cast<int>(text.size()), text.data());
  __builtin_trap();
}

}  // namespace nl
