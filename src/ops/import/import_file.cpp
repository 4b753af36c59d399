// Imports the files of one run: open and order the inputs, look whether the run is known, read everything
// into a staging folder, build the derived tables, then publish. The run id follows from the content of the
// files and from the options that change facts, so importing the same files again in another order finds the
// same run. Nothing is visible in the ledger before publish(), and an import that is cancelled earlier leaves
// nothing.

#include "ops/import/import_file.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <tuple>

#include "assemble/assemble.h"
#include "base/call_control.h"
#include "base/checked_thread.h"
#include "base/files.h"
#include "base/host_name.h"
#include "base/path_text.h"
#include "base/redact.h"
#include "base/sha256.h"
#include "base/text.h"
#include "capture/tools/convert_report.h"
#include "ingest/adapter.h"
#include "ops/import/run_parts.h"
#include "ops/import/source_sink.h"
#include "store/bundle_reader.h"
#include "store/bundle_writer.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

constexpr int kWriterMemoryMb = 200;
constexpr size_t kSpansDerivedAtOnce = 1'000'000;

/// Adds the path to the message, unless it is there already.
Error with_path(Error error, const std::string& path) {
  if (!error.message.ends_with(": " + path)) error.message = path + ": " + error.message;
  return error;
}

std::string joined(const std::vector<std::string>& paths) {
  std::string all;
  for (const auto& path : paths) all += (all.empty() ? "" : " ") + path;
  return all;
}

/// One file of the run that is being imported.
struct Input {
  std::string path;  ///< or the name of a source that is no file
  ImportSource given;
  std::unique_ptr<ingest::ByteSource> source;
  ingest::ChosenAdapter chosen;
  const capture::ReportKind* report = nullptr;  ///< if it must be converted first
  std::string sha256 = {};                      ///< known beforehand where the order depends on it
  std::optional<int32_t> rank = {};             ///< that the name gives to a file that names none
  size_t process = 0;                           ///< files of one process have the same number
};

/// Whether all files of one format can belong to one process: no two of them have the same role.
bool is_one_process(const std::vector<Input>& inputs, const ingest::Adapter* adapter) {
  std::set<std::string_view> roles;
  for (const Input& input : inputs) {
    if (input.chosen.adapter == adapter && !roles.insert(input.chosen.role).second) return false;
  }
  return true;
}

/// What the files of one process have in common: the folder, and the name without the words that say what the
/// file contains.
std::string process_name(const std::string& path) {
  const std::string name = base_name(path);
  return path.substr(0, path.size() - name.size()) + "\n" + run_stem(name);
}

/// Some profilers write several files per process. Gives such files the same number and moves them next to
/// each other. File names are only consulted if the roles show that there must be several processes.
void group_by_process(std::vector<Input>& inputs) {
  std::map<std::pair<const ingest::Adapter*, std::string>, size_t> numbers;
  size_t next = 0;
  for (Input& input : inputs) {
    const ingest::Adapter* const adapter = input.chosen.adapter;
    input.process = next++;
    if (!adapter->shares_process) continue;
    const std::string name = is_one_process(inputs, adapter) ? "" : process_name(input.path);
    input.process = numbers.try_emplace({adapter, name}, input.process).first->second;
  }
  std::stable_sort(inputs.begin(), inputs.end(),
                   [](const Input& a, const Input& b) { return a.process < b.process; });
}

/// The number after "rank" in a file name.
std::optional<int32_t> rank_in(const std::string& file_name) {
  const size_t word = lower(file_name).find("rank");
  if (word == std::string::npos) return std::nullopt;
  const size_t digits = file_name.find_first_not_of("_-.", word + 4);
  int32_t rank = 0;
  if (digits == std::string::npos) return std::nullopt;
  const auto end = std::from_chars(file_name.data() + digits, file_name.data() + file_name.size(), rank);
  return end.ec == std::errc() && rank >= 0 ? std::optional(rank) : std::nullopt;
}

/// A source that is not a file is opened and read once more for this.
Result<std::string> sha256_of(const Input& input) {
  if (input.given.is_file) return sha256_of_file(input.path);
  NL_TRY(const auto source, input.given.open());
  NL_CHECK(source->drain());
  return source->sha256();
}

