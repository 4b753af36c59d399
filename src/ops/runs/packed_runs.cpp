#include "ops/runs/packed_runs.h"

#include <cctype>
#include <set>

#include "assemble/assemble.h"
#include "base/aside.h"
#include "base/call_control.h"
#include "base/files.h"
#include "base/path_text.h"
#include "base/sha256.h"
#include "model/tables.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/run_labels.h"
#include "ops/runs/run_state.h"
#include "store/bundle_reader.h"
#include "store/bundle_writer.h"
#include "store/cache_folder.h"
#include "store/foreign_bundle.h"
#include "store/run_document.h"
#include "store/sql_workers.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr int64_t kMostSidecarBytes = 64 << 10;
constexpr int kCheckSeconds = 300;

Error refused(const store::PackedRun& packed, const std::string& why) {
  return Error{ErrorCode::kBadInput,
               "the packed run " + short_id(packed.run_id()) + " cannot be believed: " + why,
               "ask for the profiles that it was made from"};
}

/// A statement that reads every cell of the tables.
std::string read_everything(const json& document) {
  std::string sql;
  for (const json& one : document["tables"]) {
    const model::Table* table = model::find_table(one["name"].get<std::string>());
    if (table == nullptr) continue;
    std::string columns;
    for (const auto& column : table->columns)
      columns += (columns.empty() ? "\"" : ", \"") + std::string(column.name) + "\"";
    sql += std::string(sql.empty() ? "" : " UNION ALL ") + "SELECT count(*), bit_xor(hash(" + columns +
           ")) FROM " + std::string(table->name);
  }
  return sql;
}

/// What the engine does with a hostile table is done in a process that may do nothing else. What it reads
/// there without harm it reads here without harm.
Result<void> read_in_worker(const Context& context, const std::string& bundle, const json& document) {
  const std::string sql = read_everything(document);
  if (context.sql_workers == nullptr || sql.empty()) return {};
  store::QueryLimits limits;
  limits.seconds = kCheckSeconds;
  limits.cancelled = context.cancelled;
  const store::QuerySink nowhere{[](const auto&) { return Result<void>(); },
                                 [](const auto&) { return Result<void>(); }};
  return context.sql_workers->query(store::place_in_ledger(bundle), sql, limits, nowhere);
}

/// The facts in the folder are of the run that the file names, and can be read.
Result<json> checked_document(const Context& context, const store::PackedRun& packed,
                              const std::string& bundle) {
  NL_TRY(json document, store::read_run_document(bundle + "/run.json"));
  NL_TRY(const auto sources, store::sources_of(document));
  const std::string id = store::run_id_of(sources, document["options"]);
  if (document["run_id"] != packed.run_id() || id != packed.run_id())
    return refused(packed, "run.json is of another run");
  for (const json& table : document["tables"]) {
    if (!store::intact_table_file(bundle, document, table["name"].get<std::string>()))
      return refused(packed, "table " + table["name"].get<std::string>() + " is not the one of run.json");
  }
  NL_CHECK(store::check_foreign_tables(bundle, document));
  NL_CHECK(read_in_worker(context, bundle, document));
  return document;
}

}  // namespace

Result<std::string> unpacked_in_cache(const Context& context, const store::PackedRun& packed) {
  NL_TRY(const std::string all, store::packed_in_cache(*context.environment));
  const std::string folder = all + packed.sha256().substr(0, 32);
  if (path_exists(folder + "/run.json")) {
    store::note_cache_use(folder);
    return folder;
  }
  NL_CHECK(make_folders(all));
  remove_abandoned(all + ".new-");
  NL_TRY(FolderAside aside, FolderAside::create(all + ".new-"));
  NL_CHECK(packed.unpack_bundle(aside.path(), false));
  NL_CHECK(checked_document(context, packed, aside.path()));
  NL_CHECK(aside.replace(folder));
  store::tidy_cache(*context.environment, store::kDaysOfCache);
  return folder;
}

Result<Sidecar> packed_sidecar(const store::PackedRun& packed) {
  const store::PackedFile* file = packed.find(store::kPackedSidecar);
  if (file == nullptr) return Sidecar();
  NL_TRY(const std::string text, packed.read(*file, kMostSidecarBytes));
  NL_TRY(Sidecar sidecar, parse_sidecar(text, std::string(store::kPackedSidecar)));
  sidecar.files.emplace_back(store::kPackedSidecar);
  return sidecar;
}

