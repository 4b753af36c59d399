#include "ops/import/slice_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "assemble/assemble.h"
#include "base/call_control.h"
#include "model/run_sink.h"
#include "model/tables.h"
#include "redact/run_redactor.h"
#include "store/bundle_reader.h"
#include "store/bundle_writer.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

using model::TableId;
using nlohmann::json;

constexpr int kSliceMemoryMb = 200;

bool has_column(const model::Table& table, std::string_view name) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [&](const model::Column& column) { return column.name == name; });
}

std::string numbers_text(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

/// Sums over the whole run say nothing about a part of it.
bool is_about_the_whole_run(TableId id) {
  return id == TableId::layers || id == TableId::layer_times || id == TableId::summaries;
}

/// Which rows of each table go into the slice.
class KeptRows {
 public:
  explicit KeptRows(store::OpenRun& run) : run_(run) {}

  Result<void> find(const SliceChoice& choice) {
    std::set<std::string> tables{"kernel_links", "copy_links", "span_tree"};
    for (const auto& [name, rows] : run_.files().tables) tables.insert(name);
    NL_TRY(connection_, run_.ask(tables));
    for (size_t t = 0; t < model::kTableCount; t++) NL_CHECK(find_in(static_cast<TableId>(t), choice));
    inside_ = count();
    if (choice.tracks.empty()) NL_CHECK(add_neighbours(choice));
    const std::vector<bool> spans_inside = marks(TableId::spans);
    NL_CHECK(follow(TableId::kernels, "SELECT kernel_id, launch_span_id FROM kernel_links", spans_inside));
    NL_CHECK(follow(TableId::copies, "SELECT copy_id, launch_span_id FROM copy_links", spans_inside));
    return add_ancestors();
  }

  bool has(TableId id, size_t row) const { return marks_[static_cast<size_t>(id)][row]; }
  /// Number that a row has in the slice.
  std::vector<int64_t> numbers(TableId id) const {
    std::vector<int64_t> numbers;
    int64_t next = 0;
    for (const bool kept : marks_[static_cast<size_t>(id)]) numbers.push_back(kept ? next++ : -1);
    return numbers;
  }
  int64_t inside() const { return inside_; }
  int64_t count() const {
    int64_t rows = 0;
    for (size_t t = 0; t < model::kTableCount; t++) {
      if (static_cast<TableId>(t) != TableId::tracks)
        rows += std::count(marks_[t].begin(), marks_[t].end(), true);
    }
    return rows;
  }

 private:
  std::vector<bool>& marks(TableId id) { return marks_[static_cast<size_t>(id)]; }
  int64_t rows_of(TableId id) const {
    const auto it = run_.files().tables.find(std::string(model::table(id).name));
    return it == run_.files().tables.end() ? 0 : it->second;
  }

  Result<void> mark(TableId id, const std::string& sql) {
    std::vector<bool>& kept = marks(id);
    return connection_->stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
      for (size_t i = 0; i < chunk.size(); i++) {
        if (chunk.is_null(0, i)) continue;
        const auto row = static_cast<uint64_t>(chunk.int64s(0)[i]);
        if (row < kept.size()) kept[row] = true;
      }
      return check_cancelled();
    });
  }

  Result<void> find_in(TableId id, const SliceChoice& choice) {
    const model::Table& table = model::table(id);
    const int64_t rows = table.kind == model::TableKind::fact ? rows_of(id) : 0;
    const bool is_timed = has_column(table, "start_ns");
    marks(id).assign(static_cast<size_t>(rows), !is_timed && !is_about_the_whole_run(id));
    if (rows == 0 || !is_timed) return {};
    const std::string last =
        has_column(table, "dur_ns") ? "start_ns + greatest(coalesce(dur_ns, 0), 1)" : "start_ns + 1";
    std::string sql = fmt::format("SELECT {} FROM {} WHERE start_ns < {} AND {} > {}", table.columns[0].name,
                                  table.name, choice.end_ns, last, choice.begin_ns);
    if (has_column(table, "track_id") && !choice.tracks.empty())
      sql += fmt::format(" AND track_id IN ({})", numbers_text(choice.tracks));
    return mark(id, sql);
  }

  /// The last work before the stretch and the first behind it, of each device.
  Result<void> add_neighbours(const SliceChoice& choice) {
    for (const TableId id : {TableId::kernels, TableId::copies}) {
      if (rows_of(id) == 0) continue;
      const model::Table& table = model::table(id);
      const std::string_view row = table.columns[0].name;
      NL_CHECK(
          mark(id, fmt::format("SELECT max_by({}, start_ns + dur_ns) FROM {} WHERE start_ns + dur_ns <= {} "
                               "GROUP BY device",
                               row, table.name, choice.begin_ns)));
      NL_CHECK(
          mark(id, fmt::format("SELECT min_by({}, start_ns) FROM {} WHERE start_ns >= {} GROUP BY device",
                               row, table.name, choice.end_ns)));
    }
    return {};
  }

  /// The calls that launched the work, and the work that calls of the stretch launched.
  Result<void> follow(TableId id, const std::string& links, const std::vector<bool>& spans_inside) {
    if (rows_of(id) == 0 || spans_inside.empty()) return {};
    std::vector<bool>&work = marks(id), &spans = marks(TableId::spans);
    return connection_->stream(links + " WHERE launch_span_id IS NOT NULL",
                               [&](const store::Chunk& chunk) -> Result<void> {
                                 for (size_t i = 0; i < chunk.size(); i++) {
                                   const auto row = static_cast<uint64_t>(chunk.int64s(0)[i]);
                                   const auto launch = static_cast<uint64_t>(chunk.int64s(1)[i]);
                                   if (row >= work.size() || launch >= spans.size()) continue;
                                   if (spans_inside[launch]) work[row] = true;
                                   if (work[row]) spans[launch] = true;
                                 }
                                 return check_cancelled();
                               });
  }

  Result<void> add_ancestors() {
    std::vector<bool>& kept = marks(TableId::spans);
    if (kept.empty()) return {};
    std::vector<int64_t> parent(kept.size(), -1);
    NL_CHECK(connection_->stream("SELECT span_id, parent_id FROM span_tree WHERE parent_id IS NOT NULL",
                                 [&](const store::Chunk& chunk) -> Result<void> {
                                   for (size_t i = 0; i < chunk.size(); i++)
                                     parent[static_cast<size_t>(chunk.int64s(0)[i])] = chunk.int64s(1)[i];
                                   return check_cancelled();
                                 }));
    for (size_t row = 0; row < kept.size(); row++) {
      if (!kept[row]) continue;
      for (int64_t up = parent[row]; up >= 0 && !kept[static_cast<size_t>(up)];
           up = parent[static_cast<size_t>(up)])
        kept[static_cast<size_t>(up)] = true;
    }
    return {};
  }

  store::OpenRun& run_;
  store::Connection* connection_ = nullptr;
  std::array<std::vector<bool>, model::kTableCount> marks_;
  int64_t inside_ = 0;
};

