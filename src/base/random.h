#pragma once
// Bytes that nobody can guess, from the kernel. Any thread.

#include <cstddef>
#include <string>

namespace nl {

/// At most 256 bytes: so many the kernel gives at once. They are not those of a process that was forked from
/// this one.
std::string random_bytes(size_t count);

}  // namespace nl
