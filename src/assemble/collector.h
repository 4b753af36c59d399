#pragma once
// Collector: keeps what the derived tables and the clocks of devices need: of the batches of an import that
// pass on their way to the bundle, so that nothing has to be read back, or of the written facts. Its columns
// may be larger than memory.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "assemble/span_tree.h"
#include "base/paged_vector.h"
#include "model/run_sink.h"

namespace nl::assemble {

/// 20 bytes: there are millions.
struct [[gnu::packed]] Launch {
  int64_t correlation_id;
  int64_t start_ns;  ///< kNull where the source does not say
  uint32_t span_id;
};

/// Work of a device and the id that its launch has too; kNull where it has none. Once the links are written,
/// the start of the launch takes the place of the id; kNull where there is none.
struct [[gnu::packed]] LaunchedWork {
  union {
    int64_t correlation_id;
    int64_t launch_ns;
  };
  int32_t track_id;
};

/// When a kernel ran, if that says something about the clock of its device.
struct [[gnu::packed]] KernelTime {
  static constexpr int32_t kSaysNothing = INT32_MIN;
  int64_t start_ns;
  int64_t dur_ns;
  int32_t device;
};

/// As a source gives it; kNull where it does not say.
struct KernelFields {
  int64_t device, graph_id, start_ns, dur_ns;
  KernelTime time() const;
};

/// A call that returns when all work of the current device has ended.
struct [[gnu::packed]] SyncCall {
  int64_t called_ns;
  int64_t returned_ns;
  int32_t track_id;
};
bool waits_for_device(std::string_view call);

/// What the tree and the links follow from, in the order of the facts.
struct Collected {
  static constexpr int32_t kNoScope = -1;

  /// kNull where the source does not say.
  Result<void> add_span(model::SpanKind kind, int64_t start_ns, int64_t dur_ns, int32_t track_id,
                        int64_t correlation_id);
  /// Of a span that waits for its device; without a duration it says nothing.
  void add_sync(int64_t start_ns, int64_t dur_ns, int32_t track_id);

  SpanForest spans;
  PagedVector<Launch> launches;          ///< calls and ops with a correlation id, in the order of span_id
  PagedVector<LaunchedWork> kernels;     ///< in the order of kernel_id
  PagedVector<KernelTime> kernel_times;  ///< likewise
  PagedVector<LaunchedWork> copies;      ///< likewise
  PagedVector<SyncCall> syncs;
  std::vector<int32_t> id_scopes;  ///< of the tracks, kNoScope where they name none; empty if none does
  std::vector<int32_t> clocks;     ///< of the tracks, 0 where they name none
};

class Collector final : public model::RunSink {
 public:
  Collector(model::RunSink& next, Collected& collected) : next_(next), collected_(collected) {}
  Result<void> push(std::shared_ptr<model::Batch> batch) override;
  void expect(model::TableId table, uint64_t columns) override { next_.expect(table, columns); }

 private:
  Result<void> add_spans(const model::Batch& batch);
  void add_kernel_times(const model::Batch& batch);
  void add_scopes(const model::Rows& tracks);
  void add_clocks(const model::Rows& tracks);

  model::RunSink& next_;
  Collected& collected_;
  size_t tracks_ = 0;
};

}  // namespace nl::assemble
