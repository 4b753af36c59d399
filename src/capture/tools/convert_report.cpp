#include "capture/tools/convert_report.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/decimal.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "capture/tools/vendor_tool.h"

namespace nl::capture {
namespace {

constexpr ReportKind kKinds[] = {
    {"NVIDIA Tegra Profiler Report", ".nsys-rep", "nsys", "Nsight Systems", "nsys", "NEUROLENS_NSYS",
     "report.sqlite",
     "export --type sqlite --lazy true --force-overwrite true --quiet true --output OUTPUT REPORT"},
    {{"NVR\0", 4},
     ".ncu-rep",
     "ncu",
     "Nsight Compute",
     "ncu",
     "NEUROLENS_NCU",
     "report.csv",
     "--import REPORT --csv --page raw --print-units base"},
};

constexpr int64_t kLeastLimit = int64_t{4} << 30;
constexpr int64_t kMostTimesLarger = 100;  // exports are some ten times as large

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    words.emplace_back(word);
  }
  return words;
}

bool has_output(const ReportKind& kind) {
  return has_part(kind.arguments, "OUTPUT");
}

std::vector<std::string> command_of(const ReportKind& kind, const std::string& program,
                                    const std::string& report, const std::string& output) {
  std::vector<std::string> command = {program};
  for (std::string& word : words_of(kind.arguments)) {
    command.push_back(word == "REPORT" ? report : word == "OUTPUT" ? output : std::move(word));
  }
  return command;
}

std::chrono::seconds time_limit(const Environment& surroundings) {
  constexpr int64_t kSeconds = 1800;
  const std::string given = surroundings.get("NEUROLENS_CONVERT_SECONDS");
  int64_t seconds = 0;
  const bool valid = parse_int64(given, seconds) && seconds > 0 && seconds < 1'000'000;
  return std::chrono::seconds(valid ? seconds : kSeconds);
}

/// What a tool said last, for the error.
std::string last_words(const ProcessEnd& ended) {
  constexpr size_t kMostBytes = 1000;
  std::string text = ended.errors.empty() ? ended.output : ended.errors;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text.size() <= kMostBytes ? text : "..." + text.substr(text.size() - kMostBytes);
}

class Conversion {
 public:
  Conversion(const ReportKind& kind, std::string report, const ConvertOptions& options)
      : kind_(kind), report_(std::move(report)), options_(options) {}

  Result<Converted> run() {
    const std::string program = find_program(*options_.surroundings, kind_.tool, kind_.variable);
    if (program.empty()) return not_installed();
    NL_TRY(const std::string link, link_report());
    Converted converted{options_.folder + "/" + std::string(kind_.converted),
                        version_in(words_of_program(*options_.surroundings, {program, "--version"}))};
    NL_CHECK(set_limit());
    ProcessOptions process;
    process.surroundings = options_.surroundings;
    process.time = time_limit(*options_.surroundings);
    process.folder = options_.folder;
    process.watch = [&] { return watch(converted.path); };
    if (!has_output(kind_)) process.output_file = converted.path;
    NL_TRY(const ProcessEnd ended, run_process(command_of(kind_, program, link, converted.path), process));
    NL_CHECK(judge(ended, converted.path));
    return converted;
  }

 private:
  Error not_installed() const {
    return Error{ErrorCode::kUnavailable,
                 "a report of " + std::string(kind_.product) + " can only be read by its own program, " +
                     kind_.tool + ", which is not installed here",
                 "install it or set " + std::string(kind_.variable) +
                     ", or convert the report where it is: " + conversion_command(kind_, report_)};
  }

  /// Under a name that the tool takes for a report and never for an option.
  Result<std::string> link_report() {
    NL_CHECK(make_folders(options_.folder));
    ::chmod(options_.folder.c_str(), 0700);
    const std::string whole = options_.surroundings->absolute(report_);
    std::string link = options_.folder + "/input" + std::string(kind_.suffix);
    if (::symlink(whole.c_str(), link.c_str()) != 0) return errno_error("cannot link", link, errno);
    return link;
  }

  Result<void> set_limit() {
    NL_TRY(const int64_t bytes, file_size(report_));
    most_bytes_ = std::max(kLeastLimit, bytes * kMostTimesLarger);
    return {};
  }

  Result<void> watch(const std::string& output) const {
    if (options_.cancelled()) return cancelled_error();
    const auto bytes = file_size(output);
    if (!bytes || *bytes <= most_bytes_) return {};
    return Error{ErrorCode::kLimit, std::string(kind_.tool) + " writes more than " +
                                        std::to_string(most_bytes_ >> 20) + " MB for " + report_};
  }

  Result<void> judge(const ProcessEnd& ended, const std::string& output) const {
    const auto bytes = file_size(output);
    const bool wrote = bytes && *bytes > 0;
    if (ended.exit_code == 0 && wrote) return {};
    const std::string said = last_words(ended);
    return Error{
        ErrorCode::kUnsupported,
        std::string(kind_.tool) + " could not convert the report: " +
            (ended.exit_code != 0 ? "exit code " + std::to_string(ended.exit_code) : "it wrote nothing") +
            (said.empty() ? "" : ": " + said),
        "a report needs a " + std::string(kind_.tool) +
            " that is at least as new as the one that wrote it; by hand: " +
            conversion_command(kind_, report_)};
  }

  const ReportKind& kind_;
  const std::string report_;
  const ConvertOptions& options_;
  int64_t most_bytes_ = 0;
};

}  // namespace

const ReportKind* report_kind(std::string_view head) {
  for (const ReportKind& kind : kKinds) {
    if (head.starts_with(kind.magic)) return &kind;
  }
  return nullptr;
}

std::string conversion_command(const ReportKind& kind, const std::string& report) {
  std::string text;
  for (const auto& word : command_of(kind, kind.tool, report, std::string(kind.converted))) {
    text += (text.empty() ? "" : " ") + word;
  }
  if (!has_output(kind)) text += " > " + std::string(kind.converted);
  return text + " && neurolens import " + std::string(kind.converted);
}

Result<Converted> convert_report(const ReportKind& kind, const std::string& report,
                                 const ConvertOptions& options) {
  return Conversion(kind, report, options).run();
}

}  // namespace nl::capture