/// Files of the same role, such as the traces of several ranks, are sorted by the hash of their content, so
/// that the order in which they were given does not matter.
Result<void> order_by_content(std::vector<Input>& inputs) {
  for (Input& input : inputs) {
    NL_TRY(input.sha256, sha256_of(input));
  }
  std::sort(inputs.begin(), inputs.end(), [](const Input& a, const Input& b) {
    return std::tie(a.chosen.role, a.sha256) < std::tie(b.chosen.role, b.sha256);
  });
  const auto same = std::adjacent_find(inputs.begin(), inputs.end(), [](const Input& a, const Input& b) {
    return a.chosen.role == b.chosen.role && a.sha256 == b.sha256;
  });
  if (same == inputs.end()) return {};
  return Error{ErrorCode::kBadInput, "the same file twice: " + same->path + ", " + (same + 1)->path};
}

Result<void> order_inputs(std::vector<Input>& inputs, bool as_one) {
  std::sort(inputs.begin(), inputs.end(),
            [](const Input& a, const Input& b) { return a.chosen.role < b.chosen.role; });
  const auto same = std::adjacent_find(inputs.begin(), inputs.end(), [](const Input& a, const Input& b) {
    return a.chosen.role == b.chosen.role;
  });
  if (same == inputs.end()) return {};
  if (as_one) return order_by_content(inputs);
  return Error{ErrorCode::kBadInput, "two files of one run have the role " + std::string(same->chosen.role) +
                                         ": " + same->path + ", " + (same + 1)->path};
}

/// A report that only the vendor's tool can read is treated as the format that it is converted to.
Result<Input> open_input(const ImportSource& given, const std::string& format) {
  NL_TRY(auto source, given.open());
  const auto* report = capture::report_kind(source->head());
  if (report != nullptr && !format.empty() && format != report->format) report = nullptr;
  const std::string wanted = report != nullptr ? std::string(report->format) : format;
  if (report != nullptr && !given.is_file) {
    return Error{ErrorCode::kUnsupported, "only its vendor's tool can read it, and that tool needs a file",
                 "save it and import the file"};
  }
  NL_TRY(const auto chosen, ingest::choose_adapter(source->head(), base_name(given.name), wanted));
  return Input{given.name, given, std::move(source), chosen, report, {}, {}};
}

Result<std::vector<Input>> open_inputs(const std::vector<ImportSource>& sources,
                                       const ImportOptions& options) {
  std::vector<Input> inputs;
  for (const ImportSource& given : sources) {
    auto input = open_input(given, options.format);
    if (!input) return with_path(std::move(input.error()), given.name);
    if (options.rank_from_name) input->rank = rank_in(base_name(given.name));
    inputs.push_back(std::move(*input));
  }
  NL_CHECK(order_inputs(inputs, options.as_one));
  group_by_process(inputs);
  return inputs;
}

/// Which file belongs to which process, if only the file names decided that; otherwise empty.
std::string processes_from_names(const std::vector<Input>& inputs) {
  std::string numbers;
  bool by_name = false;
  for (const Input& input : inputs) {
    numbers += (numbers.empty() ? "" : ",") + std::to_string(input.process);
    by_name =
        by_name || (input.chosen.adapter->shares_process && !is_one_process(inputs, input.chosen.adapter));
  }
  return by_name ? numbers : std::string();
}

/// The options that change facts and are therefore part of the run id.
nlohmann::json fact_options(const std::vector<Input>& inputs, const std::string& parent) {
  nlohmann::json options = nlohmann::json::object();
  if (!parent.empty()) options["added_to"] = parent;
  std::string ranks;
  for (const Input& input : inputs) {
    ranks += (ranks.empty() ? "" : ",") + (input.rank ? std::to_string(*input.rank) : "-");
  }
  if (ranks.find_first_not_of("-,") != std::string::npos) options["ranks_from_names"] = ranks;
  if (const std::string processes = processes_from_names(inputs); !processes.empty())
    options["processes_from_names"] = processes;
  return options;
}

/// The run that the new sources are added to.
struct Parent {
  std::string bundle;
  nlohmann::json document;
  std::vector<store::SourceFile> sources;
};

