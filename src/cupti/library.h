#pragma once
// libcupti, found and loaded at run time: the library that the program has already loaded, otherwise the
// newest one that is installed.

#include "cupti/abi.h"

namespace nl::cupti {

inline constexpr const char* kLibraryVariable = "NEUROLENS_CUPTI";  ///< path of libcupti, instead of a search

/// Fills the functions; a sentence that says why not, or nullptr.
const char* load(Functions& functions);

/// The sentence for a status that CUPTI gives when there is no driver; nullptr for any other status.
const char* missing_driver(Status status);

/// Another tool in this process that is known to use CUPTI, by its mapped files; nullptr if none is known.
const char* other_tool();

}  // namespace nl::cupti
