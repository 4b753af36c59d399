#include "ops/capture/recordings.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/files.h"

namespace nl::ops {
namespace {

constexpr size_t kMostNameBytes = 100;

}  // namespace

std::string recordings_folder(const std::string& ledger_folder) {
  return ledger_folder + "/recordings";
}

std::vector<std::string> list_recordings(const std::string& ledger_folder) {
  return list_folder(recordings_folder(ledger_folder));
}

bool is_recording_name(const std::string& name) {
  return !name.empty() && name.size() <= kMostNameBytes &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
}

int64_t started_at_ns(const std::string& recording) {
  int64_t ns = 0;
  const auto parsed = std::from_chars(recording.data(), recording.data() + recording.size(), ns);
  return parsed.ec == std::errc() && ns > 0 ? ns : 0;
}

}  // namespace nl::ops
