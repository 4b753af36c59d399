#include "ops/runs/run_names.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/decimal.h"
#include "base/files.h"
#include "base/path_text.h"
#include "base/permissions.h"
#include "ops/import/import_file.h"
#include "ops/runs/packed_runs.h"
#include "ops/runs/run_labels.h"
#include "ops/text/text.h"
#include "store/cache_folder.h"
#include "store/file_check.h"
#include "store/foreign_bundle.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

Error no_such_run(const std::string& name) {
  return Error{ErrorCode::kNotFound,
               "there is no run and no file named: " + name,
               "{} lists the runs; the path of a profile works too: it is imported first",
               {{"runs"}}};
}

/// A run that was deleted is gone for a reason.
Result<NamedRun> gone_or_unknown(store::Ledger& ledger, const std::string& name) {
  const bool may_be_id = name.size() >= 4;
  NL_TRY(const auto graves, may_be_id ? ledger.state().tombstones(name, 1) : std::vector<store::Tombstone>());
  if (graves.empty()) return no_such_run(name);
  const store::Tombstone& grave = graves[0];
  return Error{ErrorCode::kNotFound,
               fmt::format("the run {} was deleted on {} by {}: {}", short_id(grave.run_id),
                           time_text(grave.deleted.at_ns), grave.deleted.user, grave.reason),
               "import its profile again to have it back"};
}

Result<NamedRun> by_latest(store::Ledger& ledger, const std::string& name) {
  int64_t back = 0;
  const std::string rest = name.substr(std::string("@latest").size());
  if (!rest.empty() && (rest[0] != '~' || !parse_int64(rest.substr(1), back) || back < 0))
    return no_such_run(name);
  NL_TRY(const std::string id, ledger.latest(back));
  return NamedRun{id, ledger.run_folder(id)};
}

Result<NamedRun> by_baseline(store::Ledger& ledger, const std::string& name) {
  const std::string baseline_name = name.substr(std::string(kBaselinePrefix).size());
  NL_TRY(const auto baseline, ledger.state().baseline(baseline_name));
  if (!baseline) {
    return Error{ErrorCode::kNotFound,
                 "there is no baseline named: " + baseline_name,
                 "{} lists the baselines",
                 {{"baseline"}}};
  }
  if (!ledger.has(baseline->run_id)) {
    return Error{ErrorCode::kNotFound,
                 "the run of baseline " + baseline_name + " is gone: " + short_id(baseline->run_id),
                 "{} names another one",
                 {suggested("baseline", {{"name", baseline_name}, {"run", "RUN"}})}};
  }
  return NamedRun{baseline->run_id, ledger.run_folder(baseline->run_id)};
}

constexpr int64_t kShownCandidates = 5;
constexpr int kMostAttempts = 10;

Error several_runs(const std::string& what, const std::vector<std::string>& ids) {
  std::string list;
  for (size_t i = 0; i < ids.size() && i < kShownCandidates; i++) {
    list += (i == 0 ? "" : ", ") + short_id(ids[i]);
  }
  if (ids.size() > kShownCandidates) list += ", …";
  return Error{ErrorCode::kBadInput, what + ": " + list, "write more characters of the id"};
}

/// The start of an id, or a tag. A text that is both is ambiguous, like one that several runs have.
Result<NamedRun> by_id_or_tag(store::Ledger& ledger, const std::string& name) {
  const bool hex = name.find_first_not_of("0123456789abcdef") == std::string::npos;
  std::vector<std::string> ids;
  if (hex && name.size() >= 4 && name.size() <= 64) {
    NL_TRY(ids, ledger.find(name, kShownCandidates + 1));
  }
  NL_TRY(const auto tagged, ledger.state().tagged(name, kShownCandidates + 1));
  const bool both = !ids.empty() && !tagged.empty();
  for (const auto& id : tagged) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  if (ids.empty()) return gone_or_unknown(ledger, name);
  if (ids.size() > 1) {
    const std::string what = both              ? "several runs start with or are tagged "
                             : !tagged.empty() ? "several runs are tagged "
                                               : "several runs start with ";
    return several_runs(what + name, ids);
  }
  return NamedRun{ids[0], ledger.run_folder(ids[0])};
}

Result<NamedRun> by_name(store::Ledger& ledger, const std::string& name) {
  if (name.starts_with("@latest")) return by_latest(ledger, name);
  if (name.starts_with(kBaselinePrefix)) return by_baseline(ledger, name);
  return by_id_or_tag(ledger, name);
}

/// What lies beside the profile is taken along when the run is new.
Result<NamedRun> import_on_the_way(Context& context, store::Ledger& ledger, const std::string& path) {
  if (context.may < Effect::kWrite)
    return Error{ErrorCode::kPermission,
                 "a profile must be imported first, but access here is read-only: " + path};
  ImportOptions options;
  options.on_the_way = true;
  NL_TRY(const auto given, given_labels({path}, {}));
  NL_TRY(const auto report, import_files(context, ledger, {path}, options));
  std::vector<std::string> warnings;
  if (report.created) NL_CHECK(apply_labels(context, ledger, report.run_id, given, warnings));
  return NamedRun{report.run_id, ledger.run_folder(report.run_id), report.created};
}

