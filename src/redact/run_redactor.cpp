#include "redact/run_redactor.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "base/decimal.h"
#include "base/small_json.h"
#include "base/text.h"
#include "model/tables.h"
#include "redact/name_redactor.h"
#include "redact/text_redactor.h"
#include "store/bundle_reader.h"
#include "store/bundle_writer.h"
#include "store/run_document.h"

namespace nl::redact {
namespace {

using model::TableId;
using nlohmann::json;

/// Columns that tell shapes, in any table that has them.
bool tells_shapes(std::string_view column) {
  static constexpr std::string_view kColumns[] = {"shapes", "output_shapes", "strides", "inputs"};
  return std::find(std::begin(kColumns), std::end(kColumns), column) != std::end(kColumns);
}

/// Members of arguments that tell shapes, whoever wrote them.
bool is_about_shapes(const std::string& name) {
  const std::string key = lower(name);
  for (const char* word : {"shape", "dim", "stride", "split size", "inputs", "outputs", "concrete"}) {
    if (key.find(word) != std::string::npos) return true;
  }
  return false;
}

void remove_shapes(json& tree) {
  if (tree.is_object()) {
    for (auto it = tree.begin(); it != tree.end();)
      it = is_about_shapes(it.key()) ? tree.erase(it) : std::next(it);
  }
  if (tree.is_structured()) {
    for (auto& item : tree) remove_shapes(item);
  }
}

/// Arguments without what tells shapes. What is not JSON, or too deep, says nothing that can be told apart,
/// and goes.
std::string args_without_shapes(std::string_view args) {
  json tree = parse_small_json(args);
  if (tree.is_discarded()) return "{}";
  remove_shapes(tree);
  return tree.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Every number in the text up to the next power of two.
std::string rounded_up(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_digit(text[end])) end++;
    int64_t number = 0;
    if (end > at && parse_int64(std::string(text.substr(at, end - at)), number) && number < int64_t{1} << 62)
      out += std::to_string(std::bit_ceil(static_cast<uint64_t>(number)));
    if (end < text.size()) out += text[end++];
    at = end;
  }
  return out;
}

bool is_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// What the texts of a column name. Names of spans are those of ops only where the span is one.
NameRole role_of(TableId table, std::string_view column) {
  const bool is_name = column == "name" || column == "kernel_name" || column == "short_name" ||
                       column == "mangled_name" || column == "tactic";
  switch (table) {
    case TableId::kernels:
    case TableId::profiled_launches:
    case TableId::kernel_metrics:
    case TableId::summaries:
      return is_name ? NameRole::kKernel : NameRole::kOther;
    case TableId::spans:
      return is_name || column == "op_type" ? NameRole::kOp : NameRole::kOther;
    case TableId::layers:
    case TableId::layer_times:
      return column == "tactic"       ? NameRole::kKernel
             : column == "layer_type" ? NameRole::kLayerType
             : is_name                ? NameRole::kLayer
                                      : NameRole::kOther;
    default:
      return NameRole::kOther;
  }
}

bool is_op(const model::Rows& rows, size_t row) {
  return rows.cell(row, model::spans::kind) == static_cast<int64_t>(model::SpanKind::op);
}

class RunRedactor {
 public:
  RunRedactor(const Policy& policy, Pseudonyms& pseudonyms, const analyze::Taxonomy& taxonomy)
      : policy_(policy),
        pseudonyms_(pseudonyms),
        redactor_(pseudonyms, policy.words),
        names_(redactor_, taxonomy) {}

  model::RunInfo info(model::RunInfo info) {
    part("run.hosts", [&] { each(info.hosts); });
    part("run.flags", [&] { each(info.flags); });
    part("run.devices", [&] {
      for (auto& device : info.devices) {
        device.name = redactor_.text(device.name);
        if (device.compute_capability)
          device.compute_capability = redactor_.version(*device.compute_capability);
      }
    });
    part("run.versions", [&] { info.versions = with(info.versions, &TextRedactor::version); });
    part("run.labels", [&] { info.labels = with(info.labels, &TextRedactor::text); });
    part("run.clocks", [&] {
      for (auto& clock : info.clocks) clock.identity = redactor_.text(clock.identity);
    });
    part("run.categories", [&] {
      info.records_by_phase = with_keys(info.records_by_phase);
      info.records_by_category = with_keys(info.records_by_category);
    });
    part("run.losses", [&] {
      info.counts.folded = with_keys(info.counts.folded);
      info.counts.dropped = with_keys(info.counts.dropped);
      info.health = with_keys(info.health);
    });
    part("run.windows", [&] {
      for (auto& window : info.windows) {
        window.kind = redactor_.text(window.kind);
        window.name = redactor_.text(window.name);
      }
    });
    part("run.extensions", [&] { info.extensions = tree(info.extensions); });
    if (policy_.shapes != Shapes::kKeep) remove_shapes(info.extensions);
    return info;
  }

