#pragma once
// RunSink: receives the rows of an adapter. Batches arrive in the order of the source, one call at a time.

#include <memory>

#include "base/result.h"
#include "model/batch.h"

namespace nl::model {

class RunSink {
 public:
  virtual ~RunSink() = default;
  /// May block while the sink is busy. An error ends the import.
  virtual Result<void> push(std::shared_ptr<Batch> batch) = 0;
  /// A promise before the first batch: no row of the table will have a value in another column (bit n is
  /// column n). Large tables are then written without the others.
  virtual void expect(TableId, uint64_t /*columns*/) {}
};

}  // namespace nl::model
