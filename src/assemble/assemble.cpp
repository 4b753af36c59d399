#include "assemble/assemble.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "assemble/clock_table.h"
#include "assemble/derived_writer.h"
#include "assemble/launch_joins.h"
#include "base/aside.h"
#include "base/call_control.h"
#include "base/files.h"
#include "base/permissions.h"
#include "store/bundle_writer.h"
#include "store/open_run.h"
#include "store/run_views.h"

namespace nl::assemble {
namespace {

using model::kNull;
using model::TableId;
using store::Connection;
using store::Engine;
namespace tree = model::span_tree;

// ---- In memory

Result<void> write_tree(const std::shared_ptr<Engine>& engine, const std::string& folder,
                        const SpanForest& spans) {
  if (spans.size() == 0) return {};
  DerivedWriter writer(engine, TableId::span_tree, folder);
  for (size_t i = 0; i < spans.size(); i++) {
    const SpanPlace place = spans.place(i);
    const size_t row = writer.add();
    writer.set(row, tree::parent_id, place.parent_id);
    writer.set(row, tree::depth, place.depth);
    writer.set(row, tree::op_id, place.op_id);
    writer.set(row, tree::crosses_parent, place.crosses_parent ? 1 : 0);
    NL_CHECK(writer.flush_if_full());
  }
  return writer.finish();
}

/// Finds the launch of device work: the call with its correlation id in its namespace; of several the first
/// in the source.
class LaunchFinder {
 public:
  LaunchFinder(const std::vector<Launch>& launches, const std::vector<int32_t>& id_scopes,
               const SpanForest& spans)
      : id_scopes_(id_scopes) {
    calls_.reserve(launches.size());
    for (const Launch& launch : launches) {
      const int32_t scope = id_scopes.empty() ? Collector::kNoScope : scope_of(spans.track(launch.span_id));
      calls_.push_back({launch.correlation_id, scope, launch.span_id});
    }
    if (!std::is_sorted(calls_.begin(), calls_.end())) std::sort(calls_.begin(), calls_.end());
  }

  /// The span of the launch; kNull if it is not in the capture.
  int64_t find(const LaunchedWork& work) const {
    const Call wanted{work.correlation_id, scope_of(work.track_id), 0};
    const auto it = std::lower_bound(calls_.begin(), calls_.end(), wanted);
    const bool found = it != calls_.end() && it->id == wanted.id && it->scope == wanted.scope;
    return found ? int64_t{it->span} : kNull;
  }

 private:
  struct Call {
    int64_t id;
    int32_t scope;
    uint32_t span;
    auto operator<=>(const Call&) const = default;
  };

  int32_t scope_of(int32_t track) const {
    const auto at = static_cast<size_t>(track);
    return track >= 0 && at < id_scopes_.size() ? id_scopes_[at] : Collector::kNoScope;
  }

  std::vector<Call> calls_;
  const std::vector<int32_t>& id_scopes_;
};

Result<void> write_links(const std::shared_ptr<Engine>& engine, const std::string& folder, TableId table,
                         const std::vector<LaunchedWork>& works, const LaunchFinder& launches,
                         const SpanForest& spans) {
  static_assert(int{model::kernel_links::launch_span_id} == int{model::copy_links::launch_span_id});
  static_assert(int{model::kernel_links::op_id} == int{model::copy_links::op_id});
  if (works.empty()) return {};
  DerivedWriter writer(engine, table, folder);
  for (const LaunchedWork& work : works) {
    const size_t row = writer.add();
    if (const int64_t span = launches.find(work); span != kNull) {
      writer.set(row, model::kernel_links::launch_span_id, span);
      writer.set(row, model::kernel_links::op_id, spans.place(static_cast<size_t>(span)).op_id);
    }
    NL_CHECK(writer.flush_if_full());
  }
  return writer.finish();
}

// ---- From the facts

/// The columns of SpanRecord, in its order. Instants have no duration.
constexpr char kSortedSpans[] =
    "SELECT start_ns, coalesce(dur_ns, 0) AS dur_ns, span_id, coalesce(track_id, -1) AS track_id, "
    "CASE kind WHEN 'op' THEN 1 WHEN 'runtime' THEN 2 ELSE 0 END::INTEGER AS rank FROM spans "
    "ORDER BY track_id, start_ns, dur_ns DESC, rank, span_id";

/// The stack sees the spans sorted by time; a second sort brings its rows into the order of span_id.
Result<void> write_tree_by_sorting(Connection& connection, const store::RunFiles& files,
                                   const std::string& folder) {
  NL_CHECK(
      connection.run("CREATE TABLE places(span_id BIGINT, parent_id BIGINT, depth INTEGER, op_id BIGINT, "
                     "crosses_parent INTEGER)"));
  NL_TRY(const int64_t rows, connection.integer("SELECT count(*) FROM spans"));
  if (rows == 0) return {};
  NL_TRY(store::Appender appender, connection.append_to("places"));
  SpanStack stack;
  NL_TRY(Connection reader, connection.another());
  NL_CHECK(store::create_views(reader, files, false, {"spans"}));
  NL_CHECK(reader.stream(kSortedSpans, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      const SpanRecord span{chunk.int64s(0)[i], chunk.int64s(1)[i], chunk.int64s(2)[i], chunk.int32s(3)[i],
                            static_cast<SpanRank>(chunk.int32s(4)[i])};
      const SpanPlace place = stack.add(span);
      appender.add(span.span_id);
      appender.add(place.parent_id);
      appender.add(place.depth);
      appender.add(place.op_id);
      appender.add(place.crosses_parent ? 1 : 0);
      NL_CHECK(appender.end_row());
    }
    return {};
  }));
  NL_CHECK(appender.finish());
  NL_CHECK(connection.run(
      "COPY (SELECT parent_id, depth, op_id, crosses_parent FROM places ORDER BY span_id) TO " +
      store::sql_quoted(derived_path(folder, TableId::span_tree)) + " " + store::parquet_options(rows)));
  return connection.run("DROP TABLE places");
}

