#pragma once
// The cache of whoever runs the program: what may be lost at any time, and what nobody else may change. The
// index of a ledger on a network file system lies there, packed runs that were unpacked, and what is derived
// from bundles that are not in the ledger.

#include <string>

#include "base/environment.h"
#include "base/result.h"

namespace nl::store {

/// $XDG_CACHE_HOME/neurolens, else ~/.cache/neurolens, else a folder of the user in /tmp. It is made if need
/// be, for the user alone. `permission` if it belongs to somebody else.
Result<std::string> cache_folder(const Environment& surroundings);

/// Where in the cache lies what is derived from a bundle whose run.json has this hash. Empty without a cache.
std::string derived_in_cache(const Environment& surroundings, const std::string& document_sha256);

/// Folder of the packed runs that were unpacked, with a slash at its end.
Result<std::string> packed_in_cache(const Environment& surroundings);

/// What nobody asks for is kept that long.
inline constexpr int kDaysOfCache = 30;

/// A folder of the cache was asked for just now.
void note_cache_use(const std::string& folder);
/// What the cache may hold: $NEUROLENS_CACHE_MB, else 10 GiB.
int64_t most_cache_bytes(const Environment& surroundings);
/// Removes what nobody asked for in so many days, and if the rest is too large, what was asked for least
/// lately, but nothing of the last hour. How many runs it was of.
int64_t tidy_cache(const Environment& surroundings, int days);

}  // namespace nl::store
