#pragma once
// BenchSession: one run of a bench file, as a folder of the ledger. Everything is written as soon as it is
// known, so that a session that was interrupted goes on where it stopped:
//
//   bench/<session>/session.json   file, machine, who, when
//   bench/<session>/samples.jsonl  one line for each process run
//   bench/<session>/claims.jsonl   one line for each target that is decided
//   bench/<session>/runs/…         artefacts of process runs until they are runs of the ledger
//   bench/<session>/outputs/…      what the sides wrote for the check

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/described.h"
#include "base/files.h"
#include "lab/machine/conditions.h"
#include "lab/run/claim_result.h"
#include "lab/run/sample.h"
#include "lab/targets/target.h"
#include "ops/operation.h"

namespace nl::ops {

/// What is known of a session when it begins: session.json. Its answer has the same members, and its name,
/// whether it is finished, and the claims besides.
struct BenchHead {
  std::string suite;
  std::string file;
  std::string file_sha256;
  std::string started_by;
  int64_t started_unix_ns = 0;
  lab::Fitness environment;
  std::optional<int64_t> overhead_ns;
  std::string command;
  std::string tool_version;

  static constexpr auto fields() {
    using H = BenchHead;
    return std::tuple{field("suite", &H::suite),
                      field("file", &H::file),
                      field("file_sha256", &H::file_sha256),
                      field("started_by", &H::started_by),
                      field("started_unix_ns", &H::started_unix_ns),
                      field("environment", &H::environment),
                      field("overhead_ns", &H::overhead_ns,
                            "wall time of a command that does nothing; null if no command was timed"),
                      field("command", &H::command, "that began it"),
                      field("tool_version", &H::tool_version)};
  }
};

class BenchSession {
 public:
  /// A new one. Its folder is the caller's alone: it says what is run.
  static Result<BenchSession> start(const Context& context, const BenchHead& head);
  /// The newest of this file that was not finished. `not_found` if there is none; `conflict` if somebody
  /// works on it.
  static Result<BenchSession> resume(const Context& context, const lab::BenchFile& file);

  BenchSession(BenchSession&& other) noexcept = default;
  BenchSession& operator=(BenchSession&&) = delete;

  const std::string& folder() const { return folder_; }
  std::string name() const;
  const nlohmann::json& document() const { return document_; }
  /// Of all targets, in the order in which they were measured.
  const std::vector<lab::Sample>& samples() const { return samples_; }
  /// The head, and what is decided so far.
  nlohmann::json answer() const;
  bool is_decided(const std::string& target) const;
  bool are_all_met(const std::string& target) const;

  Result<void> add_sample(const lab::Sample& sample);
  /// All of one target, at once: a target is decided as a whole.
  Result<void> add_claims(const std::vector<lab::ClaimResult>& claims);
  Result<void> finish();

 private:
  BenchSession(std::string folder, nlohmann::json document, File lock)
      : folder_(std::move(folder)), document_(std::move(document)), lock_(std::move(lock)) {}
  Result<void> load();

  std::string folder_;
  nlohmann::json document_;
  File lock_;  ///< of its folder: one process works on it
  std::vector<lab::Sample> samples_ = {};
  std::vector<nlohmann::json> claims_ = {};  ///< {target, claims} of each target that is decided
};

/// What a session answered, whether it is finished or not. `not_found` if there is none of this name.
Result<nlohmann::json> read_bench_session(const std::string& ledger_folder, const std::string& name);
/// Its samples, as they are written. Those of older versions may lack members.
Result<nlohmann::json> read_bench_samples(const std::string& ledger_folder, const std::string& name);
/// Names of all sessions in the ledger, the newest first.
std::vector<std::string> bench_sessions(const std::string& ledger_folder);

}  // namespace nl::ops
