#pragma once
// Runs as pages that a browser opens without a server: those of the web UI, with what they would ask recorded
// beside them. As a folder, or as one file.

#include <string>
#include <vector>

#include "ops/site/recorded_answers.h"

namespace nl::ops {

/// Spans of a time line that a page has; the shortest of more are left out, and counted.
inline constexpr uint64_t kMostSpansOfFile = 300'000;
inline constexpr uint64_t kMostSpansOfSite = 1'000'000;

struct SpansLeftOut {
  std::string run_id;
  uint64_t spans;
  int64_t shorter_than_ns;
};

struct WrittenFile {
  std::string name;
  uint64_t bytes;
};

struct WrittenSite {
  std::vector<WrittenFile> files;
  std::vector<SpansLeftOut> left_out;
};

/// Does this build have the pages? One without npm has not.
bool has_site_pages();

/// A folder that is there is replaced at once if it is such a site, or empty; any other is refused.
Result<WrittenSite> write_site(Context& context, const SiteRuns& site, const AskOperation& ask,
                               const std::string& folder);

/// Written aside and renamed.
Result<WrittenSite> write_site_file(Context& context, const SiteRuns& site, const AskOperation& ask,
                                    const std::string& path);

/// What the answer of an operation says of them, and a sentence for people.
nlohmann::json left_out_json(const WrittenSite& written);
std::vector<std::string> left_out_warnings(const WrittenSite& written);

}  // namespace nl::ops
