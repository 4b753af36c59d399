#include "base/random.h"

#include <sys/random.h>
#include <sys/types.h>

#include <cassert>

namespace nl {

std::string random_bytes(size_t count) {
  assert(count <= 256);
  std::string bytes(count, '\0');
  while (::getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count)) {
  }
  return bytes;
}

}  // namespace nl
