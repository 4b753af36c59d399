#include "store/ledger.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <random>

#include "base/files.h"
#include "base/sha256.h"
#include "store/run_document.h"
#include "store/run_views.h"

namespace nl::store {
namespace {

constexpr int kBusyMs = 30'000;
constexpr char kLockSuffix[] = ".lock";
constexpr int64_t kYoungNs = 60'000'000'000;

constexpr char kIndexSchema[] = R"(
  CREATE TABLE IF NOT EXISTS runs(
    run_id TEXT PRIMARY KEY, imported_at_ns INTEGER NOT NULL, file_names TEXT NOT NULL, format TEXT NOT NULL,
    backend TEXT NOT NULL, device TEXT NOT NULL, devices INTEGER NOT NULL, records INTEGER NOT NULL,
    dropped INTEGER NOT NULL, kernels INTEGER NOT NULL, bundle_bytes INTEGER NOT NULL, on_the_way INTEGER NOT NULL
  ) WITHOUT ROWID)";
constexpr char kIndexOrder[] = "CREATE INDEX IF NOT EXISTS runs_by_time ON runs(imported_at_ns DESC, run_id)";
constexpr char kIndexSources[] =
    "CREATE TABLE IF NOT EXISTS sources(sha256 TEXT, bytes INTEGER, run_id TEXT, PRIMARY KEY(sha256, "
    "run_id)) "
    "WITHOUT ROWID";
constexpr char kIndexSizes[] = "CREATE INDEX IF NOT EXISTS sources_by_size ON sources(bytes)";
constexpr char kStateSchema[] = R"(
  CREATE TABLE IF NOT EXISTS receipts(
    run_id TEXT PRIMARY KEY, imported_at_ns INTEGER NOT NULL, file_names TEXT NOT NULL, command TEXT NOT NULL,
    host TEXT NOT NULL, user TEXT NOT NULL, on_the_way INTEGER NOT NULL, document_sha256 TEXT NOT NULL))";

