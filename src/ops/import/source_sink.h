#pragma once
// SourceSink: combines the rows of several sources into one run. Each source numbers its own tracks, clocks,
// id namespaces and replayed launches from 0; here they are shifted behind those of the sources before.

#include <optional>

#include "model/run_sink.h"

namespace nl::ops {

class SourceSink final : public model::RunSink {
 public:
  SourceSink(model::RunSink& next, bool alone) : next_(next), alone_(alone) {}

  /// `rank`: of the tracks that name none.
  void begin_source(size_t clocks_before, std::optional<int32_t> rank);
  /// Another file of the source before: tracks, clock and ids are those that it has begun.
  void continue_source();
  Result<void> push(std::shared_ptr<model::Batch> batch) override;
  /// What one of several sources promises binds the others not.
  void expect(model::TableId table, uint64_t columns) override;

 private:
  void move_tracks(model::Batch& batch);
  void move_launches(model::Batch& batch) const;

  model::RunSink& next_;
  const bool alone_;
  std::optional<int32_t> rank_ = {};
  int32_t first_track_ = 0, tracks_ = 0;
  int64_t first_clock_ = 0;
  int64_t first_scope_ = 0, scopes_ = 0;
  int64_t first_launch_ = 0, launches_ = 0;
  int64_t first_kernel_ = 0, kernels_ = 0;
};

}  // namespace nl::ops
