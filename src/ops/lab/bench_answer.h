#pragma once
// What a run of a bench file answers.

#include <string>
#include <vector>

#include "base/described.h"
#include "lab/machine/conditions.h"
#include "lab/run/claim_result.h"

namespace nl::ops {

struct BenchAnswer {
  std::string suite;
  std::string session;  ///< name of its folder in the ledger
  std::string file;
  std::string started_by = {};
  int64_t started_unix_ns = 0;
  bool is_finished = true;  ///< else it was interrupted, and --resume goes on
  lab::Fitness environment = {};
  std::optional<int64_t> overhead_ns = {};  ///< of an empty command, all included
  std::vector<lab::ClaimResult> targets = {};

  static constexpr auto fields() {
    using B = BenchAnswer;
    return std::tuple{
        field("suite", &B::suite),
        field("session", &B::session, "what bench report and --resume call it"),
        field("file", &B::file),
        field("started_by", &B::started_by),
        field("started_unix_ns", &B::started_unix_ns),
        field("finished", &B::is_finished, "false: it was interrupted; bench run --resume goes on"),
        field("environment", &B::environment),
        field("overhead_ns", &B::overhead_ns,
              "wall time of a command that does nothing; null if no command was timed"),
        field("targets", &B::targets, "one row for each claim: a target and one of its variants")};
  }
};

}  // namespace nl::ops
