#pragma once
// Projects: several ledgers of one server that do not see each other. The folder of the server is the ledger
// of the project `main`; others lie in projects/<name> of it. Each has its own runs, state and index, so
// nothing of one project can get into an answer of another. Facts of a run that two projects have are stored
// once: their files are hard links, and go with the last of them.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl::store {

inline constexpr std::string_view kMainProject = "main";

/// bad_input unless it is a name: letters, digits, - and _, at most 64.
Result<void> check_project_name(std::string_view name);
/// Where its ledger is, whether or not there is one.
std::string project_folder(const std::string& server_folder, std::string_view project);
/// By name; `main` is one of them.
std::vector<std::string> list_projects(const std::string& server_folder);
/// Makes the files of the run hard links to equal files of another project, where there are some. What cannot
/// be linked stays a copy. How many bytes are stored once.
int64_t share_facts(const std::string& server_folder, std::string_view project, const std::string& run_id);

}  // namespace nl::store
