#include "store/ledger.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>

#include "base/call_control.h"
#include "base/files.h"
#include "base/permissions.h"
#include "base/sha256.h"
#include "store/read_counts.h"
#include "store/run_document.h"
#include "store/run_lease.h"
#include "store/run_views.h"
#include "store/state_backup.h"

namespace nl::store {
namespace {

constexpr int kBusyMs = 30'000;
constexpr char kBundle[] = "/bundle";    // in a folder aside: the run that is being imported
constexpr char kTemp[] = "/temp";        // beside it: where its import spills
constexpr char kDropped[] = "/dropped";  // in a folder aside: the files of a run that is being deleted

/// Switching to WAL is refused at once while another process does the same, whatever the busy time: try
/// again.
Result<RunIndex> open_patiently(const std::string& path) {
  for (int tries = 0;; tries++) {
    auto opened = RunIndex::open(path, SqliteAccess::kReadWrite, kBusyMs);
    if (opened || opened.error().code != ErrorCode::kConflict || tries == 1000) return opened;
    NL_CHECK(check_cancelled());
    ::usleep(10'000);
  }
}

template <class T>
bool is_damaged(const Result<T>& index) {
  return !index && index.error().hint == kDamagedIndex;
}

Result<RunIndex> open_anew(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) remove_tree(path + suffix);
  return open_patiently(path);
}

/// What a full disk gives, or one that fails: the answer can still be worked out without it. Damage names a
/// call that mends it.
bool is_of_disk(const Error& error) {
  return error.code == ErrorCode::kIo && error.calls.empty();
}

/// What cannot be read is as good as lost: the index is only a cache.
Result<RunIndex> open_index(LedgerAccess& access) {
  const std::string& path = access.index_path;
  if (access.index == SqliteAccess::kReadWrite) {
    auto index = open_patiently(path);
    if (is_damaged(index)) index = open_anew(path);
    if (index || !is_of_disk(index.error())) return index;
    access.index = SqliteAccess::kMemory;
  }
  if (access.index == SqliteAccess::kReadOnly) {
    auto index = RunIndex::open(path, SqliteAccess::kReadOnly, kBusyMs);
    if (index) return index;
  }
  // Without a -wal file nobody is writing; a WAL database can then be read without its shared memory.
  if (access.index != SqliteAccess::kMemory && !path_exists(path + "-wal")) {
    auto index = RunIndex::open(path, SqliteAccess::kImmutable, kBusyMs);
    if (index) return index;
  }
  return RunIndex::open(path, SqliteAccess::kMemory, kBusyMs);
}

/// Its files were written for us alone. Artefacts stay so: the output of programs, and exports that have the
/// environment of a workload in them.
void share_bundle(const std::string& bundle, const std::string& runs) {
  const std::string artifacts = bundle + "/artifacts";
  share_tree(bundle, runs, artifacts);
  if (::chmod(artifacts.c_str(), 0700) == 0) share_tree(artifacts, artifacts);
}

int64_t modified_ns(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  return static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
}

/// Takes the lock that the maker of the folder aside holds while it lives.
bool is_abandoned(const std::string& aside) {
  const int fd = ::open((aside + ".lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  const bool is_free = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  ::close(fd);
  return is_free;
}

/// Whoever was killed in the middle of a deletion has put the files aside, but the state still knows the run.
void bring_back_dropped(const std::string& ledger, State& state) {
  for (const std::string& name : list_folder(ledger + "/staging")) {
    const std::string aside = fmt::format("{}/staging/{}", ledger, name);
    if (!path_exists(aside + kDropped + "/run.json") || !is_abandoned(aside)) continue;
    const auto document = shared_run_document(aside + kDropped + "/run.json");
    if (!document) continue;
    const std::string run_id = (**document)["run_id"];
    const auto receipt = state.receipt(run_id);
    if (receipt && *receipt) (void)rename_to_new(aside + kDropped, fmt::format("{}/runs/{}", ledger, run_id));
  }
}

/// Names in staging of an import that was killed between the files of its run and the receipt, so that no
/// list shows the run, and of a deletion that was killed in the middle.
std::vector<std::string> killed_half_way(const std::string& staging) {
  std::vector<std::string> names;
  for (const std::string& name : list_folder(staging)) {
    const std::string aside = staging + "/" + name;
    const bool is_published = path_exists(aside + kTemp) && !path_exists(aside + kBundle);
    if ((is_published || path_exists(aside + kDropped)) && is_abandoned(aside)) names.push_back(name);
  }
  return names;
}

/// What killed imports left that had not come to the point of publishing.
int64_t remove_unfinished(const std::string& staging) {
  const auto half_way = killed_half_way(staging);
  int64_t removed = 0;
  for (const std::string& name : list_folder(staging)) {
    const bool stays = std::any_of(half_way.begin(), half_way.end(),
                                   [&](const std::string& one) { return name.starts_with(one); });
    if (!stays) removed += remove_abandoned(staging + name);
  }
  return removed;
}

}  // namespace

int64_t unix_now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

std::string Ledger::default_folder(const Environment& surroundings) {
  if (const std::string own = surroundings.get("NEUROLENS_LEDGER"); !own.empty()) return own;
  if (const std::string xdg = surroundings.get("XDG_DATA_HOME"); !xdg.empty()) return xdg + "/neurolens";
  const std::string home = surroundings.get("HOME");
  return home.empty() ? std::string() : home + "/.local/share/neurolens";
}

Result<Ledger> Ledger::open(const std::string& folder, bool catches_up, const Environment& surroundings) {
  if (folder.empty()) {
    return Error{ErrorCode::kBadInput, "no place for the ledger: HOME is not set",
                 "name a folder with --ledger DIR or NEUROLENS_LEDGER"};
  }
  count_ledger();
  NL_TRY(LedgerAccess access, examine_ledger(surroundings, folder));
  NL_TRY(RunIndex index, open_index(access));
  NL_TRY(State state, State::open(folder + "/state.sqlite", access.state, kBusyMs));
  Ledger ledger(folder, std::move(access), std::move(index), std::move(state));
  if (!catches_up) return ledger;
  auto caught_up = ledger.catch_up();
  if (is_damaged(caught_up)) {
    NL_CHECK(ledger.reindex());
    report_notice("the index of the ledger was damaged; it has been rebuilt");
    return ledger;
  }
  if (!caught_up && is_of_disk(caught_up.error())) caught_up = ledger.reindex_in_memory();
  NL_CHECK(caught_up);
  (void)ledger.mend_half_done();  // e.g. a full disk: the next one to open the ledger tries again
  return ledger;
}

Result<void> Ledger::may_write() const {
  return access_.refusal ? Result<void>(*access_.refusal) : Result<void>();
}

/// The index may be of another version, or behind: a process was killed between a change and its index, or
/// the change came from another machine.
Result<void> Ledger::catch_up() {
  NL_TRY(const int64_t change, state_.last_change());
  int64_t known = -1;
  if (index_.is_current()) {
    NL_TRY(known, index_.known_change());
  }
  if (known == change) return {};
  if (access_.index != SqliteAccess::kReadWrite) return reindex_in_memory();
  if (known >= 0 && known < change) return index_touched();
  NL_CHECK(reindex());
  return {};
}

/// What a killed import or deletion has left half done is completed or taken back by whoever comes next.
Result<void> Ledger::mend_half_done() {
  if (access_.refusal || access_.index != SqliteAccess::kReadWrite || !index_.is_current()) return {};
  const auto names = killed_half_way(folder_ + "/staging");
  if (names.empty()) return {};
  bring_back_dropped(folder_, state_);
  NL_CHECK(index_unlisted(list_folder(folder_ + "/runs")));
  for (const auto& name : names) remove_abandoned(folder_ + "/staging/" + name);
  return {};
}

Result<void> Ledger::index_touched() {
  NL_TRY(auto transaction, index_.transaction());
  NL_TRY(const int64_t known, index_.known_change());
  NL_TRY(const int64_t change, state_.last_change());
  NL_TRY(const auto touched, state_.touched_after(known));
  for (const auto& id : touched) {
    const auto run = look_at(id);
    NL_CHECK(run ? index_.put(*run) : index_.remove(id));
  }
  NL_CHECK(index_.set_known_change(change));
  return transaction.commit();
}

Result<void> Ledger::reindex_in_memory() {
  access_.index = SqliteAccess::kMemory;
  NL_TRY(index_, RunIndex::open(access_.index_path, SqliteAccess::kMemory, kBusyMs));
  NL_CHECK(reindex());
  return {};
}

Result<void> Ledger::change_state(const std::function<Result<void>(State&)>& change) {
  NL_CHECK(may_write());
  NL_CHECK(change(state_));
  return after_change();
}

/// A backup that fails does not undo the change: the next one tries again.
Result<void> Ledger::after_change() {
  if (!back_up_state_if_due(state_, folder_))
    report_notice("the backup of the ledger's state could not be written");
  return catch_up();
}

Result<std::vector<Label>> Ledger::labels(const std::string& run_id, const nlohmann::json& document) {
  NL_TRY(const auto kept, state_.labels(run_id));
  return merge_labels(source_labels(document), kept);
}

Result<void> Ledger::wait_until_free() {
  NL_CHECK(state_.transaction());
  NL_CHECK(index_.transaction());
  return check_cancelled();
}

bool Ledger::has(const std::string& run_id) const {
  return path_exists(run_folder(run_id) + "/run.json");
}

Result<Staging> Ledger::new_staging() {
  NL_CHECK(may_write());
  NL_CHECK(make_shared_folders(folder_ + "/staging"));
  NL_TRY(FolderAside folder, FolderAside::create(folder_ + "/staging/"));
  Staging staging(std::move(folder));
  NL_CHECK(make_folders(staging.bundle()));
  NL_CHECK(make_folders(staging.temp()));
  return staging;
}

Result<bool> Ledger::publish(const Staging& staging, const std::string& run_id) {
  share_bundle(staging.bundle(), folder_ + "/runs");
  NL_CHECK(sync_path(staging.bundle()));
  NL_TRY(const bool is_new, rename_to_new(staging.bundle(), run_folder(run_id)));
  if (is_new) NL_CHECK(sync_path(folder_ + "/runs"));
  return is_new;
}

Result<void> Ledger::replace(const Staging& staging, const std::string& run_id) {
  NL_CHECK(sync_path(staging.bundle()));
  const std::string to = run_folder(run_id);
  NL_TRY(const RunLease lease, RunLease::alone(to, kBusyMs));
  NL_CHECK(exchange_paths(staging.bundle(), to));
  return sync_path(folder_ + "/runs");
}

/// A run without a receipt counts as imported when its run.json was written.
Result<IndexedRun> Ledger::look_at(const std::string& run_id) {
  const std::string path = run_folder(run_id) + "/run.json";
  NL_TRY(const auto shared, shared_run_document(path));
  const nlohmann::json& document = *shared;
  if (document["run_id"] != run_id) {
    return Error{ErrorCode::kConflict, "the folder is not named after its run: " + run_folder(run_id)};
  }
  NL_TRY(auto receipt, state_.receipt(run_id));
  if (!receipt) {
    receipt.emplace();
    receipt->imported_at_ns = modified_ns(path);
  }
  NL_TRY(const auto labels, state_.labels(run_id));
  NL_TRY(auto tags, state_.tags(run_id));
  return indexed_run(document, *receipt, labels, std::move(tags));
}

Result<void> Ledger::record_new(const Staging& staging, const std::string& run_id, const Receipt& receipt) {
  auto recorded = record(run_id, receipt);
  if (recorded) return recorded;
  const auto kept = state_.receipt(run_id);
  if (kept && !*kept) (void)rename_to_new(run_folder(run_id), staging.bundle());
  return recorded;
}

Result<void> Ledger::record(const std::string& run_id, const Receipt& given) {
  NL_CHECK(may_write());
  NL_CHECK(look_at(run_id));
  Receipt receipt = given;
  NL_TRY(receipt.document_sha256, sha256_of_file(run_folder(run_id) + "/run.json"));
  NL_CHECK(state_.put_receipt(run_id, receipt));
  return after_change();
}

Result<void> Ledger::keep(const std::string& run_id) {
  if (access_.refusal) return {};  // nothing there will be dropped either
  const auto changed = state_.keep(run_id);
  if (!changed && is_of_disk(changed.error())) return {};  // whoever asked gets an answer all the same
  NL_CHECK(changed);
  return *changed ? catch_up() : Result<void>();
}

Result<std::string> Ledger::latest(int64_t back) {
  NL_TRY(const auto rows, list(1, back));
  if (rows.empty()) {
    return Error{ErrorCode::kNotFound,
                 back == 0 ? std::string("the ledger is empty")
                           : "the ledger has no more than " + std::to_string(back) + " runs",
                 "{} lists the runs",
                 {{"runs"}}};
  }
  return rows[0].run_id;
}

/// First the folder gets out of sight, at once, and then the state says that the run was touched: whoever
/// brings the index up to date meanwhile either waits for our transaction or looks again, and never keeps a
/// run that is gone.
Result<void> Ledger::drop(const std::string& run_id, const std::function<Result<void>(State&)>& forget) {
  NL_CHECK(make_shared_folders(folder_ + "/staging"));
  NL_TRY(const FolderAside aside, FolderAside::create(folder_ + "/staging/"));
  NL_TRY(auto transaction, index_.transaction());
  const bool has_files = path_exists(run_folder(run_id));
  if (has_files) NL_CHECK(rename_to_new(run_folder(run_id), aside.path() + kDropped));
  if (auto forgotten = forget(state_); !forgotten) {
    // E.g. a full disk. The state still knows the run, so it must stay whole.
    if (has_files) NL_CHECK(rename_to_new(aside.path() + kDropped, run_folder(run_id)));
    return forgotten;
  }
  NL_CHECK(index_.remove(run_id));
  return transaction.commit();
}

Result<void> Ledger::delete_run(const std::string& run_id, const std::string& reason, const Act& act,
                                Patience patience) {
  NL_CHECK(may_write());
  NL_TRY(const RunLease lease,
         RunLease::alone(run_folder(run_id), patience == Patience::kSome ? kBusyMs : 0));
  return drop(run_id, [&](State& state) { return state.bury(run_id, reason, act); });
}

Result<GcReport> Ledger::collect_garbage(bool drop_on_the_way) {
  NL_CHECK(may_write());
  GcReport report;
  bring_back_dropped(folder_, state_);
  const auto ids_there = list_folder(folder_ + "/runs");
  // An index that is missing or damaged is not made better here: reindex does that. One that cannot be
  // written now must be told later, so what says so stays.
  const bool is_kept = access_.index == SqliteAccess::kReadWrite;
  const bool is_listed = !index_.is_current() || (index_unlisted(ids_there) && is_kept);
  report.stale_stagings =
      is_listed ? remove_abandoned(folder_ + "/staging/") : remove_unfinished(folder_ + "/staging/");
  for (const auto& id : ids_there)
    report.stale_stagings += remove_derived_left_overs(place_in_ledger(run_folder(id)).derived);
  if (!drop_on_the_way) return report;
  NL_TRY(const auto ids, index_.on_the_way());
  for (const auto& id : ids) {
    NL_CHECK(check_cancelled());
    const auto lease = RunLease::alone(run_folder(id), 0);
    if (!lease && lease.error().code == ErrorCode::kConflict) continue;  // somebody reads it: the next time
    NL_CHECK(drop(id, [&](State& state) { return state.forget(id); }));
    report.dropped_runs++;
  }
  return report;
}

/// Whoever was killed between the files of a run and its receipt has left a run that no list shows.
Result<void> Ledger::index_unlisted(const std::vector<std::string>& ids) {
  NL_TRY(auto transaction, index_.transaction());
  NL_TRY(const auto all, index_.all_ids());
  const std::set<std::string> listed(all.begin(), all.end());
  for (const auto& id : ids) {
    if (listed.contains(id)) continue;
    if (const auto run = look_at(id)) NL_CHECK(index_.put(*run));
  }
  return transaction.commit();
}

std::vector<IndexedRun> Ledger::look_at_all(GcReport& report) {
  std::vector<IndexedRun> runs;
  for (const auto& id : list_folder(folder_ + "/runs")) {
    auto run = look_at(id);
    if (run) {
      runs.push_back(std::move(run).value());
    } else {
      report.unreadable.push_back(id);
    }
  }
  report.indexed_runs = static_cast<int64_t>(runs.size());
  return runs;
}

/// Others may go on meanwhile: the bundles are looked at without a lock, and what has changed since then is
/// indexed afterwards.
Result<GcReport> Ledger::reindex() {
  auto report = fill_index();
  if (!is_damaged(report)) return report;
  const bool writes = access_.index == SqliteAccess::kReadWrite;
  NL_TRY(index_, writes ? open_anew(access_.index_path)
                        : RunIndex::open(access_.index_path, SqliteAccess::kMemory, kBusyMs));
  return fill_index();
}

Result<GcReport> Ledger::fill_index() {
  GcReport report;
  NL_TRY(const int64_t change, state_.last_change());
  auto runs = look_at_all(report);
  NL_TRY(auto transaction, index_.transaction());
  NL_CHECK(index_.start_over());
  NL_CHECK(index_.fill(std::move(runs)));
  NL_CHECK(index_.set_known_change(change));
  NL_CHECK(transaction.commit());
  NL_CHECK(index_touched());
  return report;
}

}  // namespace nl::store
