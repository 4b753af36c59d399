#include "ops/runs/run_timeline.h"

#include <fmt/core.h>

#include "base/call_control.h"
#include "base/files.h"
#include "base/permissions.h"
#include "base/private_folder.h"
#include "ops/runs/named_analysis.h"
#include "timeline/timeline_builder.h"

namespace nl::ops {
namespace {

using timeline::TimelineFile;
using Opened = std::shared_ptr<const TimelineFile>;

constexpr char kFileStart[] = "timeline-";

std::string path_in(const std::string& derived) {
  return fmt::format("{}/{}{}", derived, kFileStart, timeline::kVersion);
}

Result<void> make_folder(const std::string& derived) {
  NL_CHECK(make_shared_folders(parent_folder(derived)));
  return make_trusted_folder(derived);
}

void remove_other_versions(const std::string& derived) {
  for (const auto& name : list_folder(derived)) {
    const std::string path = fmt::format("{}/{}", derived, name);
    if (name.starts_with(kFileStart) && path != path_in(derived)) remove_tree(path);
  }
}

Result<Opened> built_in(store::OpenRun& run, const std::string& derived) {
  NL_CHECK(make_folder(derived));
  NL_CHECK(timeline::build_timeline(run, derived + "/" + store::kDerivedAside, path_in(derived)));
  share_file(path_in(derived));
  remove_other_versions(derived);
  return TimelineFile::open(path_in(derived));
}

/// For a run beside which nothing can be written. The mapping outlives the file.
Result<Opened> built_aside(Context& context, store::OpenRun& run) {
  NL_TRY(const FolderAside folder, make_private_folder(*context.environment, PrivateUse::kFiles));
  NL_CHECK(timeline::build_timeline(run, folder.path() + "/new-", folder.path() + "/timeline"));
  return TimelineFile::open(folder.path() + "/timeline");
}

}  // namespace

Result<Opened> run_timeline(Context& context, const NamedRun& run) {
  const store::RunPlace place = run.place();
  for (const std::string& derived : {place.derived, place.spare}) {
    if (derived.empty()) continue;
    auto file = TimelineFile::open(path_in(derived));
    if (file) return file;
    if (file.error().code == ErrorCode::kBadInput)
      report_notice("the time line of run " + short_id(run.run_id) + " was damaged; it has been made again");
  }
  context.progress({"making the time line", 0});
  NL_TRY(const auto open, open_derived(run));
  for (const std::string& derived : {place.derived, place.spare}) {
    if (derived.empty()) continue;
    auto file = built_in(*open, derived);
    if (file || file.error().code == ErrorCode::kCancelled || file.error().code == ErrorCode::kLimit)
      return file;
  }
  return built_aside(context, *open);
}

}  // namespace nl::ops
