#pragma once
// Takes rights away from this process for the rest of its life: what it does not need, a hostile input cannot
// use. Landlock keeps it away from files, a seccomp filter from sockets, other programs and changes of the
// file system. A kernel that has neither leaves the other limits of the caller.

#include <string>
#include <vector>

namespace nl {

struct Rights {
  std::vector<std::string> readable = {};  ///< folders whose files it may still open to read
  std::vector<int> writable = {};          ///< open files that it may open again to read and write
};

struct Confinement {
  bool files = false;  ///< by Landlock
  bool calls = false;  ///< by seccomp
};

/// Holds for the calling thread and those that it starts from now on; the filter of calls holds for all.
Confinement confine_process(const Rights& rights);

}  // namespace nl
