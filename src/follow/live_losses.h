#pragma once
// LiveLosses: what a recording has lost so far. While it runs, the memory that its processes share with the
// recorder says so (wire/live.h); of processes that are gone, the chunks of the recording do. One thread.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/record/live_process.h"
#include "ingest/formats/recording/recording_decoder.h"

namespace nl::follow {

class LiveLosses {
 public:
  /// `folder` holds the session and a folder of each process.
  explicit LiveLosses(std::string folder) : folder_(std::move(folder)) {}

  /// By reason. Counts never go down: `said` are the chunks that were read so far.
  capture::Losses look(const std::vector<ingest::DecodedLosses>& said);

 private:
  void find_processes();

  std::string folder_;
  std::optional<capture::Mapped<wire::SessionHeader>> session_ = {};
  std::map<std::string, std::unique_ptr<capture::LiveProcess>> processes_ = {};
  std::map<std::string, capture::Losses> known_ = {};  ///< of processes, by key; empty: of none
};

}  // namespace nl::follow