/// WAL needs shared memory, which network file systems do not give.
bool is_network_file_system(const std::string& path) {
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return false;
  switch (static_cast<uint32_t>(info.f_type)) {
    case 0x6969:      // NFS
    case 0xFF534D42:  // CIFS
    case 0xFE534D42:  // SMB2
    case 0x517B:      // SMB
    case 0x65735546:  // FUSE
    case 0x0BD00BD0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x19830326:  // BeeGFS
    case 0x00C36400:  // Ceph
    case 0x01021997:  // 9p
      return true;
    default:
      return false;
  }
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string cache_folder() {
  const std::string xdg = environment("XDG_CACHE_HOME");
  if (!xdg.empty()) return xdg + "/neurolens";
  const std::string home = environment("HOME");
  return home.empty() ? "/tmp/neurolens-cache-" + std::to_string(::getuid()) : home + "/.cache/neurolens";
}

Result<std::string> index_path(const std::string& ledger) {
  if (!is_network_file_system(ledger)) return ledger + "/index.sqlite";
  const std::string folder = cache_folder() + "/index/" + sha256_hex(ledger).substr(0, 16);
  NL_CHECK(make_folders(folder));
  return folder + "/index.sqlite";
}

Result<Sqlite> open_index_once(const std::string& path) {
  NL_TRY(Sqlite index, Sqlite::open(path, kBusyMs));
  NL_CHECK(index.run("PRAGMA journal_mode = WAL"));
  NL_CHECK(index.run("PRAGMA synchronous = NORMAL"));
  for (const char* sql : {kIndexSchema, kIndexOrder, kIndexSources, kIndexSizes}) NL_CHECK(index.run(sql));
  return index;
}

Result<Sqlite> open_state_once(const std::string& path) {
  NL_TRY(Sqlite state, Sqlite::open(path, kBusyMs));
  NL_CHECK(state.run(kStateSchema));
  return state;
}

/// Switching to WAL is refused at once while another process does the same, whatever the busy time: try
/// again.
Result<Sqlite> open_patiently(Result<Sqlite> (*open)(const std::string&), const std::string& path) {
  for (int tries = 0;; tries++) {
    auto opened = open(path);
    if (opened || opened.error().code != ErrorCode::kConflict || tries == 1000) return opened;
    ::usleep(10'000);
  }
}

std::string random_name() {
  std::random_device device;
  std::string text = std::to_string(::getpid()) + "-";
  for (int i = 0; i < 8; i++) text += "0123456789abcdef"[device() % 16];
  return text;
}

int64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

int64_t modified_ns(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  return static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
}

RunRow row_of(const SqliteRow& r) {
  return {r.text(0),    r.integer(1), r.text(2),    r.text(3),    r.text(4),     r.text(5),
          r.integer(6), r.integer(7), r.integer(8), r.integer(9), r.integer(10), r.integer(11) != 0};
}

}  // namespace

Staging::~Staging() {
  if (lock_ < 0) return;
  remove_tree(folder_);
  ::unlink((folder_ + kLockSuffix).c_str());
  ::close(lock_);
}

std::string Ledger::default_folder() {
  if (const std::string own = environment("NEUROLENS_LEDGER"); !own.empty()) return own;
  if (const std::string xdg = environment("XDG_DATA_HOME"); !xdg.empty()) return xdg + "/neurolens";
  const std::string home = environment("HOME");
  return home.empty() ? std::string() : home + "/.local/share/neurolens";
}

Result<Ledger> Ledger::open(const std::string& folder) {
  if (folder.empty()) {
    return Error{ErrorCode::kBadInput, "no place for the ledger: HOME is not set",
                 "name a folder with --ledger DIR or NEUROLENS_LEDGER"};
  }
  NL_CHECK(make_folders(folder + "/runs"));
  NL_TRY(const std::string index_file, index_path(folder));
  auto index = open_patiently(open_index_once, index_file);
  const bool damaged = !index && index.error().hint == kDamagedHint;
  if (damaged) {  // only a cache
    for (const char* suffix : {"", "-wal", "-shm"}) remove_tree(index_file + suffix);
    index = open_patiently(open_index_once, index_file);
  }
  if (!index) return std::move(index.error());
  NL_TRY(Sqlite state, open_patiently(open_state_once, folder + "/state.sqlite"));
  Ledger ledger(folder, std::move(index).value(), std::move(state));
  if (damaged) NL_CHECK(ledger.reindex());
  return ledger;
}

Result<Staging> Ledger::new_staging() {
  NL_CHECK(make_folders(folder_ + "/staging"));
  const std::string folder = folder_ + "/staging/" + random_name();
  const std::string lock_path = folder + kLockSuffix;
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) return errno_error("cannot create", lock_path, errno);
  const bool taken = ::flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  struct stat info {};
  if (taken || (::fstat(lock, &info) == 0 && info.st_nlink == 0)) {  // gc was quicker with this file
    ::close(lock);
    return new_staging();
  }
  Staging staging(folder, lock);
  NL_CHECK(make_folders(staging.bundle()));
  NL_CHECK(make_folders(staging.temp()));
  return staging;
}

Result<bool> Ledger::publish(const Staging& staging, const std::string& run_id) {
  NL_CHECK(sync_path(staging.bundle()));
  NL_TRY(const bool is_new, rename_to_new(staging.bundle(), run_folder(run_id)));
  if (is_new) NL_CHECK(sync_path(folder_ + "/runs"));
  return is_new;
}

