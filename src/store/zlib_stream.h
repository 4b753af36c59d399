#pragma once
// Bytes made smaller as every browser reads them. Pure, any thread.

#include <string>
#include <string_view>

namespace nl::store {

/// A zlib stream (RFC 1950). The same on every machine: no instruction of a processor is chosen at run time.
std::string zlib_stream(std::string_view bytes);

}  // namespace nl::store
