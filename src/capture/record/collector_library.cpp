#include "capture/record/collector_library.h"

#include <string_view>

#include "base/files.h"

#ifdef NEUROLENS_COLLECTOR_FILE
// The bytes of the file, between two symbols.
asm(".section .rodata\n"
    ".balign 16\n"
    "neurolens_collector_begin: .incbin \"" NEUROLENS_COLLECTOR_FILE
    "\"\n"
    "neurolens_collector_end: .byte 0\n"
    ".previous\n");
extern "C" const char neurolens_collector_begin[], neurolens_collector_end[];
#endif

namespace nl::capture {
namespace {

std::string_view library_bytes() {
#ifdef NEUROLENS_COLLECTOR_FILE
  return {neurolens_collector_begin,
          static_cast<size_t>(neurolens_collector_end - neurolens_collector_begin)};
#else
  return {};
#endif
}

}  // namespace

Result<std::string> write_collector_library(const std::string& folder) {
  if (library_bytes().empty())
    return Error{ErrorCode::kUnavailable, "this build of neurolens has no collector",
                 "name the path of libneurolens_collect.so"};
  const std::string path = folder + "/libneurolens_collect.so";
  NL_CHECK(write_file_durably(path, library_bytes()));
  return path;
}

}  // namespace nl::capture
