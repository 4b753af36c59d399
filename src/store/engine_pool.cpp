#include "store/engine_pool.h"

#include <algorithm>

#include "store/read_counts.h"

namespace nl::store {
namespace {

constexpr size_t kMostIdle = 8;

}  // namespace

EnginePool& EnginePool::shared() {
  static auto* const pool = new EnginePool;
  return *pool;
}

std::unique_ptr<Engine> EnginePool::take_idle(const EngineOptions& options) {
  const std::lock_guard lock(mutex_);
  const auto it =
      std::find_if(idle_.begin(), idle_.end(), [&](const Idle& one) { return one.options == options; });
  if (it == idle_.end()) return nullptr;
  std::unique_ptr<Engine> engine = std::move(it->engine);
  idle_.erase(it);
  return engine;
}

void EnginePool::take_back(const EngineOptions& options, std::unique_ptr<Engine> engine) {
  std::unique_ptr<Engine> oldest;  // closed when the lock is gone
  const std::lock_guard lock(mutex_);
  if (idle_.size() == kMostIdle) {
    oldest = std::move(idle_.front().engine);
    idle_.erase(idle_.begin());
  }
  idle_.push_back({options, std::move(engine)});
}

Result<std::shared_ptr<Engine>> EnginePool::lease(const EngineOptions& options) {
  count_lease();
  if (!options.temp_folder.empty()) return Engine::open(options);
  std::unique_ptr<Engine> engine = take_idle(options);
  if (!engine) {
    NL_TRY(engine, Engine::start(options));
  }
  NL_TRY(auto connection, engine->connect());
  // Every statement binds the same files. The last owner may have asked for more threads.
  NL_CHECK(
      connection.run("SET parquet_metadata_cache = true; SET threads = " + std::to_string(options.threads)));
  return std::shared_ptr<Engine>(engine.release(), [this, options](Engine* leased) {
    take_back(options, std::unique_ptr<Engine>(leased));
  });
}

}  // namespace nl::store
