#pragma once
// The folder of the queue: the user's own state folder. Whoever can write there runs commands as that user,
// so it is refused if anybody else can, and it is never in a ledger, which others may share.

#include <string>

#include "base/environment.h"
#include "base/result.h"

namespace nl::lab {

/// $NEUROLENS_STATE, else neurolens in $XDG_STATE_HOME or ~/.local/state.
Result<std::string> state_folder_name(const Environment& surroundings);

/// The same, made if it is not there. `permission` if others own it or may write into it.
Result<std::string> make_state_folder(const Environment& surroundings);

/// The file or folder is of this user, no link, and nobody else may write to it.
Result<void> check_private(const std::string& path);

/// Where the logs of an attempt are, without their last part: <folder>/queue-logs/<job>/<attempt>
std::string attempt_path(const std::string& folder, int64_t job, int64_t attempt);

}  // namespace nl::lab
