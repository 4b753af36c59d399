#pragma once
// EnginePool: keeps engines for the next question. Starting one takes about 12 ms, more than most questions
// take; a long-lived process pays that only once. An engine is leased to one caller at a time and returns to
// the pool when its last owner releases it. A caller may only leave views of its own connection behind
// (ViewScope::kConnection), so that the next caller finds a clean engine.

#include "store/engine.h"

namespace nl::store {

class EnginePool {
 public:
  /// The one of the process. It is never destroyed: at the end of the process nobody waits for engines to
  /// close.
  static EnginePool& shared();

  /// An engine of these options. One with a temp_folder is never kept: the folder is its owner's.
  Result<std::shared_ptr<Engine>> lease(const EngineOptions& options);

 private:
  void take_back(const EngineOptions& options, std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> take_idle(const EngineOptions& options);

  struct Idle {
    EngineOptions options;
    std::unique_ptr<Engine> engine;
  };
  std::mutex mutex_;
  std::vector<Idle> idle_;
};

}  // namespace nl::store