namespace {

class PackedImporter {
 public:
  PackedImporter(Context& context, store::Ledger& ledger, const std::string& path,
                 const store::PackedRun& packed)
      : context_(context), ledger_(ledger), path_(path), packed_(packed) {}

  Result<PackedImport> run() {
    NL_TRY(const auto claim, ledger_.state().claim(packed_.run_id()));
    const auto sources = packed_sources();
    if (!sources.empty()) return import_sources_of_it(sources);
    if (ledger_.has(packed_.run_id())) return there_already(claim.has_value());
    return import_as_claimed();
  }

 private:
  std::vector<const store::PackedFile*> packed_sources() const {
    std::vector<const store::PackedFile*> sources;
    for (const auto& file : packed_.files()) {
      if (file.name.starts_with(store::kPackedSources)) sources.push_back(&file);
    }
    return sources;
  }

  /// The profiles prove the run: they are imported, and the tables that came along are not looked at.
  Result<PackedImport> import_sources_of_it(const std::vector<const store::PackedFile*>& sources) {
    NL_TRY(const store::Staging staging, ledger_.new_staging());
    std::vector<std::string> paths;
    for (const auto* file : sources) {
      paths.push_back(staging.temp() + "/" + base_name(file->name));
      NL_CHECK(make_folders(staging.temp()));
      NL_CHECK(packed_.unpack(*file, paths.back(), false));
    }
    ImportOptions options;
    options.as_one = paths.size() > 1;
    NL_TRY(auto report, import_files(context_, ledger_, paths, options));
    report.paths = {path_};
    if (report.run_id != packed_.run_id())
      report_notice("the profiles in the file give another run than it says: " + short_id(report.run_id));
    return PackedImport{std::move(report), false};
  }

  Result<PackedImport> there_already(bool is_claimed) {
    NL_CHECK(ledger_.keep(packed_.run_id()));
    NL_TRY(const auto document,
           store::shared_run_document(ledger_.run_folder(packed_.run_id()) + "/run.json"));
    return PackedImport{{packed_.run_id(), false, {path_}, *document}, is_claimed};
  }

  Result<PackedImport> import_as_claimed() {
    NL_TRY(const store::Staging staging, ledger_.new_staging());
    NL_CHECK(make_folders(staging.bundle()));
    NL_CHECK(packed_.unpack_bundle(staging.bundle(), true));
    NL_TRY(json document, checked_document(context_, packed_, staging.bundle()));
    NL_TRY(auto engine, store::Engine::open({1, 200, staging.temp()}));
    NL_CHECK(assemble::build_from_facts(engine, staging.bundle()));
    NL_CHECK(ledger_.wait_until_free());
    const CallScope not_any_more({});  // no longer cancellable: a published run must get its receipt
    // The claim goes first: a run must never stand there as proved, not even when the process ends now.
    NL_CHECK(ledger_.change_state([&](store::State& state) {
      return state.put_claim(packed_.run_id(), {base_name(path_), packed_.sha256(), act_of(context_)});
    }));
    NL_TRY(const bool created, ledger_.publish(staging, packed_.run_id()));
    const store::Receipt receipt = make_receipt(context_, path_, false);
    NL_CHECK(created ? ledger_.record_new(staging, packed_.run_id(), receipt)
                     : ledger_.record(packed_.run_id(), receipt));
    return PackedImport{{packed_.run_id(), created, {path_}, std::move(document)}, true};
  }

  Context& context_;
  store::Ledger& ledger_;
  const std::string& path_;
  const store::PackedRun& packed_;
};

}  // namespace

Result<PackedImport> import_packed(Context& context, store::Ledger& ledger, const std::string& path) {
  NL_CHECK(ledger.may_write());
  NL_TRY(const auto packed, store::PackedRun::open(path));
  NL_TRY(Sidecar sidecar, packed_sidecar(packed));
  NL_TRY(auto imported, PackedImporter(context, ledger, path, packed).run());
  std::vector<std::string> warnings;
  NL_CHECK(apply_labels(context, ledger, imported.report.run_id, {{}, std::move(sidecar)}, warnings));
  for (const auto& warning : warnings) report_notice(warning);
  return imported;
}