/// Device work to the runtime call with the same correlation id, and to the op around that call. 0 means
/// none; if several calls share an id, the first one in the source counts.
Result<void> write_links_by_joining(Connection& connection, const std::string& folder,
                                    const std::string& table, const std::string& key, TableId links) {
  NL_TRY(const int64_t rows, connection.integer("SELECT count(*) FROM " + table));
  if (rows == 0) return {};
  const std::string tree_path = derived_path(folder, TableId::span_tree);
  const std::string places = path_exists(tree_path)
                                 ? "(SELECT file_row_number AS span_id, op_id FROM read_parquet(" +
                                       store::sql_quoted(tree_path) + ", file_row_number = true))"
                                 : "(SELECT NULL::BIGINT AS span_id, NULL::BIGINT AS op_id WHERE false)";
  const auto scoped = [](const std::string& of) {
    return "(SELECT r.*, coalesce(s.id_scope, -1) AS id_scope FROM " + of +
           " r LEFT JOIN tracks s ON s.track_id = r.track_id)";
  };
  return connection.run("COPY (SELECT l.span_id AS launch_span_id, t.op_id FROM " + scoped(table) +
                        " f LEFT JOIN (SELECT correlation_id, id_scope, min(span_id) AS span_id FROM " +
                        scoped("spans") +
                        "WHERE kind IN ('runtime', 'op') AND correlation_id <> 0 GROUP BY ALL) l "
                        "ON l.correlation_id = f.correlation_id AND l.id_scope = f.id_scope LEFT JOIN " +
                        places + " t ON t.span_id = l.span_id ORDER BY f." + key + ") TO " +
                        store::sql_quoted(derived_path(folder, links)) + " " + store::parquet_options(rows));
}

// ---- Between sources

Result<void> write_launch_matches(const std::shared_ptr<Engine>& engine, Connection& connection,
                                  const std::string& folder) {
  namespace columns = model::launch_matches;
  NL_TRY(const auto joined, join_launches(connection));
  DerivedWriter writer(engine, TableId::launch_matches, folder);
  for (const auto& launch : joined) {
    const size_t row = writer.add();
    if (launch) {
      writer.set(row, columns::kernel_id, launch->kernel_id);
      writer.set_text(row, columns::matched_by, matched_by_name(launch->match.by));
      writer.set_text(row, columns::name_by, launch->match.by_function ? "function" : "name");
      writer.set(row, columns::same_ranges, launch->match.by_ranges ? 1 : kNull);
    }
    NL_CHECK(writer.flush_if_full());
  }
  return writer.finish();
}

Result<void> match_replayed_launches(const std::shared_ptr<Engine>& engine, store::RunFiles files,
                                     const std::string& folder) {
  if (!files.tables.contains("profiled_launches") || !files.tables.contains("kernels")) return {};
  NL_CHECK(store::mark_complete(folder));  // views see only what is marked
  store::use_derived(files, folder);
  NL_TRY(Connection connection, engine->connect());
  NL_CHECK(store::create_views(connection, files, true));
  return write_launch_matches(engine, connection, folder);
}

/// What needs the facts as a whole, and the end of the derived tables. Tree and links are written already.
Result<void> finish_tables(const std::shared_ptr<Engine>& engine, const store::RunFiles& files,
                           const std::string& folder) {
  NL_CHECK(match_replayed_launches(engine, files, folder));
  NL_CHECK(write_clock_fits(engine, files, folder));
  return store::mark_complete(folder);
}

