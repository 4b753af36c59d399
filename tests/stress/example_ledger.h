#pragma once
// A temporary ledger with two example runs, and what lies in it by kind of file: a ledger that many callers
// have used, or that calls were cancelled on, must hold nothing that a quiet one does not.

#include <optional>
#include <set>
#include <string>

#include "stress/example_calls.h"

namespace nl::stress {

/// A temporary folder with a ledger, profiles and room for what operations write; removed with the object.
/// The folder for temporary files (TMPDIR) is inside of it. Make and destroy it while there are no threads.
class ExampleLedger {
 public:
  /// Two runs of about so many events, labelled set=fixed. Throws if they cannot be made.
  explicit ExampleLedger(int events);
  ExampleLedger(const ExampleLedger&) = delete;
  ~ExampleLedger();

  std::string folder() const { return path_ + "/ledger"; }
  /// Writes a file beside the ledger; its path.
  std::string write(const std::string& name, const std::string& text) const;
  /// An empty folder for the files of one caller.
  std::string output(size_t caller) const;
  /// The two runs, and where a caller may write.
  Examples examples(const std::string& output) const;

  ops::Context context() const;
  /// The answer to a call that must not fail; throws otherwise.
  std::string must(const Call& call) const;
  /// Imports a profile; the id of its run.
  std::string import(const std::string& path, const std::string& label) const;

  /// Takes away what can be computed again, so that the next call computes it.
  void remove_derived() const;
  /// "runs/<run>/kernels.parquet", "temp/…" and the like. Files that SQLite keeps beside a database while it
  /// is open do not count.
  std::set<std::string> kinds_of_files() const;

 private:
  std::string temp() const { return path_ + "/temp"; }
  std::string path_;
  std::optional<std::string> given_temp_;
  Examples examples_;
};

/// Kinds that are in `now` and not in `quiet`.
std::set<std::string> left_overs(const std::set<std::string>& quiet, const std::set<std::string>& now);

}  // namespace nl::stress