namespace {

/// What a bundle consists of. A table that is damaged is an error.
Result<std::vector<store::FileToPack>> files_of_bundle(const std::string& bundle) {
  NL_TRY(const auto document, store::shared_run_document(bundle + "/run.json"));
  std::vector<store::FileToPack> files{{"run.json", bundle + "/run.json"}};
  if (const std::string seal = bundle + "/run.json.sha256"; path_exists(seal))
    files.push_back({"run.json.sha256", seal});
  for (const json& table : (*document)["tables"]) {
    const std::string name = table["name"];
    NL_TRY(std::string path, store::intact_table_file(bundle, *document, name));
    files.push_back({store::table_file_name(name), std::move(path)});
  }
  return files;
}

/// Labels, tags and notes in the form of a sidecar. JSON is YAML.
Result<std::string> sidecar_text(const Context& context, const NamedRun& named, const PackOptions& options) {
  NL_TRY(const auto document, store::shared_run_document(named.bundle + "/run.json"));
  json sidecar = json::object();
  if (options.labels) {
    NL_TRY(const auto labels, labels_of_run(context, named, *document));
    for (const auto& label : labels) {
      if (label.effective().origin != store::LabelOrigin::kSource)
        sidecar["labels"][label.key] = label.effective().value;
    }
  }
  if (is_in_ledger(context, named)) {
    NL_TRY(const auto ledger, ledger_of(context, named));
    if (options.labels) {
      NL_TRY(const auto tags, ledger->state().tags(named.run_id));
      for (const auto& tag : tags) {
        if (!tag.starts_with(kBaselinePrefix)) sidecar["tags"].push_back(tag);
      }
    }
    NL_TRY(const auto notes, ledger->state().notes(named.run_id));
    for (const auto& note : notes) {
      if (options.notes) sidecar["notes"].push_back(note.text);
    }
  }
  return sidecar.empty() ? std::string() : sidecar.dump() + "\n";
}

Result<void> add_derived(const NamedRun& named, std::vector<store::FileToPack>& files) {
  NL_TRY(const auto open, open_derived(named));
  const std::string folder = open->files().derived + "/";
  const std::string place = "derived/" + base_name(open->files().derived) + "/";
  for (const auto& name : list_folder(folder)) files.push_back({place + name, folder + name});
  return {};
}

/// Letters that a name in a packed run may have.
std::string plain_name(const std::string& path) {
  std::string name = base_name(path);
  for (char& c : name) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
    if (!is_plain) c = '_';
  }
  return name.substr(name.size() > 100 ? name.size() - 100 : 0);
}

/// The profiles must be all of the run's, and no others.
Result<void> add_sources(const NamedRun& named, const std::vector<std::string>& paths,
                         std::vector<store::FileToPack>& files) {
  if (paths.empty()) return {};
  NL_TRY(const auto document, store::shared_run_document(named.bundle + "/run.json"));
  if (!(*document)["options"].empty()) {
    return Error{ErrorCode::kUnsupported,
                 "the profiles of this run do not prove it alone: options were given when it was imported",
                 "export it without --sources"};
  }
  std::multiset<std::string> wanted;
  for (const json& source : (*document)["sources"]) wanted.insert(source["sha256"].get<std::string>());
  for (size_t i = 0; i < paths.size(); i++) {
    NL_TRY(const std::string sha256, sha256_of_file(paths[i]));
    const auto it = wanted.find(sha256);
    if (it == wanted.end())
      return Error{ErrorCode::kBadInput, "the run was not made from this file: " + paths[i]};
    wanted.erase(it);
    files.push_back(
        {std::string(store::kPackedSources) + std::to_string(i) + "_" + plain_name(paths[i]), paths[i]});
  }
  if (wanted.empty()) return {};
  return Error{ErrorCode::kBadInput, "the run has " + std::to_string(wanted.size()) + " more profiles",
               "name all of them with --sources"};
}

}  // namespace

Result<std::string> pack_run(const Context& context, const NamedRun& named, const PackOptions& options,
                             const std::function<Result<void>(std::string_view)>& write) {
  NL_TRY(auto files, files_of_bundle(named.bundle));
  if (options.derived) NL_CHECK(add_derived(named, files));
  NL_CHECK(add_sources(named, options.sources, files));
  NL_TRY(std::string sidecar, sidecar_text(context, named, options));
  if (!sidecar.empty()) files.push_back({std::string(store::kPackedSidecar), "", std::move(sidecar)});
  return store::write_packed_run(named.run_id, std::move(files), write);
}

}  // namespace nl::ops
