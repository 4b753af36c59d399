#include "store/open_run.h"

#include <algorithm>

#include "store/run_document.h"

namespace nl::store {

Result<std::shared_ptr<OpenRun>> OpenRun::open(const RunPlace& place, EngineStart engine) {
  NL_TRY(RunLease lease, RunLease::share(place.bundle));
  NL_TRY(auto document, shared_run_document(place.bundle + "/run.json"));
  NL_TRY(RunFiles files, run_files(place, *document));
  return std::shared_ptr<OpenRun>(
      new OpenRun(std::move(lease), std::move(document), std::move(files), std::move(engine)));
}

void OpenRun::find_derived() {
  use_derived(files_, derived_folder(files_.place.derived));
}

Result<Engine*> OpenRun::engine() {
  if (!engine_) {
    NL_TRY(engine_, start_.get());
  }
  return engine_.get();
}

Result<const CommonTime*> OpenRun::time() {
  if (!time_) {
    NL_TRY(time_, common_time(files_));
  }
  return &*time_;
}

Result<ColumnScan> OpenRun::scan(model::TableId table, std::initializer_list<std::string_view> columns) {
  const bool has_times = std::find(columns.begin(), columns.end(), "start_ns") != columns.end();
  const CommonTime* time = nullptr;
  if (has_times) {
    NL_TRY(time, this->time());
  }
  NL_TRY(const std::string path, intact_path(files_, table));
  return ColumnScan::open(path, model::table(table), columns, time);
}

Result<Connection*> OpenRun::ask(const std::set<std::string>& tables) {
  if (!connection_) {
    NL_TRY(Engine * engine, this->engine());
    NL_TRY(Connection connection, engine->connect());
    connection_.emplace(std::move(connection));
  }
  std::set<std::string> missing;
  for (const auto& table : tables) {
    if (views_.insert(table).second) missing.insert(table);
  }
  if (missing.empty()) return &*connection_;
  NL_TRY(const CommonTime* const time, this->time());
  NL_CHECK(create_views(*connection_, files_, *time, false, missing, ViewScope::kConnection));
  return &*connection_;
}

}  // namespace nl::store
