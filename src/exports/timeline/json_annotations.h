#pragma once
// Members of a JSON object as debug annotations of a Perfetto event, written straight from the text.

#include <cstdint>
#include <functional>
#include <string_view>

#include "exports/protobuf.h"

namespace nl::exports {

/// Writes one field `debug_annotations` for each member. `write_name` writes the name of a member into the
/// writer. False if the text is no JSON object, or too deep; nothing is written then.
bool write_json_annotations(ProtoWriter& out, uint32_t field, std::string_view json,
                            const std::function<void(std::string_view)>& write_name);

}  // namespace nl::exports