Result<void> build_into(const std::shared_ptr<Engine>& engine, const store::RunFiles& files,
                        const std::string& folder) {
  NL_CHECK(make_folders(folder));
  NL_TRY(Connection connection, engine->connect());
  NL_CHECK(store::create_views(connection, files, false));
  NL_CHECK(write_tree_by_sorting(connection, files, folder));
  NL_CHECK(write_links_by_joining(connection, folder, "kernels", "kernel_id", TableId::kernel_links));
  NL_CHECK(write_links_by_joining(connection, folder, "copies", "copy_id", TableId::copy_links));
  return finish_tables(engine, files, folder);
}

}  // namespace

Result<void> build_from_memory(const std::shared_ptr<Engine>& engine, const std::string& bundle,
                               Collector& collected) {
  const std::string folder = store::derived_folder(store::place_in_ledger(bundle).derived);
  NL_CHECK(make_folders(folder));
  const SpanForest& spans = collected.spans;
  NL_CHECK(collected.spans.build());
  NL_CHECK(write_tree(engine, folder, spans));
  NL_TRY(auto calls, collected.launches.take());
  const LaunchFinder launches(calls, collected.id_scopes, spans);
  NL_TRY(auto kernels, collected.kernels.take());
  NL_CHECK(write_links(engine, folder, TableId::kernel_links, kernels, launches, spans));
  NL_TRY(auto copies, collected.copies.take());
  return write_links(engine, folder, TableId::copy_links, copies, launches, spans);
}

Result<void> complete_derived(const std::shared_ptr<Engine>& engine, const std::string& bundle) {
  const std::string folder = store::derived_folder(store::place_in_ledger(bundle).derived);
  NL_CHECK(make_folders(folder));
  NL_TRY(const auto files, store::run_files(store::place_in_ledger(bundle)));
  return finish_tables(engine, files, folder);
}

Result<void> build_from_facts(const std::shared_ptr<Engine>& engine, const std::string& bundle) {
  NL_TRY(const auto files, store::run_files(store::place_in_ledger(bundle)));
  return build_into(engine, files, store::derived_folder(files.place.derived));
}

namespace {

enum class DerivedState { kMissing, kDamaged, kComplete };

/// Complete: the mark is there, and every file that it lists has the bytes that were written.
DerivedState state_of(const std::string& folder) {
  if (!path_exists(folder)) return DerivedState::kMissing;
  const auto files = store::derived_files(folder);
  if (!files) return DerivedState::kDamaged;
  for (const auto& [name, seal] : *files) {
    if (!store::is_intact(folder + "/" + name, seal)) return DerivedState::kDamaged;
  }
  return DerivedState::kComplete;
}

/// A ledger of somebody else may have put a link there that leads elsewhere.
Result<void> check_folder(const std::string& derived) {
  std::error_code unknown;
  if (!std::filesystem::is_symlink(derived, unknown)) return {};
  return Error{ErrorCode::kBadInput, "a symbolic link stands in the place of a folder: " + derived,
               "remove it; what is derived from a run can be made again"};
}

/// The tables in their folder, whole.
Result<void> build_derived(const store::OpenRun& run) {
  const std::string& derived = run.place().derived;
  const std::string folder = store::derived_folder(derived);
  store::remove_derived_left_overs(derived);
  NL_CHECK(make_shared_folders(parent_folder(derived)));
  NL_CHECK(make_trusted_folder(derived));
  NL_TRY(FolderAside aside, FolderAside::create(derived + "/" + store::kDerivedAside));
  const std::string temp = aside.path() + "/temp";
  NL_CHECK(make_folders(temp));
  NL_TRY(auto engine, Engine::open({2, 256, temp}));
  NL_CHECK(build_into(engine, run.files(), aside.path()));
  engine.reset();
  remove_tree(temp);
  // Another one may have been quicker.
  return state_of(folder) == DerivedState::kComplete ? Result<void>() : aside.replace(folder);
}

Result<void> ensure_in_place(store::OpenRun& run) {
  const std::string folder = store::derived_folder(run.place().derived);
  NL_CHECK(check_folder(run.place().derived));
  NL_CHECK(check_folder(folder));
  const DerivedState found = state_of(folder);
  if (found == DerivedState::kComplete) return {};
  NL_CHECK(build_derived(run));
  if (found == DerivedState::kDamaged)
    report_notice("derived tables of the run were damaged; they have been built again");
  return {};
}

/// The ledger is another user's, or its disk is full.
bool cannot_be_written(const Error& error) {
  return error.code == ErrorCode::kPermission || error.code == ErrorCode::kIo;
}

}  // namespace

Result<void> ensure_derived(store::OpenRun& run) {
  auto there = ensure_in_place(run);
  if (!there && cannot_be_written(there.error()) && !run.place().spare.empty()) {
    run.use_spare();
    // What kept the tables from being built may be the run itself: then the first error says so.
    if (!ensure_in_place(run)) return there;
    there = {};
  }
  NL_CHECK(there);
  run.find_derived();
  return {};
}

}  // namespace nl::assemble