Result<void> Ledger::replace(const Staging& staging, const std::string& run_id) {
  NL_CHECK(sync_path(staging.bundle()));
  const std::string to = run_folder(run_id);
  if (::renameat2(AT_FDCWD, staging.bundle().c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
    return errno_error("cannot replace", to, errno);
  }
  return sync_path(folder_ + "/runs");
}

Result<void> Ledger::index_run(const std::string& run_id, const nlohmann::json& document,
                               const Receipt& receipt) {
  std::string device;
  int64_t devices = 0;
  for (const auto& d : document["hardware"]["devices"]) {
    if (!d["active"].get<bool>()) continue;
    if (devices++ == 0) device = d.value("name", "");
  }
  int64_t kernels = 0;
  int64_t bytes = 0;
  for (const auto& t : document["tables"]) {
    if (t["name"] == "kernels") kernels = t["rows"];
    bytes += t["bytes"].get<int64_t>();
  }
  const auto& counts = document["capture"]["counts"];
  NL_CHECK(index_.run(
      "INSERT OR REPLACE INTO runs VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
      {run_id, receipt.imported_at_ns, receipt.file_names,
       document["sources"][0]["format"].get<std::string>(),
       document["software"]["backend"].get<std::string>(), device, devices, counts["seen"].get<int64_t>(),
       sum_of_counts(counts["dropped"]), kernels, bytes, static_cast<int64_t>(receipt.on_the_way)}));
  for (const auto& source : document["sources"]) {
    NL_CHECK(index_.run("INSERT OR REPLACE INTO sources VALUES (?,?,?)",
                        {source["sha256"].get<std::string>(), source["bytes"].get<int64_t>(), run_id}));
  }
  return {};
}

Result<void> Ledger::record(const std::string& run_id, const std::optional<Receipt>& given) {
  const std::string path = run_folder(run_id) + "/run.json";
  NL_TRY(const auto document, read_run_document(path));
  if (document["run_id"] != run_id) {
    return Error{ErrorCode::kConflict, "the folder is not named after its run: " + run_folder(run_id)};
  }
  if (given) {
    NL_TRY(const std::string sha256, sha256_of_file(path));
    NL_CHECK(state_.run("INSERT OR IGNORE INTO receipts VALUES (?,?,?,?,?,?,?,?)",
                        {run_id, given->imported_at_ns, given->file_names, given->command, given->host,
                         given->user, static_cast<int64_t>(given->on_the_way), sha256}));
    NL_CHECK(state_.run("UPDATE receipts SET document_sha256 = ? WHERE run_id = ? AND document_sha256 <> ?",
                        {sha256, run_id, sha256}));
  }
  NL_TRY(const auto kept, receipt(run_id));
  Receipt shown = kept.value_or(Receipt{});
  if (!kept) shown.imported_at_ns = modified_ns(run_folder(run_id) + "/run.json");
  return index_run(run_id, document, shown);
}

Result<void> Ledger::keep(const std::string& run_id) {
  NL_CHECK(state_.run("UPDATE receipts SET on_the_way = 0 WHERE run_id = ? AND on_the_way = 1", {run_id}));
  return index_.run("UPDATE runs SET on_the_way = 0 WHERE run_id = ? AND on_the_way = 1", {run_id});
}

Result<std::vector<RunRow>> Ledger::list(int64_t limit, int64_t offset) {
  std::vector<RunRow> rows;
  NL_CHECK(index_.each("SELECT * FROM runs ORDER BY imported_at_ns DESC, run_id LIMIT ? OFFSET ?",
                       {limit, offset}, [&](const SqliteRow& r) { rows.push_back(row_of(r)); }));
  return rows;
}

Result<int64_t> Ledger::count() {
  int64_t n = 0;
  NL_CHECK(index_.each("SELECT count(*) FROM runs", {}, [&](const SqliteRow& r) { n = r.integer(0); }));
  return n;
}

Result<std::vector<std::string>> Ledger::find(const std::string& prefix, int64_t limit) {
  std::vector<std::string> ids;
  NL_CHECK(index_.each("SELECT run_id FROM runs WHERE run_id >= ? AND run_id < ? ORDER BY run_id LIMIT ?",
                       {prefix, prefix + "g", limit}, [&](const SqliteRow& r) { ids.push_back(r.text(0)); }));
  return ids;
}

Result<std::string> Ledger::latest(int64_t back) {
  NL_TRY(const auto rows, list(1, back));
  if (rows.empty()) {
    return Error{ErrorCode::kNotFound, "the ledger has no run " + std::to_string(back) + " imports back",
                 "neurolens runs lists what there is"};
  }
  return rows[0].run_id;
}

Result<std::string> Ledger::run_with_source(const std::string& sha256) {
  std::string id;
  NL_CHECK(index_.each("SELECT run_id FROM sources WHERE sha256 = ? ORDER BY run_id LIMIT 1", {sha256},
                       [&](const SqliteRow& r) { id = r.text(0); }));
  return id;
}

Result<bool> Ledger::has_source_of_size(int64_t bytes) {
  bool found = false;
  NL_CHECK(index_.each("SELECT 1 FROM sources WHERE bytes = ? LIMIT 1", {bytes},
                       [&](const SqliteRow&) { found = true; }));
  return found;
}

Result<std::optional<Receipt>> Ledger::receipt(const std::string& run_id) {
  std::optional<Receipt> found;
  NL_CHECK(state_.each(
      "SELECT imported_at_ns, file_names, command, host, user, on_the_way, document_sha256 FROM receipts "
      "WHERE run_id = ?",
      {run_id}, [&](const SqliteRow& r) {
        found =
            Receipt{r.integer(0), r.text(1), r.text(2), r.text(3), r.text(4), r.integer(5) != 0, r.text(6)};
      }));
  return found;
}

Result<GcReport> Ledger::collect_garbage(bool drop_on_the_way) {
  GcReport report;
  const std::string stagings = folder_ + "/staging";
  for (const auto& name : list_folder(stagings)) {
    const std::string path = stagings + "/" + name;
    const bool is_lock = name.ends_with(kLockSuffix);
    if (!is_lock && path_exists(path + kLockSuffix)) continue;  // handled with its lock
    const int lock = is_lock ? ::open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
    const bool ours = lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (ours) {  // nobody works there: remove both while we hold the lock
      remove_tree(path.substr(0, path.size() - std::string_view(kLockSuffix).size()));
      ::unlink(path.c_str());
      report.stale_stagings++;
    } else if (!is_lock && now_ns() - modified_ns(path) > kYoungNs) {
      remove_tree(path);
      report.stale_stagings++;
    }
    if (lock >= 0) ::close(lock);
  }
  for (const auto& id : list_folder(folder_ + "/runs")) {
    report.stale_stagings += remove_derived_left_overs(run_folder(id));
  }
  if (!drop_on_the_way) return report;
  std::vector<std::string> ids;
  NL_CHECK(index_.each("SELECT run_id FROM runs WHERE on_the_way = 1", {},
                       [&](const SqliteRow& r) { ids.push_back(r.text(0)); }));
  for (const auto& id : ids) {
    NL_CHECK(index_.run("DELETE FROM runs WHERE run_id = ?", {id}));
    NL_CHECK(index_.run("DELETE FROM sources WHERE run_id = ?", {id}));
    NL_CHECK(state_.run("DELETE FROM receipts WHERE run_id = ?", {id}));
    remove_tree(run_folder(id));
    report.dropped_runs++;
  }
  return report;
}

Result<GcReport> Ledger::reindex() {
  GcReport report;
  NL_CHECK(index_.run("BEGIN IMMEDIATE"));
  NL_CHECK(index_.run("DELETE FROM runs"));
  NL_CHECK(index_.run("DELETE FROM sources"));
  for (const auto& id : list_folder(folder_ + "/runs")) {
    const Result<void> indexed = record(id, std::nullopt);
    if (indexed) {
      report.indexed_runs++;
    } else {
      report.unreadable.push_back(id);
    }
  }
  NL_CHECK(index_.run("COMMIT"));
  return report;
}

}  // namespace nl::store
