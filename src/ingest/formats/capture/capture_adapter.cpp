// capture.json, which `neurolens profile`, `record` and `deep` write beside what they recorded: what ran,
// on what, with which library and inputs, and how long each iteration took, with and without a
// profiler.

#include <algorithm>

#include "base/json.h"
#include "base/small_json.h"
#include "base/text.h"
#include "ingest/adapter.h"
#include "ingest/json/small_json.h"
#include "ingest/rows/row_writer.h"
#include "model/labels.h"
#include "model/run_file.h"

namespace nl::ingest::capture_adapter {
namespace {

using model::TableId;
using nlohmann::json;
namespace iterations = model::iterations;
namespace tracks = model::tracks;

constexpr std::string_view kSchema = "neurolens.capture/1";

/// The member if it is a text, else empty.
std::string text_of(const json& object, const char* key) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

const json& member(const json& object, const char* key) {
  static const json kNothing = nullptr;
  return object.is_object() && object.contains(key) ? object[key] : kNothing;
}

void add_label(model::RunInfo& info, const std::string& key, const std::string& value) {
  if (!value.empty() && model::check_label_value(key, value)) info.labels[key] = value;
}

/// Of a profile that the Python package or a tool measured.
void describe_framework(const json& framework, model::RunInfo& info) {
  const std::string name = text_of(framework, "name");
  for (const auto& [known, backend] :
       {std::pair{"torch", "pytorch"}, std::pair{"onnxruntime", "onnxruntime"},
        std::pair{"tensorflow", "tensorflow"}, std::pair{"openvino", "openvino"},
        std::pair{"tensorrt", "tensorrt"}}) {
    if (name == known) info.backend = backend;
  }
  if (!name.empty() && !text_of(framework, "version").empty())
    info.versions[name] = text_of(framework, "version");
  for (const auto& [key, value] : member(framework, "versions").items()) {
    if (value.is_string()) info.versions[key] = value;
  }
}

void describe(const json& document, model::RunInfo& info) {
  info.tool = "neurolens";
  info.tool_version = text_of(document, "tool_version");
  const std::string host = text_of(member(document, "host"), "name");
  if (!host.empty()) info.hosts.push_back(host);
  const json& library = member(document, "onnxruntime");
  if (library.is_object()) {
    info.backend = "onnxruntime";
    const std::string version = text_of(library, "version");
    if (!version.empty()) info.versions["onnxruntime"] = version;
  }
  describe_framework(member(document, "framework"), info);
  for (const auto& [key, value] : member(document, "labels").items()) {
    if (value.is_string() && model::check_label_key(key)) add_label(info, key, value);
  }
  json rest = document;
  rest.erase("iterations");
  rest.erase("schema");
  if (json kept = kept_json(rest); !kept.is_null()) info.extensions["capture"] = std::move(kept);
}

/// Times of the iterations are of the monotonic clock; the pair brings them to Unix time.
void add_clock(const json& document, model::RunInfo& info) {
  const json& pair = member(document, "clock");
  model::Clock clock{0, "relative", 0, 1};
  const auto monotonic = pair.is_object() ? whole_number(pair, "monotonic_ns") : std::nullopt;
  const auto unix_ns = pair.is_object() ? whole_number(pair, "unix_ns") : std::nullopt;
  if (monotonic && unix_ns && *monotonic <= model::kMaxTimeNs && *unix_ns <= model::kMaxTimeNs)
    clock = {0, "unix", *unix_ns - *monotonic, 1};
  clock.identity = model::monotonic_identity(text_of(pair, "boot_id"));
  info.clocks.push_back(clock);
}

class Iterations {
 public:
  Iterations(model::RunSink& sink, model::RunInfo& info) : writer_(sink, info), info_(info) {}

  Result<void> add(const json& iteration) {
    info_.counts.seen++;
    info_.records_by_category["iteration"]++;
    const auto start = iteration.is_object() ? whole_number(iteration, "start_ns") : std::nullopt;
    const auto duration = iteration.is_object() ? whole_number(iteration, "dur_ns") : std::nullopt;
    if (!start || !duration || *start > model::kMaxTimeNs || *duration > model::kMaxDurationNs) {
      info_.counts.dropped["iteration without times"]++;
      return {};
    }
    constexpr auto kTable = TableId::iterations;
    const size_t row = writer_.add(kTable);
    writer_.set_track(kTable, row, iterations::track_id, kWorkload);
    writer_.set_text(kTable, row, iterations::pass, text_of(iteration, "pass"));
    writer_.set(kTable, row, iterations::warm_up, member(iteration, "warm_up") == json(true) ? 1 : 0);
    writer_.set(kTable, row, iterations::start_ns, *start);
    writer_.set(kTable, row, iterations::dur_ns, *duration);
    if (const auto cpu = whole_number(iteration, "cpu_ns"); cpu && *cpu <= model::kMaxDurationNs)
      writer_.set(kTable, row, iterations::cpu_ns, *cpu);
    info_.counts.stored++;
    return writer_.flush_if_large();
  }
  Result<void> finish() {
    constexpr auto kTable = TableId::tracks;
    const size_t row = writer_.add(kTable);
    writer_.set_text(kTable, row, tracks::kind, "other");
    writer_.set_text(kTable, row, tracks::thread_name, "workload");
    writer_.set(kTable, row, tracks::clock_id, 0);
    return writer_.flush();
  }

 private:
  static constexpr int32_t kWorkload = 0;  ///< the only track

  RowWriter writer_;
  model::RunInfo& info_;
};

Sniffed sniff(std::string_view head, std::string_view) {
  return {has_part(head.substr(0, 256), kSchema) ? 0.95 : 0};
}

Result<void> read(ByteSource& source, const ReadOptions&, model::RunSink& sink, model::RunInfo& info) {
  NL_TRY(const json document, read_small_json(source));
  if (text_of(document, "schema") != kSchema)
    return Error{ErrorCode::kUnsupported, "not a capture of version 1"};
  describe(document, info);
  add_clock(document, info);
  const json& list = member(document, "iterations");
  if (list.is_null()) return {};  // a recording whose end nobody saw
  if (!list.is_array() || list.empty()) return Error{ErrorCode::kBadInput, "the capture holds no iterations"};
  Iterations rows(sink, info);
  for (const json& iteration : list) NL_CHECK(rows.add(iteration));
  return rows.finish();
}

}  // namespace

const Adapter& adapter() {
  static constexpr Adapter kAdapter{"neurolens-capture",
                                    1,
                                    "What neurolens profile and record measured (capture.json)",
                                    "workload",
                                    {},
                                    sniff,
                                    read};
  return kAdapter;
}

}  // namespace nl::ingest::capture_adapter
