#pragma once
// The cache of whoever runs the program: what may be lost at any time, and what nobody else may change. The
// index of a ledger on a network file system lies there, and what is derived from bundles that are not in the
// ledger.

#include <string>

#include "base/environment.h"
#include "base/result.h"

namespace nl::store {

/// $XDG_CACHE_HOME/neurolens, else ~/.cache/neurolens, else a folder of the user in /tmp. It is made if need
/// be, for the user alone. `permission` if it belongs to somebody else.
Result<std::string> cache_folder(const Environment& surroundings);

/// Where in the cache lies what is derived from a bundle whose run.json has this hash. Empty without a cache.
std::string derived_in_cache(const Environment& surroundings, const std::string& document_sha256);

/// Removes what was derived so many days ago; how many runs it was of.
int64_t remove_old_derived(const Environment& surroundings, int days);

}  // namespace nl::store
