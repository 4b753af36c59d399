#pragma once
// Collector: what the derived tables need, gathered from the batches of an import on their way to the bundle,
// so that nothing is read back. Up to a limit; beyond it the tables are built from the written facts, with
// the engine's spilling sort and joins.

#include <cstdint>
#include <memory>
#include <vector>

#include "assemble/span_tree.h"
#include "model/run_sink.h"

namespace nl::assemble {

struct Launch {
  int64_t correlation_id;
  int64_t span_id;
};

class Collector final : public model::RunSink {
 public:
  static constexpr size_t kMaxRows = 4'000'000;  // of spans, and of device work

  explicit Collector(model::RunSink& next) : next_(next) {}
  Result<void> push(std::shared_ptr<model::Batch> batch) override;

  /// False if there were too many rows; the vectors are then empty.
  bool complete() const { return complete_; }

  std::vector<SpanRecord> spans;  ///< in the order of span_id
  std::vector<Launch> launches;   ///< runtime calls with a correlation id, in the order of span_id
  std::vector<int64_t> kernels;   ///< correlation ids in the order of kernel_id; kNull where none
  std::vector<int64_t> copies;    ///< likewise

 private:
  void add_spans(const model::Batch& batch);
  static void add_correlations(const model::Rows& rows, int column, std::vector<int64_t>& to);
  void give_up();

  model::RunSink& next_;
  bool complete_ = true;
};

}  // namespace nl::assemble