/// The run that already consists of exactly these files; empty if there is none. Hashing a large file is
/// slow, so it is only done if the ledger has a source of the same size.
Result<std::string> known_run(store::Ledger& ledger, const std::vector<Input>& inputs,
                              std::vector<store::SourceFile> sources, const nlohmann::json& options) {
  for (const Input& input : inputs) {
    if (input.given.is_file) {
      const auto bytes = file_size(input.path);
      if (!bytes || *bytes == 0) return std::string();
      NL_TRY(const bool possible, ledger.has_source_of_size(*bytes));
      if (!possible) return std::string();
    }
    store::SourceFile& source = sources.emplace_back();
    source.role = input.chosen.role;
    source.sha256 = input.sha256;
    if (source.sha256.empty()) {
      NL_TRY(source.sha256, sha256_of(input));
    }
  }
  const std::string run_id = store::run_id_of(sources, options);
  return ledger.has(run_id) ? run_id : std::string();
}

/// Whatever a source says of the run as a whole. What its events say are facts, and stay.
void remove_secrets(model::RunInfo& info) {
  info.extensions = without_secrets(info.extensions);
  for (auto& [name, version] : info.versions) version = without_secrets(std::string_view(version));
  for (auto& [key, value] : info.labels) value = without_secrets(std::string_view(value));
  for (std::string& flag : info.flags) flag = without_secrets(std::string_view(flag));
  info.tool = without_secrets(std::string_view(info.tool));
  info.tool_version = without_secrets(std::string_view(info.tool_version));
}

class Importer {
 public:
  Importer(Context& context, store::Ledger& ledger, std::vector<Input> inputs, const ImportOptions& options,
           std::optional<Parent> parent)
      : context_(context),
        ledger_(ledger),
        inputs_(std::move(inputs)),
        options_(options),
        parent_(std::move(parent)) {}

  Result<ImportReport> run() {
    NL_TRY(const store::Staging staging, ledger_.new_staging());
    temp_folder_ = staging.temp();
    NL_TRY(auto engine, store::Engine::open({1, kWriterMemoryMb, temp_folder_}));
    assemble::Collected collected;
    NL_TRY(const auto tables, write_tables(engine, staging, collected));
    NL_TRY(const auto document, write_document(tables, staging.bundle()));
    NL_CHECK(assemble::complete_derived(engine, staging.bundle(), collected));
    return publish(staging, document);
  }

 private:
  /// Facts, and the derived tables that follow from each row, which are built while the last facts are
  /// written.
  Result<std::vector<store::TableFile>> write_tables(const std::shared_ptr<store::Engine>& engine,
                                                     const store::Staging& staging,
                                                     assemble::Collected& collected) {
    const std::string bundle = staging.bundle();
    store::BundleWriter writer(engine, bundle);
    assemble::Collector collector(writer, collected);
    SourceSink sink(collector, inputs_.size() == 1 && !parent_);
    if (parent_) NL_CHECK(read_parent(engine, sink));
    for (Input& input : inputs_) {
      begin_input(input, sink);
      auto read = read_input(input, sink);
      if (!read) return with_path(std::move(read.error()), input.path);
    }
    // For small runs the derived tables are built while the last facts are written. For large ones that would
    // need too much memory, so they are built after the writers have given theirs back.
    const auto derive = [&] {
      return without_exceptions([&] { return assemble::build_collected(engine, bundle, collected); });
    };
    const bool at_once = collected.spans.size() < kSpansDerivedAtOnce;
    std::future<Result<void>> derived;
    if (at_once) derived = std::async(std::launch::async, derive);
    auto tables = writer.finish();
    if (!at_once) ::malloc_trim(0);
    NL_CHECK(at_once ? derived.get() : derive());
    return tables;
  }

  void begin_input(const Input& input, SourceSink& sink) {
    if (process_ == input.process) return sink.continue_source();
    process_ = input.process;
    tracks_ = {};
    first_clock_ = info_.clocks.size();
    sink.begin_source(first_clock_, input.rank);
  }

  Result<void> read_parent(const std::shared_ptr<store::Engine>& engine, SourceSink& sink) {
    sink.begin_source(0, std::nullopt);
    sources_ = parent_->sources;
    NL_TRY(info_, store::run_info_of(parent_->document));
    return store::read_tables(engine, parent_->bundle, parent_->document, sink, context_.cancelled);
  }

