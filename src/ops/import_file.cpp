#include "ops/import_file.h"

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "assemble/assemble.h"
#include "base/files.h"
#include "base/sha256.h"
#include "ingest/adapter.h"
#include "ops/text.h"
#include "store/bundle_writer.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

constexpr int kWriterMemoryMb = 200;
constexpr size_t kSpansDerivedAtOnce = 1'000'000;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

Error with_path(Error error, const std::string& path) {
  error.message = path + ": " + error.message;
  return error;
}

/// A run that holds exactly this file already; empty if there is none. The file is only hashed if one of its
/// size is known.
Result<std::string> known_run(store::Ledger& ledger, const std::string& path) {
  const auto bytes = file_size(path);
  if (!bytes || *bytes == 0) return std::string();
  NL_TRY(const bool possible, ledger.has_source_of_size(*bytes));
  if (!possible) return std::string();
  NL_TRY(const std::string sha256, sha256_of_file(path));
  NL_TRY(const std::string run_id, ledger.run_with_source(sha256));
  return path_exists(ledger.run_folder(run_id) + "/run.json") ? run_id : std::string();
}

store::Receipt make_receipt(const Context& context, const std::string& path, bool on_the_way) {
  return {now_ns(), path, context.command, host_name(), context.principal, on_the_way};
}

class Importer {
 public:
  Importer(Context& context, store::Ledger& ledger, const std::string& path, const ImportOptions& options)
      : context_(context), ledger_(ledger), path_(path), options_(options) {}

  Result<ImportReport> run() {
    NL_TRY(auto source, ingest::open_file(path_));
    NL_TRY(const ingest::Adapter* adapter,
           ingest::choose_adapter(source->head(), base_name(path_), options_.format));
    NL_TRY(const store::Staging staging, ledger_.new_staging());
    NL_TRY(auto engine, store::Engine::open({1, kWriterMemoryMb, staging.temp()}));
    model::RunInfo info;
    NL_TRY(const auto tables, write_tables(*source, *adapter, engine, staging, info));
    NL_TRY(const auto document, write_document(*source, *adapter, info, tables, staging.bundle()));
    if (!derived_) NL_CHECK(assemble::build_from_facts(engine, staging.bundle()));
    return publish(staging, document);
  }

 private:
  /// Facts and, if they fit into memory, the derived tables, which are built while the last facts are
  /// written.
  Result<std::vector<store::TableFile>> write_tables(ingest::ByteSource& source,
                                                     const ingest::Adapter& adapter,
                                                     const std::shared_ptr<store::Engine>& engine,
                                                     const store::Staging& staging, model::RunInfo& info) {
    const std::string bundle = staging.bundle();
    store::BundleWriter writer(engine, bundle);
    assemble::Collector collector(writer, staging.temp());
    NL_CHECK(adapter.read(source, read_options(), collector, info));
    NL_CHECK(source.drain());
    if (!info.counts.closes()) {
      return Error{ErrorCode::kInternal, "the records do not add up: seen is not stored + folded + dropped"};
    }
    // Small runs: while the last facts are written. Large ones: when the writers have given their memory
    // back.
    const auto derive = [&] { return assemble::build_from_memory(engine, bundle, collector); };
    const bool at_once = collector.complete() && collector.spans.size() < kSpansDerivedAtOnce;
    std::future<Result<void>> derived;
    if (at_once) derived = std::async(std::launch::async, derive);
    auto tables = writer.finish();
    if (!at_once) ::malloc_trim(0);
    if (collector.complete()) {
      NL_CHECK(at_once ? derived.get() : derive());
      derived_ = true;
    }
    return tables;
  }

  ingest::ReadOptions read_options() const {
    ingest::ReadOptions read;
    const unsigned cores = std::thread::hardware_concurrency();
    read.threads = options_.threads > 0 ? options_.threads : static_cast<int>(cores == 0 ? 1 : cores);
    const auto total = file_size(path_);
    read.progress = [this, total](const ingest::ByteSource& source) {
      const double whole = total && *total > 0 ? static_cast<double>(*total) : 0;
      const double fraction = whole > 0 ? static_cast<double>(source.raw_bytes()) / whole : 0;
      context_.progress({"importing " + base_name(path_), fraction});
    };
    read.cancelled = context_.cancelled;
    return read;
  }

  static Result<nlohmann::json> write_document(ingest::ByteSource& source, const ingest::Adapter& adapter,
                                               const model::RunInfo& info,
                                               const std::vector<store::TableFile>& tables,
                                               const std::string& bundle) {
    const store::SourceFile file{std::string(adapter.role),
                                 source.sha256(),
                                 source.raw_bytes(),
                                 source.text_bytes(),
                                 source.compression(),
                                 std::string(adapter.format),
                                 adapter.version};
    nlohmann::json document = store::make_run_document({file}, nlohmann::json::object(), info, tables);
    NL_CHECK(store::validate_run_document(document));
    NL_CHECK(write_file_durably(bundle + "/run.json", store::run_document_text(document)));
    return document;
  }

  Result<ImportReport> publish(const store::Staging& staging, const nlohmann::json& document) {
    const std::string run_id = document["run_id"];
    NL_TRY(const bool created, ledger_.publish(staging, run_id));
    if (!created && options_.refresh) NL_CHECK(ledger_.replace(staging, run_id));
    NL_CHECK(ledger_.record(run_id, make_receipt(context_, path_, options_.on_the_way)));
    if (!options_.on_the_way) NL_CHECK(ledger_.keep(run_id));
    return ImportReport{run_id, created, path_, document};
  }

  Context& context_;
  store::Ledger& ledger_;
  const std::string& path_;
  const ImportOptions& options_;
  bool derived_ = false;
};

}  // namespace

Result<ImportReport> import_file(Context& context, store::Ledger& ledger, const std::string& path,
                                 const ImportOptions& options) {
  if (!options.refresh) {
    NL_TRY(const std::string known, known_run(ledger, path));
    if (!known.empty()) {
      if (!options.on_the_way) NL_CHECK(ledger.keep(known));
      NL_TRY(auto document, store::read_run_document(ledger.run_folder(known) + "/run.json"));
      return ImportReport{known, false, path, std::move(document)};
    }
  }
  auto report = Importer(context, ledger, path, options).run();
  if (!report) return with_path(std::move(report.error()), path);
  return report;
}

nlohmann::json import_json(const ImportReport& report) {
  const auto& document = report.document;
  nlohmann::json devices = nlohmann::json::array();
  for (const auto& device : document["hardware"]["devices"]) {
    if (device["active"].get<bool>()) devices.push_back(device);
  }
  int64_t bytes = 0;
  for (const auto& table : document["tables"]) bytes += table["bytes"].get<int64_t>();
  return {{"run_id", report.run_id},
          {"created", report.created},
          {"path", report.path},
          {"format", document["sources"][0]["format"]},
          {"counts", document["capture"]["counts"]},
          {"health", document["capture"]["health"]},
          {"devices", devices},
          {"bundle_bytes", bytes}};
}

}  // namespace nl::ops
