// The library that is loaded into the customer's process: the table of functions that
// include/neurolens/neurolens.h asks for. What NVTX asks for is in nvtx.cpp.

#include "collect/markers.h"
#include "collect/process.h"
#include "neurolens/neurolens.h"

namespace nl::collect {
namespace {

/// For programs of version 1, too: what is new since stands at the end.
constexpr neurolens_api kApi{NEUROLENS_API_VERSION, name,          begin,     end,
                             begin_on_lane,         end_on_lane,   mark,      counter,
                             name_thread,           refuse_reused, begin_with};

}  // namespace
}  // namespace nl::collect

extern "C" __attribute__((visibility("default"))) const neurolens_api* neurolens_collect(uint32_t version) {
  if (version < 1 || version > NEUROLENS_API_VERSION) return nullptr;
  return nl::collect::start_process() || nl::collect::has_session() ? &nl::collect::kApi : nullptr;
}
