#pragma once
// The names of a process in its shared table (wire/live.h). A lookup takes no lock. Only one thread at a time
// may add a name.

#include <string_view>

#include "wire/live.h"

namespace nl::collect {

/// Its number; 0 if it is not there.
uint32_t find_name(const wire::NameTable& table, std::string_view domain, std::string_view text);
/// Adds a name that is not there; 0 if there is no room.
uint32_t add_name(wire::NameTable& table, std::string_view domain, std::string_view text);
/// All names of a table into an empty one, with the same numbers.
void copy_names(const wire::NameTable& from, wire::NameTable& to);

}  // namespace nl::collect
