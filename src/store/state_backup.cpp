#include "store/state_backup.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <vector>

#include "base/aside.h"
#include "base/files.h"
#include "base/permissions.h"
#include "base/sha256.h"
#include "base/small_json.h"
#include "store/ledger.h"

namespace nl::store {
namespace {

using nlohmann::json;

constexpr char kStateFile[] = "/state.sqlite";
constexpr char kBackup[] = "/state-backup.jsonl";
constexpr char kOlderBackup[] = "/state-backup-older.jsonl";
constexpr int64_t kMostLineBytes = 4 << 20;
constexpr int64_t kFewestChanges = 16;
constexpr int64_t kDayNs = 86'400'000'000'000;
constexpr int kBusyMs = 30'000;

// ---- The file of a backup

struct BackupHead {
  int64_t change = 0;
  int64_t records = 0;
  int64_t written_at_ns = 0;
};

std::string line_of(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<BackupHead> head_of(const std::string& line) {
  const json head = parse_small_json(line);
  const auto change = head.is_object() ? whole_number(head, "change") : std::nullopt;
  const auto records = head.is_object() ? whole_number(head, "records") : std::nullopt;
  const auto written = head.is_object() ? whole_number(head, "written_at_ns") : std::nullopt;
  if (!change || !records || !written) return std::nullopt;
  return BackupHead{*change, *records, *written};
}

/// False at the end, and for a line that is too long.
bool read_line(std::istream& file, std::string& line) {
  line.clear();
  for (char c = 0; file.get(c) && c != '\n';) {
    if (line.size() >= kMostLineBytes) return false;
    line += c;
  }
  return !line.empty();
}

/// All lines but the last, which must be the hash of those before it.
bool each_line(const std::string& path, const std::function<void(const std::string&)>& each) {
  std::ifstream file(path);
  Sha256 hash;
  std::string line, next;
  if (!read_line(file, line)) return false;
  while (read_line(file, next)) {
    each(line);
    hash.update(line.data(), line.size());
    hash.update("\n", 1);
    line.swap(next);
  }
  return line == hash.hex();
}

/// Only the first line: the rest is checked when it is needed.
std::optional<BackupHead> newest_head(const std::string& folder) {
  std::ifstream file(folder + kBackup);
  std::string line;
  return read_line(file, line) ? head_of(line) : std::nullopt;
}

Result<std::vector<std::string>> lines_of(State& state) {
  std::vector<std::string> lines;
  NL_CHECK(state.export_records([&](const json& record) -> Result<void> {
    lines.push_back(line_of(record));
    return {};
  }));
  return lines;
}

// ---- Repair

Result<bool> is_damaged(const std::string& folder) {
  auto state = State::open(folder + kStateFile, SqliteAccess::kReadOnly, kBusyMs);
  if (!state && state.error().code != ErrorCode::kIo) return state.error();  // a newer version, or no rights
  if (!state) return true;
  return !state->check_pages();
}

/// The newest backup that is whole.
std::string good_backup(const std::string& folder) {
  for (const char* name : {kBackup, kOlderBackup}) {
    if (each_line(folder + name, [](const std::string&) {})) return folder + name;
  }
  return {};
}

Result<void> add_backup(State& state, const std::string& path, RepairReport& report) {
  Result<void> taken;
  bool is_first = true;
  each_line(path, [&](const std::string& line) {
    if (is_first) report.backup_at_ns = head_of(line).value_or(BackupHead{}).written_at_ns;
    if (!is_first && taken) {
      const auto added = state.import_record(parse_small_json(line));
      if (!added) taken = added.error();
      report.from_backup += added && *added ? 1 : 0;
    }
    is_first = false;
  });
  report.has_backup = true;
  return taken;
}

Result<void> fill_repaired(const std::string& folder, const std::string& path, RepairReport& report) {
  NL_TRY(State state, State::open(path, SqliteAccess::kReadWrite, kBusyMs));
  NL_TRY(auto transaction, state.transaction());
  NL_CHECK(salvage_records(folder + kStateFile, [&](const json& record) -> Result<void> {
    const auto added = state.import_record(record);
    report.salvaged += added && *added ? 1 : 0;  // a record that is not valid any more is left out
    return {};
  }));
  if (const std::string backup = good_backup(folder); !backup.empty())
    NL_CHECK(add_backup(state, backup, report));
  return transaction.commit();
}

}  // namespace

Result<int64_t> back_up_state(State& state, const std::string& folder) {
  NL_TRY(const int64_t change, state.last_change());
  NL_TRY(const auto lines, lines_of(state));
  remove_abandoned(folder + kBackup + ".new-");
  NL_TRY(NewFile file, NewFile::create(folder + kBackup + ".new-"));
  Sha256 hash;
  const auto write = [&](const std::string& line) {
    hash.update(line.data(), line.size());
    return file.write(line);
  };
  NL_CHECK(write(line_of({{"change", change}, {"records", lines.size()}, {"written_at_ns", unix_now_ns()}})));
  for (const auto& line : lines) NL_CHECK(write(line));
  NL_CHECK(file.write(hash.hex() + "\n"));
  (void)std::rename((folder + kBackup).c_str(), (folder + kOlderBackup).c_str());  // the first one has none
  NL_CHECK(file.finish(folder + kBackup, true));
  share_file(folder + kBackup);
  return static_cast<int64_t>(lines.size());
}

Result<void> back_up_state_if_due(State& state, const std::string& folder) {
  NL_TRY(const int64_t change, state.last_change());
  const auto newest = newest_head(folder);
  const bool is_due = !newest || unix_now_ns() - newest->written_at_ns > kDayNs || change < newest->change ||
                      change - newest->change >= std::max(kFewestChanges, newest->records / 8);
  if (is_due) NL_CHECK(back_up_state(state, folder));
  return {};
}

Result<RepairReport> repair_state(const std::string& folder) {
  RepairReport report;
  if (!path_exists(folder + kStateFile)) {
    return Error{ErrorCode::kNotFound, "there is no state: " + folder + kStateFile};
  }
  NL_TRY(report.was_damaged, is_damaged(folder));
  if (!report.was_damaged) return report;
  const std::string path = folder + kStateFile, unique = unique_text();
  const std::string repaired = path + ".repaired-" + unique;
  report.damaged_file = path + ".damaged-" + unique;
  NL_CHECK(fill_repaired(folder, repaired, report));
  if (std::rename(path.c_str(), report.damaged_file.c_str()) != 0)
    return errno_error("cannot rename to", report.damaged_file, errno);
  // The journal belongs to the damaged file.
  (void)std::rename((path + "-journal").c_str(), (report.damaged_file + "-journal").c_str());
  NL_TRY(const bool placed, rename_to_new(repaired, path));
  if (!placed) return Error{ErrorCode::kConflict, "somebody made a new state meanwhile: " + path};
  return report;
}

}  // namespace nl::store
