#pragma once
// Who may use what we make in a folder that several people may share, such as a ledger.
//
// The rule: a new file or folder has the permissions of the folder that it lies in, whatever the umask says.
// So its owner decides once, for the topmost folder, and nothing in it is ever more open than that.

#include <string>

#include "base/result.h"

namespace nl {

/// The folder that a path lies in.
std::string parent_folder(const std::string& path);

/// Makes the missing folders, each with the permissions of the one around it.
Result<void> make_shared_folders(const std::string& path);
/// Makes a folder that is going to be written in a folder that may not be the caller's, such as a bundle of a
/// shared ledger: an error if check_writers refuses one of the two, or the one around them.
Result<void> make_trusted_folder(const std::string& path);
/// Gives a new file the permissions of its folder.
void share_file(const std::string& path);
/// Gives a folder and all that lies in it the permissions of `like`. Links are left alone, and so is the
/// folder `except`.
void share_tree(const std::string& folder, const std::string& like, const std::string& except = {});

/// May the caller write into the folder without leaving to strangers what happens there? Not if anybody may
/// write to it, and not if it belongs to somebody else (root is trusted), unless its owner shares it with a
/// group that the caller is in. A link counts as its owner's. The error says how to mend it.
Result<void> check_writers(const std::string& folder);

/// The user who owns the file or folder if it is neither the caller nor root, with a name if there is one;
/// else empty.
std::string other_owner(const std::string& path);

}  // namespace nl
