#include "store/run_document.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "base/files.h"
#include "base/sha256.h"
#include "base/small_json.h"
#include "model/run_schema.h"
#include "model/versions.h"
#include "store/file_check.h"
#include "store/read_counts.h"

namespace nl::store {

using nlohmann::json;

std::string run_id_of(const std::vector<SourceFile>& sources, const json& options) {
  std::vector<std::string> lines;
  for (const auto& source : sources) lines.push_back(source.role + " " + source.sha256 + "\n");
  std::sort(lines.begin(), lines.end());
  std::string text = "neurolens run 1\n";
  for (const auto& line : lines) text += line;
  return sha256_hex(text + options.dump());
}

namespace {

json device_json(const model::Device& device) {
  json out = {{"device", device.device}, {"active", device.active}};
  if (device.rank) out["rank"] = *device.rank;
  if (!device.name.empty()) out["name"] = device.name;
  if (!device.vendor.empty()) out["vendor"] = device.vendor;
  if (device.memory_bytes) out["memory_bytes"] = *device.memory_bytes;
  if (device.compute_capability) out["compute_capability"] = *device.compute_capability;
  if (device.multiprocessors) out["multiprocessors"] = *device.multiprocessors;
  return out;
}

json hardware_json(const model::RunInfo& info) {
  json devices = json::array();
  for (const auto& device : info.devices) devices.push_back(device_json(device));
  json ranks = json::array();
  for (const auto& rank : info.ranks) {
    ranks.push_back({{"rank", rank.rank}});
    if (rank.world_size) ranks.back()["world_size"] = *rank.world_size;
  }
  return {{"hosts", info.hosts}, {"devices", devices}, {"ranks", ranks}};
}

json clocks_json(const model::RunInfo& info) {
  json clocks = json::array();
  if (info.clocks.empty()) {  // no source has a timeline
    clocks.push_back({{"clock_id", 0}, {"kind", "relative"}, {"base_unix_ns", 0}, {"resolution_ns", 1}});
  }
  for (const auto& clock : info.clocks) {
    clocks.push_back({{"clock_id", clock.clock_id},
                      {"kind", clock.kind},
                      {"base_unix_ns", clock.base_unix_ns},
                      {"resolution_ns", clock.resolution_ns}});
    if (!clock.identity.empty()) clocks.back()["identity"] = clock.identity;
  }
  return clocks;
}

json capture_json(const model::RunInfo& info) {
  return {{"counts",
           {{"seen", info.counts.seen},
            {"stored", info.counts.stored},
            {"folded", info.counts.folded},
            {"dropped", info.counts.dropped}}},
          {"records_by_phase", info.records_by_phase},
          {"records_by_category", info.records_by_category},
          {"flags", info.flags},
          {"health", info.health}};
}

json windows_json(const model::RunInfo& info) {
  json kept = json::array();
  for (const auto& w : info.windows) {
    kept.push_back({{"kind", w.kind}, {"name", w.name}, {"start_ns", w.start_ns}, {"dur_ns", w.dur_ns}});
  }
  return {{"seen", info.windows_seen}, {"kept", kept}};
}

json sources_json(const std::vector<SourceFile>& sources) {
  json out = json::array();
  for (const auto& source : sources) {
    json one = {{"role", source.role},
                {"sha256", source.sha256},
                {"bytes", source.bytes},
                {"text_bytes", source.text_bytes},
                {"compression", source.compression},
                {"format", source.format}};
    if (!source.tool.empty()) one["tool"] = source.tool;
    if (!source.tool_version.empty()) one["tool_version"] = source.tool_version;
    out.push_back(one);
  }
  return out;
}

}  // namespace

json make_run_document(const std::vector<SourceFile>& sources, const json& options,
                       const model::RunInfo& info, const std::vector<TableFile>& tables) {
  json adapters = json::object();
  for (const auto& source : sources) adapters[source.format] = source.adapter_version;
  json table_list = json::array();
  for (const auto& t : tables) {
    table_list.push_back({{"name", t.name}, {"rows", t.rows}, {"bytes", t.bytes}, {"sha256", t.sha256}});
  }
  json document = {{"schema", "neurolens.run/" + std::to_string(kSchemaVersion)},
                   {"run_id", run_id_of(sources, options)},
                   {"revision", {{"schema", kSchemaVersion}, {"adapters", adapters}}},
                   {"sources", sources_json(sources)},
                   {"options", options},
                   {"hardware", hardware_json(info)},
                   {"software", {{"backend", info.backend}, {"versions", info.versions}}},
                   {"clocks", clocks_json(info)},
                   {"capture", capture_json(info)},
                   {"windows", windows_json(info)},
                   {"tables", table_list},
                   {"extensions", info.extensions}};
  if (!info.labels.empty()) document["labels"] = info.labels;
  return document;
}

namespace {

/// Version 2 adds labels, and lets each of several sources name its tool: both may be absent, so nothing is
/// to be done. `revision` still tells the version that the bundle was written with.
void one_to_two(json&) {}

constexpr model::VersionStep kSteps[] = {one_to_two};
static_assert(std::size(kSteps) == kSchemaVersion - 1);

const JsonSchema& run_schema() {
  static const JsonSchema schema(model::run_schema_text(), "run.json");
  return schema;
}

}  // namespace

Result<json> migrated_run_document(json document) {
  NL_CHECK(model::migrate(document, "neurolens.run/", kSteps));
  return document;
}

Result<std::vector<JsonFault>> run_document_faults(json document, size_t most) {
  NL_TRY(const json present, migrated_run_document(std::move(document)));
  return run_schema().faults(present, most);
}

Result<void> validate_run_document(const json& document) {
  return run_schema().validate(document);
}

namespace {

constexpr char kHashSuffix[] = ".sha256";
constexpr int64_t kMaxHashFile = 1024;

std::string hash_line(std::string_view text) {
  return sha256_hex(text) + "  run.json\n";
}

Result<void> check_hash(const std::string& path, std::string_view text) {
  const auto line = read_plain_file(path + kHashSuffix, kMaxHashFile);
  if (!line && line.error().code == ErrorCode::kNotFound) return {};  // of an earlier version
  if (line && *line == hash_line(text)) return {};
  return Error{ErrorCode::kBadInput,
               "run.json was changed after it was written: " + path,
               "{} says what is wrong",
               {{"verify", R"({"run": "RUN"})"}}};
}

}  // namespace

Result<void> write_run_document(const std::string& bundle, const json& document) {
  const std::string path = bundle + "/run.json";
  const std::string text = run_document_text(document);
  NL_CHECK(write_file_durably(path + kHashSuffix, hash_line(text)));
  return write_file_durably(path, text);
}

Result<json> read_run_document_quickly(const std::string& path) {
  count_document();
  NL_TRY(const std::string text, read_plain_file(path, kMaxRunDocument));
  NL_CHECK(check_hash(path, text));
  json document = parse_small_json(text, kMaxRunDocumentDepth);
  if (document.is_discarded()) return Error{ErrorCode::kBadInput, "not JSON: " + path};
  return migrated_run_document(std::move(document));
}

Result<json> read_run_document(const std::string& path) {
  NL_TRY(json document, read_run_document_quickly(path));
  NL_CHECK(validate_run_document(document));
  return document;
}

namespace {

class KeptDocuments {
 public:
  using Document = std::shared_ptr<const json>;

