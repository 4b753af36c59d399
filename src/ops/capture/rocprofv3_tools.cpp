#include "ops/capture/rocprofv3_tools.h"

#include <algorithm>
#include <filesystem>

#include "capture/tools/rocprofv3_command.h"

namespace nl::ops {
namespace {

/// Files whose names end so, in the folder or below: with counters the tool makes a folder for each of its
/// own passes.
std::vector<std::string> files_below(const std::string& folder, std::string_view ending) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::error_code failed;
  for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string path = it->path().string();
    if (path.ends_with(ending) && it->is_regular_file(failed)) found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  return found;
}

class Rocprofv3Trace final : public DeepTool {
 public:
  explicit Rocprofv3Trace(capture::VendorTool program) : DeepTool("rocprofv3", std::move(program)) {}

  std::vector<std::string> command(const std::string& folder, const ReplayChoice&) const override {
    return capture::rocprofv3_trace_command(program(), folder);
  }

  Verdict judge(const capture::PassEnd& pass, const std::string& folder) const override {
    return judge_trace(pass, folder, !files_below(folder, "_trace.csv").empty(), "trace");
  }

  /// One list of agents is enough: every process writes the same.
  Result<std::vector<std::string>> records(const std::string& folder,
                                           const capture::ConvertOptions&) const override {
    std::vector<std::string> files = files_below(folder, "_trace.csv");
    const auto agents = files_below(folder, "_agent_info.csv");
    if (!agents.empty()) files.push_back(agents.front());
    return files;
  }
};

class Rocprofv3Counters final : public DeepTool {
 public:
  Rocprofv3Counters(capture::VendorTool program, std::vector<std::string> counters)
      : DeepTool("pmc", std::move(program)), counters_(std::move(counters)) {}

  std::vector<std::string> command(const std::string& folder, const ReplayChoice& choice) const override {
    capture::Rocprofv3Counters options;
    options.folder = folder;
    options.counters = counters_;
    for (const auto& kernel : choice.replayed) options.functions.push_back(kernel.function);
    return capture::rocprofv3_counter_command(program(), options);
  }

  Verdict judge(const capture::PassEnd& pass, const std::string& folder) const override {
    Verdict verdict = judge_counters(pass, folder, !counted(folder).empty());
    if (verdict.status == "failed" || verdict.status == "nothing_profiled")
      verdict.hint = "rocprofv3-avail list --pmc lists what the device can count; choose with --counter";
    return verdict;
  }

  Result<std::vector<std::string>> records(const std::string& folder,
                                           const capture::ConvertOptions&) const override {
    return counted(folder);
  }

 private:
  static std::vector<std::string> counted(const std::string& folder) {
    return files_below(folder, "_counter_collection.csv");
  }

  std::vector<std::string> counters_;
};

}  // namespace

Result<DeepTools> rocprofv3_tools(const Environment& surroundings, const std::vector<std::string>& counters) {
  DeepTools tools;
  NL_TRY(auto rocprofv3, capture::find_rocprofv3(surroundings));
  tools.trace = std::make_unique<Rocprofv3Trace>(rocprofv3);
  if (counters.empty()) return tools;
  NL_CHECK(capture::check_counter_option(rocprofv3));
  tools.counters = std::make_unique<Rocprofv3Counters>(std::move(rocprofv3), counters);
  return tools;
}

}  // namespace nl::ops
