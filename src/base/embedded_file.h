#pragma once
// A file of the source tree that the build has compiled into the binary.

#include <string_view>

namespace nl {

struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

}  // namespace nl
