#pragma once
// The folder for pages that are only viewed and not kept: in the user's cache, otherwise in the folder for
// temporary files. Traces may be private, so only this user can read it.

#include <string>

#include "base/environment.h"
#include "base/result.h"

namespace nl::ops {

/// Made if it is not there. The first that can be written: $XDG_CACHE_HOME/neurolens/pages,
/// ~/.cache/neurolens/pages, a folder of this user in $TMPDIR or /tmp.
Result<std::string> page_folder(const Environment& surroundings);

/// Removes pages that `view` made and what a killed one left, if nobody wrote them for 30 days. Nothing else
/// in the folder is touched; what cannot be removed stays.
void remove_old_pages(const std::string& folder);

}  // namespace nl::ops