  Result<void> read_input(Input& input, model::RunSink& sink) {
    model::RunInfo info;
    const ingest::Adapter& adapter = *input.chosen.adapter;
    const auto read = input.report == nullptr ? adapter.read(*input.source, read_options(input), sink, info)
                                              : read_report(input, sink, info);
    if (!read) NL_CHECK(input.source->unchanged());  // that the file has changed is the better message
    NL_CHECK(read);
    NL_CHECK(input.source->drain());
    remove_secrets(info);
    if (!info.counts.closes()) {
      return Error{ErrorCode::kInternal, "the records do not add up: seen is not stored + folded + dropped"};
    }
    sources_.push_back({std::string(input.chosen.role), input.source->sha256(), input.source->raw_bytes(),
                        input.source->text_bytes(), input.source->compression(), std::string(adapter.format),
                        adapter.version, info.tool, info.tool_version});
    if (input.rank && info.ranks.empty()) info.ranks.push_back({*input.rank});
    if (info_.clocks.size() > first_clock_)
      info.clocks.clear();  // another file of the same process has already given its clock
    if (const auto why = info_.contradiction(info)) {
      return Error{ErrorCode::kBadInput, "the sources are not of one run: " + *why,
                   "import them as separate runs, or profile the same machine again"};
    }
    info_.add(std::move(info));
    return {};
  }

  /// Reads what the vendor's tool makes of the report. Hash and name in run.json are those of the report
  /// itself.
  Result<void> read_report(const Input& input, model::RunSink& sink, model::RunInfo& info) {
    if (input.source->plain_fd() < 0) {
      return Error{ErrorCode::kUnsupported,
                   "only a plain file can be converted, not a pipe or a compressed file",
                   "decompress it, or write the pipe to a file"};
    }
    const std::string folder = temp_folder_ + "/convert-" + std::string(input.report->format);
    context_.progress({"converting " + base_name(input.path), 0});
    NL_TRY(const auto converted, capture::convert_report(*input.report, input.path,
                                                         {folder, context_.cancelled, context_.environment}));
    ingest::PipeWait wait;
    wait.cancelled = context_.cancelled;
    NL_TRY(auto source, ingest::open_file(converted.path, std::move(wait)));
    auto read = input.chosen.adapter->read(*source, read_options(input), sink, info);
    source.reset();
    remove_tree(folder);
    if (!read) {
      read.error().message =
          "what " + std::string(input.report->tool) + " made of the report: " + read.error().message;
      return read;
    }
    info.extensions["converted_by"] = {{"tool", input.report->tool}, {"version", converted.tool_version}};
    return {};
  }

  ingest::ReadOptions read_options(const Input& input) {
    ingest::ReadOptions read;
    const unsigned cores = std::thread::hardware_concurrency();
    read.threads = options_.threads > 0 ? options_.threads : static_cast<int>(cores == 0 ? 1 : cores);
    read.role = input.chosen.role;
    read.temp_folder = temp_folder_;
    if (input.chosen.adapter->shares_process) read.tracks = &tracks_;
    const auto total = file_size(input.path);
    const std::string what = "importing " + base_name(input.path);
    read.progress = [this, total, what](const ingest::ByteSource& source) {
      const double whole = total && *total > 0 ? static_cast<double>(*total) : 0;
      const double fraction = whole > 0 ? static_cast<double>(source.raw_bytes()) / whole : 0;
      context_.progress({what, fraction});
    };
    read.cancelled = context_.cancelled;
    return read;
  }

  Result<nlohmann::json> write_document(const std::vector<store::TableFile>& tables,
                                        const std::string& bundle) {
    const auto options = fact_options(inputs_, parent_ ? parent_->document["run_id"] : nlohmann::json(""));
    nlohmann::json document = store::make_run_document(sources_, options, info_, tables);
    if (parent_) document["parents"] = nlohmann::json::array({parent_->document["run_id"]});
    NL_CHECK(store::validate_run_document(document));
    NL_CHECK(store::write_run_document(bundle, document));
    return document;
  }

  Result<ImportReport> publish(const store::Staging& staging, const nlohmann::json& document) {
    const std::string run_id = document["run_id"];
    NL_CHECK(ledger_.wait_until_free());
    const CallScope not_any_more({});  // no longer cancellable: a published run must get its receipt
    if (!options_.artifacts.empty())
      NL_CHECK(rename_to_new(options_.artifacts, staging.bundle() + "/artifacts"));
    NL_TRY(const auto claim, ledger_.state().claim(run_id));
    NL_TRY(const bool created, ledger_.publish(staging, run_id));
    if (!created && (options_.refresh || claim)) NL_CHECK(ledger_.replace(staging, run_id));
    if (claim)
      NL_CHECK(ledger_.change_state([&](store::State& state) { return state.remove_claim(run_id); }));
    std::vector<std::string> paths;
    for (const Input& input : inputs_) paths.push_back(input.path);
    const store::Receipt receipt = make_receipt(context_, joined(paths), options_.on_the_way);
    NL_CHECK(created ? ledger_.record_new(staging, run_id, receipt) : ledger_.record(run_id, receipt));
    if (!options_.on_the_way) NL_CHECK(ledger_.keep(run_id));
    return ImportReport{run_id, created, std::move(paths), document};
  }

