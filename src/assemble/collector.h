#pragma once
// Collector: keeps what the derived tables need while the batches of an import pass on their way to the
// bundle, so that nothing has to be read back. Above a limit of rows it gives up; the tables are then built
// from the written facts, with the engine's sort and joins, which can spill to disk.

#include <cstdint>
#include <memory>
#include <vector>

#include "assemble/span_tree.h"
#include "model/run_sink.h"

namespace nl::assemble {

/// 12 bytes: there are millions.
struct [[gnu::packed]] Launch {
  int64_t correlation_id;
  uint32_t span_id;
};

/// Work of a device and the id that its launch has too; kNull where it has none.
struct [[gnu::packed]] LaunchedWork {
  int64_t correlation_id;
  int32_t track_id;
};

class Collector final : public model::RunSink {
 public:
  static constexpr size_t kMaxDeviceRows = 4'000'000;

  /// `temp_folder`: where much of it waits for the end of the import.
  Collector(model::RunSink& next, const std::string& temp_folder)
      : spans(temp_folder), launches(temp_folder), kernels(temp_folder), copies(temp_folder), next_(next) {}
  Result<void> push(std::shared_ptr<model::Batch> batch) override;
  void expect(model::TableId table, uint64_t columns) override { next_.expect(table, columns); }

  /// False if there were too many rows; nothing is kept then.
  bool complete() const { return complete_; }

  SpanForest spans;
  SpillVector<Launch> launches;       ///< calls and ops with a correlation id, in the order of span_id
  SpillVector<LaunchedWork> kernels;  ///< in the order of kernel_id
  SpillVector<LaunchedWork> copies;   ///< likewise
  std::vector<int32_t> id_scopes;     ///< of the tracks, kNoScope where they name none; empty if none does
  static constexpr int32_t kNoScope = -1;

 private:
  Result<void> add_spans(const model::Batch& batch);
  static Result<void> add_work(const model::Batch& batch, model::TableId table, int track, int correlation,
                               SpillVector<LaunchedWork>& to);
  void add_scopes(const model::Rows& tracks);
  void give_up();

  model::RunSink& next_;
  size_t tracks_ = 0;
  bool complete_ = true;
};

}  // namespace nl::assemble
