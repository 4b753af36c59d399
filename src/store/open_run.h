#pragma once
// OpenRun: one run, opened once for one call and passed to everything that asks about it. So run.json is
// parsed once, one engine is leased, each Parquet footer is read once, and views are created when first
// needed. It holds a reader's lease as long as it lives, so gc, import --refresh and delete wait for it. For
// one thread.

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "store/column_scan.h"
#include "store/engine.h"
#include "store/run_lease.h"
#include "store/run_views.h"

namespace nl::store {

/// What most questions about a run need.
inline EngineOptions reading_engine() {
  return {1, 1024, ""};
}

class OpenRun {
 public:
  /// The engine may have been started before, while the run was looked for.
  static Result<std::shared_ptr<OpenRun>> open(const RunPlace& place,
                                               EngineStart engine = EngineStart::leased(reading_engine()));

  const std::string& bundle() const { return files_.place.bundle; }
  const RunPlace& place() const { return files_.place; }
  const nlohmann::json& document() const { return *document_; }
  const RunFiles& files() const { return files_; }
  bool has(const std::string& table) const { return files_.tables.contains(table); }
  /// Looks again which derived tables there are.
  void find_derived();
  /// From now on what is derived lies in the spare folder of the place.
  void use_spare() { files_.place.derived = std::exchange(files_.place.spare, {}); }

  /// Columns of a table from its file, without the engine. Times are on the common clock; where start_ns is
  /// asked for, track_id is, too.
  Result<ColumnScan> scan(model::TableId table, std::initializer_list<std::string_view> columns);
  /// Waits for the engine, the first time.
  Result<Engine*> engine();
  /// The one connection of the run, on which these tables have a view.
  Result<Connection*> ask(const std::set<std::string>& tables);

 private:
  OpenRun(RunLease lease, std::shared_ptr<const nlohmann::json> document, RunFiles files, EngineStart engine)
      : lease_(std::move(lease)),
        document_(std::move(document)),
        files_(std::move(files)),
        start_(std::move(engine)) {}

  Result<const CommonTime*> time();

  const RunLease lease_;
  std::shared_ptr<const nlohmann::json> document_;
  RunFiles files_;
  EngineStart start_;
  std::shared_ptr<Engine> engine_;
  std::optional<Connection> connection_;
  std::optional<CommonTime> time_;
  std::set<std::string> views_;
};

}  // namespace nl::store