  Document find(const std::string& path, const FileIdentity& identity) {
    const std::lock_guard lock(mutex_);
    for (const Kept& kept : kept_) {
      if (kept.path == path && kept.identity == identity) return kept.document;
    }
    return nullptr;
  }
  void keep(const std::string& path, const FileIdentity& identity, Document document) {
    const std::lock_guard lock(mutex_);
    std::erase_if(kept_, [&](const Kept& kept) { return kept.path == path; });
    if (kept_.size() == kMost) kept_.erase(kept_.begin());
    kept_.push_back({path, identity, std::move(document)});
  }

 private:
  static constexpr size_t kMost = 32;
  struct Kept {
    std::string path;
    FileIdentity identity;
    Document document;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;  // the oldest first
};

KeptDocuments& kept_documents() {
  static auto* const kept = new KeptDocuments;  // threads may ask until the process ends
  return *kept;
}

}  // namespace

Result<std::shared_ptr<const json>> shared_run_document(const std::string& path) {
  // Looked at before it is read: a file that is replaced in between is then read once more, not kept for
  // good.
  const auto identity = identity_of(path);
  if (identity) {
    if (auto kept = kept_documents().find(path, *identity)) return kept;
  }
  NL_TRY(json document, read_run_document(path));
  auto shared = std::make_shared<const json>(std::move(document));
  if (identity) kept_documents().keep(path, *identity, shared);
  return shared;
}

Result<std::string> intact_table_file(const std::string& bundle, const json& document,
                                      std::string_view table) {
  std::string path = bundle + "/" + std::string(table) + ".parquet";
  for (const json& one : document["tables"]) {
    if (one["name"].get_ref<const std::string&>() != table) continue;
    if (is_intact(path, {one["bytes"], one["sha256"]})) return path;
  }
  return Error{ErrorCode::kIo,
               "table " + std::string(table) + " is missing or damaged: " + path,
               "{} says what is wrong",
               {{"verify", R"({"run": "RUN"})"}}};
}

int64_t sum_of_counts(const json& counts) {
  int64_t sum = 0;
  for (const auto& n : counts) sum += n.get<int64_t>();
  return sum;
}

std::string run_document_text(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace nl::store
