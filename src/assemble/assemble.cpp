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

// ---- Tree and links

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
  LaunchFinder(const PagedVector<Launch>& launches, const std::vector<int32_t>& id_scopes,
               const SpanForest& spans)
      : launches_(launches), id_scopes_(id_scopes) {
    calls_.reserve(launches.size());
    for (size_t i = 0; i < launches.size(); i++) {
      const int32_t scope =
          id_scopes.empty() ? Collected::kNoScope : scope_of(spans.track(launches[i].span_id));
      calls_.push_back({launches[i].correlation_id, scope, static_cast<uint32_t>(i)});
    }
    if (!std::is_sorted(calls_.begin(), calls_.end())) std::sort(calls_.begin(), calls_.end());
  }

  /// nullptr if it is not in the capture.
  const Launch* find(const LaunchedWork& work) const {
    const Call wanted{work.correlation_id, scope_of(work.track_id), 0};
    const auto it = std::lower_bound(calls_.begin(), calls_.end(), wanted);
    const bool found = it != calls_.end() && it->id == wanted.id && it->scope == wanted.scope;
    return found ? &launches_[it->launch] : nullptr;
  }

 private:
  struct Call {
    int64_t id;
    int32_t scope;
    uint32_t launch;
    auto operator<=>(const Call&) const = default;
  };

  int32_t scope_of(int32_t track) const {
    const auto at = static_cast<size_t>(track);
    return track >= 0 && at < id_scopes_.size() ? id_scopes_[at] : Collected::kNoScope;
  }

  PagedVector<Call> calls_;
  const PagedVector<Launch>& launches_;
  const std::vector<int32_t>& id_scopes_;
};

/// Leaves the start of its launch in each work.
Result<void> write_links(const std::shared_ptr<Engine>& engine, const std::string& folder, TableId table,
                         PagedVector<LaunchedWork>& works, const LaunchFinder& launches,
                         const SpanForest& spans) {
  static_assert(int{model::kernel_links::launch_span_id} == int{model::copy_links::launch_span_id});
  static_assert(int{model::kernel_links::op_id} == int{model::copy_links::op_id});
  if (works.empty()) return {};
  DerivedWriter writer(engine, table, folder);
  for (LaunchedWork& work : works) {
    const size_t row = writer.add();
    const Launch* const launch = launches.find(work);
    work.launch_ns = launch == nullptr ? kNull : launch->start_ns;
    if (launch != nullptr) {
      writer.set(row, model::kernel_links::launch_span_id, int64_t{launch->span_id});
      writer.set(row, model::kernel_links::op_id, spans.place(launch->span_id).op_id);
    }
    NL_CHECK(writer.flush_if_full());
  }
  return writer.finish();
}

Result<void> write_collected(const std::shared_ptr<Engine>& engine, const std::string& folder,
                             Collected& collected) {
  const SpanForest& spans = collected.spans;
  collected.spans.build();
  NL_CHECK(write_tree(engine, folder, spans));
  const LaunchFinder launches(collected.launches, collected.id_scopes, spans);
  NL_CHECK(write_links(engine, folder, TableId::kernel_links, collected.kernels, launches, spans));
  return write_links(engine, folder, TableId::copy_links, collected.copies, launches, spans);
}

// ---- From the facts

int64_t int64_or(const store::Chunk& chunk, size_t column, size_t row, int64_t if_null) {
  return chunk.is_null(column, row) ? if_null : chunk.int64s(column)[row];
}

int32_t int32_or(const store::Chunk& chunk, size_t column, size_t row, int32_t if_null) {
  return chunk.is_null(column, row) ? if_null : chunk.int32s(column)[row];
}

