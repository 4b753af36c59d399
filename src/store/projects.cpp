#include "store/projects.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/aside.h"
#include "base/files.h"

namespace nl::store {
namespace {

constexpr size_t kMostLetters = 64;

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool equal_files(const std::string& a, const std::string& b) {
  const auto left = read_file(a), right = read_file(b);
  return left && right && *left == *right;
}

/// The link gets its place in one step: whoever has the old file open goes on reading it.
int64_t link_one(const std::string& from, const std::string& to) {
  struct stat there {
  }, here{};
  if (::lstat(from.c_str(), &there) != 0 || ::lstat(to.c_str(), &here) != 0) return 0;
  const bool is_plain = S_ISREG(there.st_mode) && S_ISREG(here.st_mode);
  if (!is_plain || there.st_ino == here.st_ino || there.st_size != here.st_size || !equal_files(from, to))
    return 0;
  const std::string aside = to + "." + unique_text();
  if (::link(from.c_str(), aside.c_str()) != 0) return 0;
  if (::rename(aside.c_str(), to.c_str()) == 0) return here.st_size;
  ::unlink(aside.c_str());
  return 0;
}

}  // namespace

Result<void> check_project_name(std::string_view name) {
  if (!name.empty() && name.size() <= kMostLetters && std::all_of(name.begin(), name.end(), is_name_letter))
    return {};
  return Error{ErrorCode::kBadInput,
               "the name of a project has letters, digits, - and _, at most 64 of them"};
}

std::string project_folder(const std::string& server_folder, std::string_view project) {
  if (project == kMainProject) return server_folder;
  return server_folder + "/projects/" + std::string(project);
}

std::vector<std::string> list_projects(const std::string& server_folder) {
  std::vector<std::string> names = {std::string(kMainProject)};
  for (const std::string& name : list_folder(server_folder + "/projects")) {
    if (check_project_name(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

int64_t share_facts(const std::string& server_folder, std::string_view project, const std::string& run_id) {
  const std::string ours = project_folder(server_folder, project) + "/runs/" + run_id;
  int64_t bytes = 0;
  for (const std::string& other : list_projects(server_folder)) {
    const std::string theirs = project_folder(server_folder, other) + "/runs/" + run_id;
    if (other == project || !path_exists(theirs + "/run.json")) continue;
    for (const std::string& file : list_folder(ours))
      bytes += link_one(fmt::format("{}/{}", theirs, file), fmt::format("{}/{}", ours, file));
    return bytes;
  }
  return bytes;
}

}  // namespace nl::store
