#include "base/host_name.h"

#include <unistd.h>

namespace nl {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

bool is_this_machine(std::string_view host) {
  const bool is_number =
      host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
  return is_number || host == "localhost" || host == "::1" || host == "[::1]";
}

}  // namespace nl
