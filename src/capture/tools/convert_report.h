#pragma once
// Reports that only the vendor's own tool can read, such as .nsys-rep and .ncu-rep. They are recognised by
// their first bytes. If the tool is installed, it converts the report into a file that an adapter can read.
// Any thread may call.

#include <functional>
#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/result.h"

namespace nl::capture {

/// A kind of report and the way to read it.
struct ReportKind {
  std::string_view magic;      ///< the file begins with it
  std::string_view suffix;     ///< of the report's name; the tools look at it
  std::string_view format;     ///< adapter of the converted file
  std::string_view product;    ///< for people
  const char* tool;            ///< its program
  const char* variable;        ///< of the environment: path of the program
  std::string_view converted;  ///< name of the converted file
  /// Arguments, one a word; REPORT and OUTPUT stand for the paths. Without OUTPUT it is standard output.
  std::string_view arguments;
};

/// nullptr if the bytes are of no report.
const ReportKind* report_kind(std::string_view head);

/// What a person can type to convert a report.
std::string conversion_command(const ReportKind& kind, const std::string& report);

struct Converted {
  std::string path;          ///< in the given folder
  std::string tool_version;  ///< empty if the tool does not say
};

struct ConvertOptions {
  std::string folder;  ///< private; made if it is not there, removed by the caller
  std::function<bool()> cancelled = [] { return false; };
  const Environment* surroundings = &Environment::of_process();
};

/// `unavailable` if the tool is not installed or hangs; `unsupported` if it cannot read the report; `limit`
/// if what it writes is far too large; `cancelled`. NEUROLENS_CONVERT_SECONDS limits the time.
Result<Converted> convert_report(const ReportKind& kind, const std::string& report,
                                 const ConvertOptions& options);

}  // namespace nl::capture