Result<void> collect_spans(Connection& connection, Collected& collected) {
  const char* sql =
      "SELECT start_ns, dur_ns, correlation_id, track_id, "
      "CASE kind WHEN 'op' THEN 1 WHEN 'runtime' THEN 2 ELSE 0 END::INTEGER, "
      "CASE kind WHEN 'runtime' THEN name END FROM spans";
  static constexpr model::SpanKind kKinds[] = {model::SpanKind::other, model::SpanKind::op,
                                               model::SpanKind::runtime};
  return connection.stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      const int64_t start_ns = int64_or(chunk, 0, i, kNull), dur_ns = int64_or(chunk, 1, i, kNull);
      const int32_t track = int32_or(chunk, 3, i, -1);
      NL_CHECK(collected.add_span(kKinds[chunk.int32s(4)[i]], start_ns, dur_ns, track,
                                  int64_or(chunk, 2, i, kNull)));
      if (!chunk.is_null(5, i) && waits_for_device(chunk.text(5, i)))
        collected.add_sync(start_ns, dur_ns, track);
    }
    return {};
  });
}

Result<void> collect_kernel_times(Connection& connection, PagedVector<KernelTime>& times) {
  const char* sql = "SELECT device::BIGINT, graph_id, start_ns, dur_ns FROM kernels";
  return connection.stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      const KernelFields kernel{int64_or(chunk, 0, i, kNull), int64_or(chunk, 1, i, kNull),
                                int64_or(chunk, 2, i, kNull), int64_or(chunk, 3, i, kNull)};
      times.push_back(kernel.time());
    }
    return {};
  });
}

Result<void> collect_work(Connection& connection, const std::string& table,
                          PagedVector<LaunchedWork>& works) {
  const std::string sql = "SELECT correlation_id, track_id FROM " + table;
  return connection.stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++)
      works.push_back({{int64_or(chunk, 0, i, kNull)}, int32_or(chunk, 1, i, -1)});
    return {};
  });
}

Result<void> collect_tracks(Connection& connection, Collected& collected) {
  const char* sql = "SELECT id_scope, clock_id FROM tracks";
  return connection.stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      collected.id_scopes.push_back(int32_or(chunk, 0, i, Collected::kNoScope));
      collected.clocks.push_back(int32_or(chunk, 1, i, 0));
    }
    return {};
  });
}

Result<Collected> collect(Connection& connection) {
  Collected collected;
  NL_CHECK(collect_spans(connection, collected));
  NL_CHECK(collect_work(connection, "kernels", collected.kernels));
  NL_CHECK(collect_kernel_times(connection, collected.kernel_times));
  NL_CHECK(collect_work(connection, "copies", collected.copies));
  NL_CHECK(collect_tracks(connection, collected));
  return collected;
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
                           const std::string& folder, const Collected& collected) {
  NL_CHECK(match_replayed_launches(engine, files, folder));
  NL_CHECK(write_clock_fits(engine, files, folder, collected));
  return store::mark_complete(folder);
}

Result<void> build_into(const std::shared_ptr<Engine>& engine, const store::RunFiles& files,
                        const std::string& folder) {
  NL_CHECK(make_folders(folder));
  NL_TRY(Connection connection, engine->connect());
  store::RunFiles stored = files;
  stored.clocks.clear();  // so that views show times as they are stored
  NL_CHECK(store::create_views(connection, stored, false, {"tracks", "spans", "kernels", "copies"}));
  NL_TRY(Collected collected, collect(connection));
  NL_CHECK(write_collected(engine, folder, collected));
  return finish_tables(engine, files, folder, collected);
}

}  // namespace

Result<void> build_collected(const std::shared_ptr<Engine>& engine, const std::string& bundle,
                             Collected& collected) {
  const std::string folder = store::derived_folder(store::place_in_ledger(bundle).derived);
  NL_CHECK(make_folders(folder));
  return write_collected(engine, folder, collected);
}

Result<void> complete_derived(const std::shared_ptr<Engine>& engine, const std::string& bundle,
                              const Collected& collected) {
  const std::string folder = store::derived_folder(store::place_in_ledger(bundle).derived);
  NL_CHECK(make_folders(folder));
  NL_TRY(const auto files, store::run_files(store::place_in_ledger(bundle)));
  return finish_tables(engine, files, folder, collected);
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
    if (!store::is_intact(std::string(folder).append("/").append(name), seal)) return DerivedState::kDamaged;
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