  Context& context_;
  store::Ledger& ledger_;
  std::vector<Input> inputs_;
  const ImportOptions& options_;
  std::optional<Parent> parent_;
  model::RunInfo info_;
  std::vector<store::SourceFile> sources_;
  std::string temp_folder_;
  std::optional<size_t> process_;  ///< that is read, with its tracks and the number of its clock
  ingest::ProcessTracks tracks_;
  size_t first_clock_ = 0;
};

}  // namespace

namespace {

Result<Parent> read_parent(store::Ledger& ledger, const std::string& run_id) {
  Parent parent{ledger.run_folder(run_id), {}, {}};
  NL_TRY(const auto document, store::shared_run_document(parent.bundle + "/run.json"));
  parent.document = *document;
  NL_TRY(parent.sources, store::sources_of(parent.document));
  return parent;
}

/// A run that is in the ledger already; no report if it is not.
Result<std::optional<ImportReport>> already_there(Context& context, store::Ledger& ledger,
                                                  const std::string& known,
                                                  const std::vector<std::string>& paths, bool on_the_way) {
  if (known.empty()) return std::optional<ImportReport>();
  NL_TRY(const auto claim, ledger.state().claim(known));
  if (claim) return std::optional<ImportReport>();  // now its facts can be proved
  // An import that was killed before its last step left a run without a receipt.
  NL_TRY(const auto receipt, ledger.receipt(known));
  if (!receipt) NL_CHECK(ledger.record(known, make_receipt(context, joined(paths), on_the_way)));
  if (!on_the_way) NL_CHECK(ledger.keep(known));
  NL_TRY(const auto document, store::shared_run_document(ledger.run_folder(known) + "/run.json"));
  return std::optional(ImportReport{known, false, paths, *document});
}

}  // namespace

Result<ImportReport> import_files(Context& context, store::Ledger& ledger,
                                  const std::vector<std::string>& paths, const ImportOptions& options) {
  std::vector<ImportSource> sources;
  for (const std::string& path : paths) {
    const auto open = [path, cancelled = context.cancelled] {
      return ingest::open_file(path, {.cancelled = cancelled});
    };
    sources.push_back({path, open, true});
  }
  return import_sources(context, ledger, sources, options);
}

Result<ImportReport> import_sources(Context& context, store::Ledger& ledger,
                                    const std::vector<ImportSource>& sources, const ImportOptions& options) {
  // Hashing, waiting for the ledger and the table writers check this scope for cancellation.
  const CallScope scope(control_of(context));
  std::vector<std::string> paths;
  for (const ImportSource& source : sources) paths.push_back(source.name);
  NL_TRY(auto inputs, open_inputs(sources, options));
  std::optional<Parent> parent;
  if (!options.add_to.empty()) {
    NL_TRY(parent, read_parent(ledger, options.add_to));
  }
  if (!options.refresh) {
    const auto before = parent ? parent->sources : std::vector<store::SourceFile>();
    NL_TRY(const std::string known, known_run(ledger, inputs, before, fact_options(inputs, options.add_to)));
    NL_TRY(auto there, already_there(context, ledger, known, paths, options.on_the_way));
    if (there) return std::move(*there);
  }
  return Importer(context, ledger, std::move(inputs), options, std::move(parent)).run();
}

store::Receipt make_receipt(const Context& context, const std::string& path, bool on_the_way) {
  return {store::unix_now_ns(),
          without_secrets(std::string_view(without_folder(path, context.hidden_folder))),
          without_secrets(std::string_view(context.command)),
          host_name(),
          context.principal,
          on_the_way};
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
          {"path", without_secrets(std::string_view(joined(report.paths)))},
          {"sources", document["sources"].size()},
          {"format", document["sources"][0]["format"]},
          {"counts", document["capture"]["counts"]},
          {"health", document["capture"]["health"]},
          {"devices", devices},
          {"bundle_bytes", bytes}};
}

}  // namespace nl::ops