Error not_a_bundle(const std::string& folder) {
  return Error{ErrorCode::kNotFound, "a folder without a run: " + folder,
               "name the profile in it; the folder of a run holds run.json"};
}

bool is_folder(const Context& context, const std::string& name) {
  struct stat info {};
  return context.host_paths && ::stat(name.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// The same bundle at another place, or a copy of it, has what is derived from it there, too.
std::string cached_for(const Context& context, const std::string& bundle) {
  const auto seal = store::seal_of_file(bundle + "/run.json");
  if (!seal) return {};
  std::string folder = store::derived_in_cache(*context.environment, seal->sha256);
  if (!folder.empty()) store::note_cache_use(folder);
  return folder;
}

/// A run of the ledger that another user has put there.
Result<void> check_foreign(const NamedRun& run) {
  NL_TRY(const auto document, store::shared_run_document(run.bundle + "/run.json"));
  return store::check_foreign_tables(run.bundle, *document);
}

Result<NamedRun> run_in_folder(const Context& context, const std::string& name) {
  if (!path_exists(name + "/run.json")) return not_a_bundle(name);
  NL_TRY(const auto document, store::shared_run_document(name + "/run.json"));
  NL_CHECK(store::check_foreign_tables(name, *document));
  NamedRun run{(*document)["run_id"], name};
  run.is_foreign = true;
  run.path = name;
  run.cached = cached_for(context, name);
  if (!run.cached.empty()) return run;
  NL_CHECK(store::cache_folder(*context.environment));
  return Error{ErrorCode::kIo, "cannot read: " + name + "/run.json"};
}

bool is_packed(const Context& context, const std::string& name) {
  return context.host_paths && store::is_packed_run(name);
}

/// A packed run is read where it is, like a bundle from elsewhere. Nothing of it gets into the ledger.
Result<NamedRun> run_in_package(const Context& context, const std::string& path) {
  NL_TRY(const auto packed, store::PackedRun::open(path));
  NL_TRY(const std::string folder, unpacked_in_cache(context, packed));
  NL_TRY(NamedRun run, run_in_folder(context, folder));
  run.path = path;
  run.claimed_by = base_name(path);
  NL_TRY(run.came_along, packed_sidecar(packed));
  return run;
}

}  // namespace

Result<NamedRun> resolve_run_unread(Context& context, const std::string& name) {
  std::string folder = name;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (!context.host_paths || !path_exists(folder + "/run.json")) return resolve_run(context, name);
  const auto document = store::shared_run_document(folder + "/run.json");
  const std::string base = folder.substr(folder.rfind('/') + 1);
  NamedRun run{document ? (**document)["run_id"].get<std::string>() : base, folder};
  run.is_foreign = true;
  run.cached = cached_for(context, folder);
  return run;
}

NamedRun listed_run(const Context& context, const store::Ledger& ledger, const std::string& run_id) {
  NamedRun run{run_id, ledger.run_folder(run_id)};
  if (!ledger.may_write()) run.cached = cached_for(context, run.bundle);
  return run;
}

Result<NamedRun> resolve_run(Context& context, const std::string& name) {
  if (is_folder(context, name)) return run_in_folder(context, name);
  if (is_packed(context, name)) return run_in_package(context, name);
  NL_TRY(auto opened, store::Ledger::open(context.ledger_folder));
  const auto ledger = std::make_shared<store::Ledger>(std::move(opened));
  NL_TRY(NamedRun run, resolve_run(context, *ledger, name));
  run.ledger = ledger;
  return run;
}

Result<NamedRun> resolve_run(Context& context, store::Ledger& ledger, const std::string& name) {
  if (is_folder(context, name)) return run_in_folder(context, name);
  if (is_packed(context, name)) return run_in_package(context, name);
  const bool is_profile = context.host_paths && path_exists(name);
  for (int attempt = 1;; attempt++) {
    NL_TRY(NamedRun run, is_profile ? import_on_the_way(context, ledger, name) : by_name(ledger, name));
    auto lease = store::RunLease::share(run.bundle);
    if (lease) run.lease = std::make_shared<store::RunLease>(std::move(*lease));
    run.cached = cached_for(context, run.bundle);
    run.is_foreign = !other_owner(run.bundle).empty();
    if (run.is_foreign) NL_CHECK(check_foreign(run));
    // Somebody's gc may have dropped the run between its import and our lease. Then it is imported again.
    const bool was_dropped = !lease && lease.error().code == ErrorCode::kNotFound;
    if (!is_profile || !was_dropped || attempt == kMostAttempts) return run;
  }
}

Result<std::shared_ptr<store::Ledger>> ledger_of(const Context& context, const NamedRun& run) {
  if (run.ledger) return run.ledger;
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  return std::make_shared<store::Ledger>(std::move(ledger));
}

Result<NamedRun> resolve_ledger_run(Context& context, store::Ledger& ledger, const std::string& name) {
  NL_TRY(auto named, resolve_run(context, ledger, name));
  named.bundle = ledger.run_folder(named.run_id);
  if (!ledger.has(named.run_id)) {
    return Error{
        ErrorCode::kNotFound, "the run is not in the ledger: " + name, "{} its profile first", {{"import"}}};
  }
  return named;
}

}  // namespace nl::ops