  std::vector<store::SourceFile> sources(std::vector<store::SourceFile> sources) {
    for (auto& source : sources) {
      source.sha256 = pseudonyms_.of_hash(source.sha256);
      part("run.tools", [&] {
        source.role = redactor_.text(source.role);
        source.tool = redactor_.text(source.tool);
        source.tool_version = redactor_.version(source.tool_version);
      });
    }
    return sources;
  }

  json options(const json& given) {
    json options = policy_.keeps("run.options") ? given : tree(given);
    options["redacted"] = true;
    if (policy_.shapes != Shapes::kKeep)
      options["redacted_shapes"] = policy_.shapes == Shapes::kRound ? "rounded" : "dropped";
    return options;
  }

  void rows(TableId id, model::Batch& batch) {
    const model::Table& table = model::table(id);
    model::Rows& rows = batch.rows(id);
    if (policy_.shapes != Shapes::kKeep) take_shapes(table, rows, batch);
    for (size_t c = 0; c < table.columns.size(); c++) {
      const model::Column& column = table.columns[c];
      const bool is_json = column.type == model::Type::json || is_json_text(column.name);
      const bool is_text = column.type == model::Type::dict || is_json;
      const std::string field = std::string(table.name) + "." + std::string(column.name);
      if (!is_text || !rows.has_values(static_cast<int>(c)) || policy_.keeps(field)) continue;
      redact_column(rows, static_cast<int>(c), {id, role_of(id, column.name), is_json}, batch,
                    hidden_[field]);
    }
  }

  std::map<std::string, int64_t> hidden() const {
    std::map<std::string, int64_t> counted;
    for (const auto& [field, count] : hidden_) {
      if (count > 0) counted[field] = count;
    }
    return counted;
  }
  const std::map<std::string, int64_t>& dropped() const { return dropped_; }
  bool has_changed_ops() const { return names_.has_changed_ops(); }

 private:
  static bool is_json_text(std::string_view column) { return tells_shapes(column) || column == "dtypes"; }

  void part(const std::string& field, const std::function<void()>& redact) {
    if (policy_.keeps(field)) return;
    const int64_t before = pseudonyms_.used();
    redact();
    hidden_[field] += pseudonyms_.used() - before;
  }
  void each(std::vector<std::string>& texts) {
    for (auto& text : texts) text = redactor_.text(text);
  }
  std::map<std::string, std::string> with(const std::map<std::string, std::string>& given,
                                          std::string (TextRedactor::*redact)(std::string_view)) {
    std::map<std::string, std::string> out;
    for (const auto& [key, value] : given) out[redactor_.text(key)] = (redactor_.*redact)(value);
    return out;
  }
  std::map<std::string, int64_t> with_keys(const std::map<std::string, int64_t>& given) {
    std::map<std::string, int64_t> out;
    for (const auto& [key, count] : given) out[redactor_.text(key)] += count;
    return out;
  }
  json tree(const json& given) {
    if (given.is_string()) {
      const auto& text = given.get_ref<const std::string&>();
      return is_hash(text) ? pseudonyms_.of_hash(text) : redactor_.text(text);
    }
    json out = given;
    if (given.is_object()) out = json::object();
    if (given.is_object()) {
      for (const auto& [key, value] : given.items()) out[redactor_.text(key)] = tree(value);
    } else if (given.is_array()) {
      for (size_t i = 0; i < given.size(); i++) out[i] = tree(given[i]);
    }
    return out;
  }

  struct TextColumn {
    TableId table;
    NameRole role;
    bool is_json;
  };

