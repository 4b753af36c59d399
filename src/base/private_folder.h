#pragma once
// A folder for what this user's programs will load, execute or obey: the collector library, the plan of a
// measuring process. It never lies in a ledger, because others may be able to write to that.

#include "base/aside.h"
#include "base/environment.h"

namespace nl {

enum class PrivateUse { kFiles, kCode };

/// In $XDG_RUNTIME_DIR, $TMPDIR or /tmp, whichever comes first that nobody else can move or replace it in.
/// For code the file system must let programs load libraries. What killed processes of the caller left there
/// is removed on the way.
Result<FolderAside> make_private_folder(const Environment& surroundings, PrivateUse use);

}  // namespace nl
