#include "cli/view_server.h"

#include <algorithm>
#include <filesystem>

#include "ops/door.h"

namespace nl::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

Result<std::string> run_id_of(ops::Context& context, const std::string& run) {
  std::error_code failed;
  const bool is_profile = fs::is_regular_file(run, failed);
  NL_TRY(const ops::Outcome found, is_profile ? ops::call("import", {{"paths", {run}}}, context)
                                              : ops::call("show", {{"run", run}}, context));
  return found.data["run_id"].get<std::string>();
}

}  // namespace

bool is_served(const json& parameters) {
  const auto needs_no_server = [](const json& run) {
    std::error_code failed;
    const std::string name = run.get<std::string>();
    return name.ends_with(".html") || fs::is_directory(name, failed);
  };
  const json& runs = parameters["runs"];
  return !parameters.contains("file") && !parameters.value("offline", false) &&
         !parameters.value("print", false) && !parameters.value("perfetto", false) &&
         !parameters.contains("window") && runs.size() <= 2 &&
         std::none_of(runs.begin(), runs.end(), needs_no_server);
}

Result<std::string> page_of_runs(ops::Context& context, const json& parameters) {
  const std::string page = parameters.value("page", "overview");
  const bool has_page = page != "overview";
  if (has_page && parameters["runs"].size() > 1)
    return Error{ErrorCode::kBadInput, "--page is of the pages of one run"};
  std::vector<std::string> ids;
  for (const json& run : parameters["runs"]) {
    NL_TRY(const std::string id, run_id_of(context, run.get<std::string>()));
    ids.push_back(id);
  }
  if (ids.size() == 1) return "/runs/" + ids[0] + (has_page ? "/" + page : "");
  return "/compare?base=" + ids[0] + "&new=" + ids[1];
}

}  // namespace nl::cli