  void redact_column(model::Rows& rows, int column, TextColumn what, model::Batch& batch, int64_t& changed) {
    std::map<std::pair<int64_t, NameRole>, int64_t> in_batch;  // number of the string before, and after
    for (size_t row = 0; row < rows.size(); row++) {
      const int64_t cell = rows.cell(row, column);
      if (cell == model::kNull) continue;
      const bool is_plain = what.table == TableId::spans && !is_op(rows, row);
      const NameRole role = is_plain ? NameRole::kOther : what.role;
      const auto [it, is_new] = in_batch.try_emplace({cell, role}, cell);
      if (is_new) it->second = redacted_string(cell, what.is_json, role, batch);
      if (it->second == cell) continue;
      rows.set(row, column, it->second);
      changed++;
    }
  }
  int64_t redacted_string(int64_t number, bool is_json, NameRole role, model::Batch& batch) {
    const std::string_view before = batch.strings[static_cast<size_t>(number)];
    const std::string after = is_json ? redactor_.json(before) : names_.name(before, role);
    return after == before ? number : batch.add_string(batch.arena.keep(after));
  }

  /// Shapes go; rounded ones are among the arguments, where nothing computes with them.
  void take_shapes(const model::Table& table, model::Rows& rows, model::Batch& batch) {
    int shapes = -1, args = -1;
    for (size_t c = 0; c < table.columns.size(); c++) {
      if (table.columns[c].name == "shapes") shapes = static_cast<int>(c);
      if (table.columns[c].name == "args") args = static_cast<int>(c);
    }
    for (size_t row = 0; row < rows.size(); row++) {
      std::string given = args >= 0 && rows.cell(row, args) != model::kNull
                              ? args_without_shapes(batch.strings[static_cast<size_t>(rows.cell(row, args))])
                              : std::string();
      if (policy_.shapes == Shapes::kRound && shapes >= 0 && args >= 0 &&
          rows.cell(row, shapes) != model::kNull) {
        json tree = given.empty() ? json::object() : parse_small_json(given);
        if (tree.is_object())
          tree["shapes_about"] = rounded_up(batch.strings[static_cast<size_t>(rows.cell(row, shapes))]);
        given = tree.dump(-1, ' ', false, json::error_handler_t::replace);
      }
      if (!given.empty()) rows.set(row, args, batch.add_string(batch.arena.keep(given)));
    }
    for (size_t c = 0; c < table.columns.size(); c++) {
      const int column = static_cast<int>(c);
      if (!tells_shapes(table.columns[c].name) || !rows.has_values(column)) continue;
      int64_t& gone = dropped_[std::string(table.name) + "." + std::string(table.columns[c].name)];
      for (size_t row = 0; row < rows.size(); row++) {
        gone += rows.cell(row, column) != model::kNull ? 1 : 0;
        rows.set(row, column, model::kNull);
      }
    }
  }

  const Policy& policy_;
  Pseudonyms& pseudonyms_;
  TextRedactor redactor_;
  NameRedactor names_;
  std::map<std::string, int64_t> hidden_, dropped_;
};

class RedactingSink final : public model::RunSink {
 public:
  RedactingSink(model::RunSink& next, RunRedactor& redactor) : next_(next), redactor_(redactor) {}

  Result<void> push(std::shared_ptr<model::Batch> batch) override {
    for (size_t t = 0; t < model::kTableCount; t++) {
      const auto id = static_cast<TableId>(t);
      if (batch->rows(id).size() > 0) redactor_.rows(id, *batch);
    }
    return next_.push(std::move(batch));
  }

 private:
  model::RunSink& next_;
  RunRedactor& redactor_;
};

}  // namespace

Result<RedactedRun> redact_run(const std::shared_ptr<store::Engine>& engine, const RedactCall& call,
                               const std::function<bool()>& cancelled) {
  NL_TRY(const analyze::Taxonomy* taxonomy, analyze::Taxonomy::shared());
  RunRedactor redactor(call.policy, call.pseudonyms, *taxonomy);
  store::BundleWriter writer(engine, call.target);
  RedactingSink sink(writer, redactor);
  NL_CHECK(store::read_tables(engine, call.bundle, call.document, sink, cancelled));
  NL_TRY(const auto tables, writer.finish());
  NL_TRY(model::RunInfo info, store::run_info_of(call.document));
  NL_TRY(auto sources, store::sources_of(call.document));
  info = redactor.info(std::move(info));
  if (redactor.has_changed_ops()) {
    NL_TRY(json carried, call.carried());
    if (!carried.is_null()) info.extensions[kCarried] = std::move(carried);
  }
  RedactedRun redacted;
  redacted.document = store::make_run_document(redactor.sources(std::move(sources)),
                                               redactor.options(call.document["options"]), info, tables);
  NL_CHECK(store::validate_run_document(redacted.document));
  NL_CHECK(store::write_run_document(call.target, redacted.document));
  redacted.hidden = redactor.hidden();
  redacted.dropped = redactor.dropped();
  return redacted;
}

}  // namespace nl::redact
