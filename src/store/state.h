#pragma once
// State: the data that cannot be computed again. Receipts, claims, labels, tags, notes, baselines,
// predictions, tombstones and the key of redacted runs are kept in state.sqlite, which uses a rollback
// journal and is never touched by a reindex. Every change is one transaction, which also enters the run in
// the table `touched`; the index reads that table to see what it must update. One State serves one thread.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "store/labels.h"
#include "store/sqlite.h"

namespace nl::store {

/// How a run came into the ledger.
struct Receipt {
  int64_t imported_at_ns = 0;  ///< Unix time
  std::string file_names;      ///< as given, joined by a blank
  std::string command;
  std::string host;
  std::string user;
  bool on_the_way = false;  ///< imported because another command named the file; gc drops these first
  std::string document_sha256 = {};  ///< of run.json, so that verify sees every change of it
};

/// Who did something, and when.
struct Act {
  int64_t at_ns = 0;
  std::string user;
};

/// One key of one origin: a new value, or none to take it away.
struct LabelChange {
  std::string key;
  LabelOrigin origin = LabelOrigin::kUser;
  std::optional<std::string> value;
  bool forced = false;
};

/// A run whose facts came ready-made, without the profiles that would prove them.
struct Claim {
  std::string claimed_by;     ///< name of the packed file
  std::string packed_sha256;  ///< of its index, see packed_run.h
  Act taken;
};

/// What stays of a run that was deleted.
struct Tombstone {
  std::string run_id;
  std::string reason;
  Act deleted;
};

struct Note {
  int64_t note_id = 0;
  Act written;
  std::string text;        ///< Markdown
  std::string about = {};  ///< "kernel:NAME", "span:NUMBER", "finding:RULE" or "compare:RUN"; empty: the run
};

/// What a note said before it was changed or removed.
struct PastNote {
  Note note;
  Act until;
};

struct Baseline {
  std::string name;
  std::string run_id;
  Act set;
};

/// What a rule promised for a run: the gain of one suggestion in one window of one device.
struct Prediction {
  std::string rule;
  int64_t rule_version = 0;
  int64_t suggestion = 0;  ///< from 1, in the order of the rule
  std::string window;
  std::string device;
  int64_t at_stake_ns = 0;
  std::optional<int64_t> gain_ns = {};
  bool at_most = false;   ///< the gain is an upper bound
  int64_t window_ns = 0;  ///< length of the window
  Act made = {};
};

class State {
 public:
  /// Read-only access needs no write permission, nor a file: then there is simply nothing.
  static Result<State> open(const std::string& path, SqliteAccess access, int busy_ms);

  /// A receipt that is there already stays; only the hash of run.json is renewed.
  Result<void> put_receipt(const std::string& run_id, const Receipt& receipt);
  Result<std::optional<Receipt>> receipt(const std::string& run_id);
  /// By run id: the sha256 of its run.json when it was written last.
  Result<std::map<std::string, std::string>> documents();
  /// Clears the mark `on_the_way`. True if it was set.
  Result<bool> keep(const std::string& run_id);
  /// Removes all that is known of a run.
  Result<void> forget(const std::string& run_id);
  /// The same, and notes who deleted it, when and why. The note stays when the run is imported again.
  Result<void> bury(const std::string& run_id, const std::string& reason, const Act& act);
  /// At most `limit` deleted runs whose id starts with the prefix, by id.
  Result<std::vector<Tombstone>> tombstones(const std::string& prefix, int64_t limit);

  Result<void> put_claim(const std::string& run_id, const Claim& claim);
  /// Its profiles were imported: now the facts are proved.
  Result<void> remove_claim(const std::string& run_id);
  Result<std::optional<Claim>> claim(const std::string& run_id);

  /// The key that pseudonyms of redacted runs are made with. If there is none yet, `if_none` becomes it;
  /// empty: there stays none.
  Result<std::string> redaction_key(const std::string& if_none);
  /// By pseudonym, what it stands for.
  Result<std::map<std::string, std::string>> pseudonyms();
  Result<void> add_pseudonyms(const std::map<std::string, std::string>& originals);

  Result<std::vector<LabelValue>> labels(const std::string& run_id);
  Result<std::vector<PastLabel>> past_labels(const std::string& run_id);
  /// All changes or none. A value that is replaced or removed goes into the history.
  Result<void> change_labels(const std::string& run_id, const std::vector<LabelChange>& changes,
                             const Act& act);

  Result<std::vector<std::string>> tags(const std::string& run_id);
  Result<void> add_tags(const std::string& run_id, const std::vector<std::string>& names, const Act& act);
  Result<void> remove_tags(const std::string& run_id, const std::vector<std::string>& names);
  /// At most `limit` runs that have the tag, by id.
  Result<std::vector<std::string>> tagged(const std::string& name, int64_t limit);

  Result<std::vector<Note>> notes(const std::string& run_id);
  /// In the order in which they ended.
  Result<std::vector<PastNote>> past_notes(const std::string& run_id);
  Result<void> add_note(const std::string& run_id, const std::string& text, const std::string& about,
                        const Act& act);
  /// What it said goes into the history. False if the run has no such note.
  Result<bool> change_note(const std::string& run_id, int64_t note_id, const std::string& text,
                           const Act& act);
  Result<bool> remove_note(const std::string& run_id, int64_t note_id, const Act& act);

  Result<std::vector<Baseline>> baselines();
  Result<std::optional<Baseline>> baseline(const std::string& name);
  Result<void> set_baseline(const std::string& name, const std::string& run_id, const Act& act);
  /// False if there is none of this name.
  Result<bool> remove_baseline(const std::string& name);

  /// All or none. A prediction that was made before stays as it was: it is there to be held against what came
  /// of it. How many are new.
  Result<int64_t> add_predictions(const std::string& run_id, const std::vector<Prediction>& predictions,
                                  const Act& act);
  /// By window, device, then most time at stake first.
  Result<std::vector<Prediction>> predictions(const std::string& run_id);
  /// Runs that predictions were made for, by id.
  Result<std::vector<std::string>> predicted_runs();

  /// Reads the whole file; an error if something in it is damaged.
  Result<void> check_pages() { return db_.check_pages(); }
  /// Number of the last change.
  Result<int64_t> last_change();
  /// Runs touched by a change after that one.
  Result<std::vector<std::string>> touched_after(int64_t change);

  /// Everything, one record a call, in a fixed order.
  Result<void> export_records(const std::function<Result<void>(const nlohmann::json&)>& record);
  /// Adds a record of an export. What is there already stays; true if something was added.
  Result<bool> import_record(const nlohmann::json& record);
  Result<SqliteTransaction> transaction() { return SqliteTransaction::begin(db_); }

 private:
  Result<bool> end_note(const std::string& run_id, int64_t note_id, const Act& act);
  explicit State(Sqlite db) : db_(std::move(db)) {}
  Result<void> touch(const std::string& run_id);
  Result<void> remove_all_of(const std::string& run_id);
  Result<void> change_label(const std::string& run_id, const LabelChange& change, const Act& act);

  Sqlite db_;
};

/// Since this version the file has checksums.
inline constexpr int64_t kFirstWithChecksums = 3;

/// Records of a damaged file, as far as they can be read; some come twice.
Result<void> salvage_records(const std::string& path,
                             const std::function<Result<void>(const nlohmann::json&)>& record);

}  // namespace nl::store
