#pragma once
// RunFileReader: reads a run file as rows and RunInfo, in one pass with bounded memory. Faults of the
// document are collected with their places. So the same reader serves the import, which stops at the first
// fault, and the validation, which lists several.

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/json_schema.h"
#include "ingest/adapter.h"
#include "ingest/formats/run_file/run_file_metadata.h"
#include "ingest/formats/run_file/run_file_window.h"

namespace nl::ingest {

class RunFileReader {
 public:
  /// Reading stops when so many faults are found.
  RunFileReader(model::RunSink& sink, model::RunInfo& info, size_t max_faults);

  /// An error is one of the text itself: not JSON, cut off, too large, newer than this build.
  Result<void> read(ByteSource& source, const ReadOptions& options);
  const std::vector<JsonFault>& faults() const { return faults_; }

 private:
  /// Timelines of a document that names none: one for the host, one for each stream.
  class DefaultTracks {
   public:
    int32_t host();
    int32_t stream(int64_t device, int64_t stream);
    bool empty() const { return keys_.empty(); }
    std::shared_ptr<model::Batch> write() const;

   private:
    struct Key {
      bool is_stream = false;
      int64_t device = 0;
      int64_t stream = 0;
      auto operator<=>(const Key&) const = default;
    };
    int32_t id_of(const Key& key);
    std::map<Key, int32_t> ids_;
    std::vector<Key> keys_;
  };

  Result<void> settle(RunFileWindow window);
  Result<void> settle_tracks(RunFileWindow& window);
  void check_tracks(const RunFileWindow& window, int column);
  Result<void> give_tracks(RunFileWindow& window, int column);
  void note_devices(const RunFileWindow& window);
  Result<void> finish(const std::string& envelope_text);
  Result<void> add(std::vector<JsonFault> faults);
  bool is_full() const { return faults_.size() >= max_faults_; }

  model::RunSink& sink_;
  model::RunInfo& info_;
  const size_t max_faults_;
  std::vector<JsonFault> faults_;
  std::vector<ArrayTotals> arrays_;
  int64_t kernels_ = 0;
  int64_t tracks_ = 0;
  std::set<int32_t> active_devices_;
  DefaultTracks default_tracks_;
};

/// What the first member `schema` in the head of a document says, if it says that it is a run file.
std::string_view run_file_schema_in(std::string_view head);

}  // namespace nl::ingest