/// Lets the kept rows pass, and gives references to rows their new numbers.
class SliceSink final : public model::RunSink {
 public:
  SliceSink(model::RunSink& next, const KeptRows& kept)
      : next_(next), kept_(kept), kernels_(kept.numbers(TableId::kernels)) {}

  Result<void> push(std::shared_ptr<model::Batch> batch) override {
    for (size_t t = 0; t < model::kTableCount; t++) {
      const auto id = static_cast<TableId>(t);
      model::Rows& rows = batch->rows(id);
      if (rows.size() > 0) filter(id, rows);
    }
    return next_.push(std::move(batch));
  }

 private:
  void filter(TableId id, model::Rows& rows) {
    size_t& first = first_[static_cast<size_t>(id)];
    std::vector<bool> keep(rows.size());
    for (size_t row = 0; row < rows.size(); row++) {
      keep[row] = kept_.has(id, first + row);
      if (id == TableId::kernel_metrics) keep[row] = keep[row] && renumber(rows, row);
    }
    first += rows.size();
    rows.filter(keep);
  }

  /// False if the kernel is not in the slice.
  bool renumber(model::Rows& rows, size_t row) const {
    using namespace model::kernel_metrics;
    const int64_t kernel = rows.cell(row, kernel_id);
    if (kernel == model::kNull) return true;
    const bool is_known = kernel >= 0 && static_cast<size_t>(kernel) < kernels_.size();
    if (!is_known || kernels_[static_cast<size_t>(kernel)] < 0) return false;
    rows.set(row, kernel_id, kernels_[static_cast<size_t>(kernel)]);
    rows.set(row, launch_id, kernels_[static_cast<size_t>(kernel)]);
    return true;
  }

  model::RunSink& next_;
  const KeptRows& kept_;
  const std::vector<int64_t> kernels_;
  std::array<size_t, model::kTableCount> first_{};
};

json options_of(const json& parent, const SliceChoice& choice) {
  json options = parent["options"];
  options["slice_of"] = parent["run_id"];
  options["slice_begin_ns"] = choice.begin_ns;
  options["slice_end_ns"] = choice.end_ns;
  if (!choice.tracks.empty()) options["slice_tracks"] = numbers_text(choice.tracks);
  return options;
}

class Slicer {
 public:
  Slicer(Context& context, store::Ledger& ledger, store::OpenRun& parent, const SliceChoice& choice)
      : context_(context), ledger_(ledger), parent_(parent), choice_(choice), kept_(parent) {}

  Result<SliceReport> run() {
    NL_CHECK(ledger_.may_write());
    NL_CHECK(kept_.find(choice_));
    if (kept_.inside() == 0) return Error{ErrorCode::kNotFound, "nothing lies in this part of the run"};
    NL_TRY(const auto sources, store::sources_of(parent_.document()));
    const json options = options_of(parent_.document(), choice_);
    const std::string run_id = store::run_id_of(sources, options);
    if (ledger_.has(run_id)) return there_already(run_id);
    NL_TRY(const store::Staging staging, ledger_.new_staging());
    NL_TRY(auto engine, store::Engine::open({1, kSliceMemoryMb, staging.temp()}));
    NL_TRY(const auto tables, write_tables(engine, staging));
    NL_TRY(const model::RunInfo info, info_of_slice());
    json document = store::make_run_document(sources, options, info, tables);
    document["parents"] = json::array({parent_.document()["run_id"]});
    NL_CHECK(store::validate_run_document(document));
    NL_CHECK(store::write_run_document(staging.bundle(), document));
    NL_CHECK(assemble::build_from_facts(engine, staging.bundle()));
    return publish(staging, std::move(document));
  }

 private:
  int64_t rows_of_parent() const {
    int64_t rows = 0;
    for (const auto& [name, count] : parent_.files().tables) rows += name == "tracks" ? 0 : count;
    return rows;
  }
  SliceReport report(ImportReport imported) const {
    const int64_t all = kept_.count();
    return {std::move(imported), kept_.inside(), all - kept_.inside(), rows_of_parent() - all};
  }

  Result<SliceReport> there_already(const std::string& run_id) {
    NL_CHECK(ledger_.keep(run_id));
    NL_TRY(const auto document, store::shared_run_document(ledger_.run_folder(run_id) + "/run.json"));
    return report({run_id, false, {}, *document});
  }

  Result<std::vector<store::TableFile>> write_tables(const std::shared_ptr<store::Engine>& engine,
                                                     const store::Staging& staging) {
    store::BundleWriter writer(engine, staging.bundle());
    SliceSink sink(writer, kept_);
    NL_CHECK(store::read_tables(engine, parent_.bundle(), parent_.document(), sink, context_.cancelled));
    return writer.finish();
  }

  /// What the source said of the whole run and holds for a part of it, too.
  Result<model::RunInfo> info_of_slice() const {
    NL_TRY(model::RunInfo info, store::run_info_of(parent_.document()));
    info.windows.clear();
    info.windows_seen = 0;
    info.records_by_phase.clear();
    info.records_by_category.clear();
    info.health.clear();
    info.extensions.erase(redact::kCarried);
    const int64_t all = rows_of_parent();
    info.counts = {all, kept_.count(), {}, {}};
    if (all > kept_.count()) info.counts.folded["outside of the slice"] = all - kept_.count();
    return info;
  }

  Result<SliceReport> publish(const store::Staging& staging, json document) {
    const std::string run_id = document["run_id"];
    NL_CHECK(ledger_.wait_until_free());
    const CallScope not_any_more({});  // no longer cancellable: a published run must get its receipt
    if (choice_.claim) {
      NL_CHECK(
          ledger_.change_state([&](store::State& state) { return state.put_claim(run_id, *choice_.claim); }));
    }
    NL_TRY(const bool created, ledger_.publish(staging, run_id));
    const store::Receipt receipt = make_receipt(context_, "", false);
    NL_CHECK(created ? ledger_.record_new(staging, run_id, receipt) : ledger_.record(run_id, receipt));
    return report({run_id, created, {}, std::move(document)});
  }

  Context& context_;
  store::Ledger& ledger_;
  store::OpenRun& parent_;
  const SliceChoice& choice_;
  KeptRows kept_;
};

}  // namespace

Result<SliceReport> slice_run(Context& context, store::Ledger& ledger,
                              const std::shared_ptr<store::OpenRun>& parent, const SliceChoice& choice) {
  return Slicer(context, ledger, *parent, choice).run();
}

}  // namespace nl::ops
