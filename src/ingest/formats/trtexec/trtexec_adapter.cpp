// Reads what trtexec writes about a TensorRT engine: layer times (--exportProfile), times of every inference
// (--exportTimes), layers (--exportLayerInfo), and the metadata that trt-engine-explorer takes from its log.
// Each is a file with its own role; the files of one model make one run. Times are decimal milliseconds with
// six digits, so absolute times late in a run are coarse while durations are precise.

#include <charconv>
#include <optional>

#include "base/decimal.h"
#include "base/json.h"
#include "base/small_json.h"
#include "ingest/adapter.h"
#include "ingest/json/json_array.h"
#include "ingest/json/small_json.h"
#include "ingest/rows/batch_text.h"

namespace nl::ingest::trtexec_adapter {
namespace {

using model::kNull;
using model::TableId;
using nlohmann::json;
namespace layers = model::layers;
namespace layer_times = model::layer_times;
namespace spans = model::spans;
namespace copies = model::copies;
namespace tracks = model::tracks;

constexpr std::string_view kDevice = "device";
constexpr std::string_view kLayers = "layers";
constexpr std::string_view kProfile = "profile";
constexpr std::string_view kSummary = "summary";
constexpr std::string_view kTimes = "times";

/// Milliseconds as a double in nanoseconds. The decimal point is moved in the text, so that the value is
/// rounded only once.
std::optional<double> double_ns(std::string_view ms) {
  const size_t e = ms.find_first_of("eE");
  int64_t exponent = 0;
  std::string_view digits = e == std::string_view::npos ? std::string_view() : ms.substr(e + 1);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  if (!digits.empty() && !parse_int64(digits, exponent)) return std::nullopt;
  if (exponent > 1000 || exponent < -1000) return std::nullopt;
  const std::string text = std::string(ms.substr(0, e)) + "e" + std::to_string(exponent + 6);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !is_json_scalar(ms)) return std::nullopt;
  return value;
}

/// Reads the elements of one large array, in order. Each kind of file has a subclass.
class Elements {
 public:
  Elements(model::RunSink& sink, model::RunInfo& info) : sink_(sink), info_(info) {}
  virtual ~Elements() = default;

  /// Reads the array at `key` and returns the JSON around it. An empty key stands for a top-level array.
  Result<json> read(ByteSource& source, const std::string& key, const ReadOptions& options) {
    JsonArrayLimits limits;
    limits.window_bytes = options.window_bytes;
    JsonArraySplitter splitter(source, key, limits);
    JsonWindow window;
    for (;;) {
      NL_TRY(const bool more, splitter.next(window));
      if (!more) break;
      if (options.cancelled()) return cancelled_error();
      options.progress(source);
      NL_CHECK(read_window(window));
    }
    if (info_.counts.seen == 0) return Error{ErrorCode::kBadInput, "the file has no records"};
    auto envelope = parse_small_json(splitter.envelope());
    if (!envelope.is_structured() || envelope.is_array() != key.empty()) {
      return Error{ErrorCode::kBadInput, "the JSON around the records is not valid",
                   "the file is truncated or of another format"};
    }
    return envelope;
  }

 protected:
  /// members_ holds the element. False if its JSON is wrong.
  virtual bool take_object() = 0;
  virtual bool take_other(std::string_view) { return drop("not_an_object"); }

  bool drop(const char* reason) {
    info_.counts.dropped[reason]++;
    return true;
  }
  bool stored() {
    info_.counts.stored++;
    return true;
  }
  /// Removes a member and returns its value; empty if there is none. What remains becomes the args of the
  /// row.
  std::string_view take(std::string_view key) {
    for (auto it = members_.begin(); it != members_.end(); ++it) {
      if (it->key != key) continue;
      const std::string_view raw = it->raw;
      members_.erase(it);
      return raw;
    }
    return {};
  }
  void put_back(std::string_view key, std::string_view raw) {
    if (!raw.empty()) members_.push_back({key, raw});
  }
  void set(TableId table, size_t row, int column, int64_t value) {
    if (value != kNull) batch_->set(table, row, column, value);
  }
  bool set_text(TableId table, size_t row, int column, std::string_view token) {
    if (token.empty()) return true;
    const int64_t text = texts_.scalar(token);
    set(table, row, column, text);
    return text != kNull;
  }
  /// The time in ns; kNull if it is missing or impossible. If digits or the whole value are lost, that is
  /// counted and the text stays in the args.
  int64_t take_ns(std::string_view key) {
    const std::string_view raw = take(key);
    int64_t ns = 0;
    const auto parsed = raw.empty() ? DecimalParse::kBad : parse_decimal(raw, 6, ns);
    constexpr int64_t kLongest = 1'000'000'000'000'000'000;
    const bool fits = parsed != DecimalParse::kBad && ns >= 0 && ns <= kLongest;
    if (!raw.empty() && !fits) info_.health["bad_time"]++;
    if (parsed == DecimalParse::kTruncated) info_.health["time_below_ns"]++;
    if (!fits || parsed == DecimalParse::kTruncated) put_back(key, raw);
    return fits ? ns : kNull;
  }
  void take_double_ns(std::string_view key, TableId table, size_t row, int column) {
    const std::string_view raw = take(key);
    if (const auto ns = raw.empty() ? std::nullopt : double_ns(raw)) {
      batch_->set_double(table, row, column, *ns);
    } else {
      put_back(key, raw);
    }
  }
  /// What is left of members_, as the row's args.
  bool set_rest(TableId table, size_t row, int column) {
    if (members_.empty()) return true;
    size_t size = 0;
    for (const JsonMember& member : members_) size += ObjectText::size_of(member);
    ObjectText object(*batch_, size);
    for (const JsonMember& member : members_) {
      if (!object.add(member, info_.health)) return false;
    }
    set(table, row, column, object.finish());
    return true;
  }

  model::RunSink& sink_;
  model::RunInfo& info_;
  BatchText texts_;
  std::shared_ptr<model::Batch> batch_;
  std::vector<JsonMember> members_;

 private:
  Result<void> read_window(JsonWindow& window) {
    batch_ = std::make_shared<model::Batch>();
    NL_TRY(JsonCursor cursor, texts_.begin(window, *batch_));
    if (!read_array(cursor, window.is_whole)) {
      const auto at = window.offset + static_cast<int64_t>(cursor.position()) - 1;
      return Error{ErrorCode::kBadInput, "the JSON is not valid near byte " + std::to_string(at)};
    }
    return sink_.push(std::move(batch_));
  }
  bool read_array(JsonCursor& cursor, bool may_be_empty) {
    if (!cursor.take('[')) return false;
    if (cursor.take(']')) return may_be_empty;
    do {
      info_.counts.seen++;
      members_.clear();
      std::string_view raw;
      if (cursor.peek() == '{' ? !read_members(cursor, members_) || !take_object()
                               : !cursor.take_value(raw) || !take_other(raw)) {
        return false;
      }
    } while (cursor.take(','));
    return cursor.take(']');
  }
};

// ---- Layer times

class Profile final : public Elements {
 public:
  using Elements::Elements;

 protected:
  bool take_object() override {
    // One element, normally the first, is {"count": N}: the number of iterations that the layer times sum up.
    if (const auto count = take("count"); !count.empty() && members_.empty() && !iterations_) {
      int64_t n = 0;
      if (!parse_int64(count, n) || n < 0) return drop("bad_count");
      iterations_ = n;
      info_.counts.folded["iteration_count"]++;
      return true;
    } else {
      put_back("count", count);
    }
    constexpr auto kTable = TableId::layer_times;
    const std::string_view name = take("name");
    if (name.empty() || name[0] != '"') return drop("no_name");
    const size_t row = batch_->add_row(kTable);
    if (!set_text(kTable, row, layer_times::name, name)) return false;
    set(kTable, row, layer_times::iterations, iterations_.value_or(kNull));
    set(kTable, row, layer_times::total_ns, take_ns("timeMs"));
    take_double_ns("averageMs", kTable, row, layer_times::average_ns);
    take_double_ns("medianMs", kTable, row, layer_times::median_ns);
    take_share(row);
    info_.records_by_category["layer_time"]++;
    return set_rest(kTable, row, layer_times::args) && stored();
  }

 private:
  void take_share(size_t row) {
    const std::string_view raw = take("percentage");
    double value = 0;
    const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
    if (error == std::errc{} && end == raw.data() + raw.size() && is_json_scalar(raw)) {
      batch_->set_double(TableId::layer_times, row, layer_times::share_pct, value);
    } else {
      put_back("percentage", raw);
    }
  }

  std::optional<int64_t> iterations_;
};

// ---- Inferences

enum Track : int64_t { kHostTrack, kDeviceTrack };

class Times final : public Elements {
 public:
  using Elements::Elements;

  Result<void> finish() {
    info_.windows_seen = info_.counts.stored;
    model::Clock clock;
    clock.kind = "relative";
    clock.resolution_ns = resolution_ns();
    info_.clocks.push_back(clock);
    auto batch = std::make_shared<model::Batch>();
    for (const auto& [kind, name] : {std::pair{"thread", "enqueue"}, std::pair{"stream", "inference"}}) {
      const size_t row = batch->add_row(TableId::tracks);
      batch->set_text(TableId::tracks, row, tracks::kind, kind);
      batch->set_text(TableId::tracks, row, tracks::thread_name, name);
      batch->set(TableId::tracks, row, tracks::clock_id, 0);
    }
    return sink_.push(std::move(batch));
  }

 protected:
  bool take_object() override {
    const int64_t start = take_start("startH2dMs");
    const int64_t latency = take_ns("latencyMs");
    const int64_t compute = take_start("startComputeMs");
    const int64_t compute_ns = take_ns("computeMs");
    if (start == kNull || latency == kNull || compute == kNull || compute_ns == kNull) {
      return drop("incomplete_record");
    }
    if (batch_->track_ids.empty()) batch_->track_ids = {kHostTrack, kDeviceTrack};
    const size_t inference = add_span("inference", model::SpanKind::device_annotation, start, latency);
    add_span("compute", model::SpanKind::device, compute, compute_ns);
    add_enqueue();
    add_copy("H2D", start, take_ns("h2dMs"));
    add_copy("D2H", take_start("startD2hMs"), take_ns("d2hMs"));
    // The ends are left out: start + duration is more precise.
    for (const char* end : {"endH2dMs", "endComputeMs", "endD2hMs"}) take(end);
    info_.records_by_category["inference"]++;
    return set_rest(TableId::spans, inference, spans::args) && stored();
  }

 private:
  int64_t take_start(std::string_view key) {
    const int64_t ns = take_ns(key);
    if (ns != kNull) last_start_ns_ = std::max(last_start_ns_, ns);
    return ns;
  }
  size_t add_span(const char* name, model::SpanKind kind, int64_t start, int64_t duration) {
    constexpr auto kTable = TableId::spans;
    const size_t row = batch_->add_row(kTable);
    const bool host = kind == model::SpanKind::runtime;
    set(kTable, row, spans::track_id, host ? kHostTrack : kDeviceTrack);
    set(kTable, row, spans::name, constant(name));
    set(kTable, row, spans::kind, static_cast<int64_t>(kind));
    set(kTable, row, spans::start_ns, start);
    set(kTable, row, spans::dur_ns, duration);
    return row;
  }
  void add_enqueue() {
    const int64_t start = take_start("startEnqMs");
    const int64_t end = take_ns("endEnqMs");
    if (start == kNull) return;
    add_span("enqueue", model::SpanKind::runtime, start, end == kNull || end < start ? kNull : end - start);
  }
  /// Transfers are usually switched off. trtexec then writes a duration of 0, and there was no copy.
  void add_copy(const char* name, int64_t start, int64_t duration) {
    constexpr auto kTable = TableId::copies;
    if (start == kNull || duration == kNull || duration == 0) return;
    const size_t row = batch_->add_row(kTable);
    set(kTable, row, copies::track_id, kDeviceTrack);
    set(kTable, row, copies::name, constant(name));
    set(kTable, row, copies::kind, constant("memcpy"));
    set(kTable, row, copies::start_ns, start);
    set(kTable, row, copies::dur_ns, duration);
  }
  int64_t constant(const char* text) {
    return texts_.keyed(text, [&] { return batch_->add_string(text); });
  }
  /// The step of the sixth digit at the latest time: that is how coarse absolute times are.
  int64_t resolution_ns() const {
    int64_t step = 1;
    while (step <= last_start_ns_ / 1'000'000) step *= 10;
    return step;
  }

  int64_t last_start_ns_ = 0;
};

// ---- Layers

/// Shapes and types of a layer's inputs or outputs.
void set_tensors(model::Batch& batch, size_t row, std::string_view raw, int shapes_column, int types_column) {
  constexpr size_t kMaxParsedBytes = 1 << 20;  // a tree takes 30 times its text; the args keep it all
  const json tensors = raw.empty() || raw.size() > kMaxParsedBytes ? json() : parse_small_json(raw);
  if (!tensors.is_array()) return;
  json shapes = json::array();
  json types = json::array();
  for (const auto& tensor : tensors) {
    const bool object = tensor.is_object();
    shapes.push_back(object ? tensor.value("Dimensions", json()) : json());
    types.push_back(object ? tensor.value("Format/Datatype", json()) : json());
  }
  const auto text = [](const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); };
  batch.set_text(TableId::layers, row, shapes_column, text(shapes));
  batch.set_text(TableId::layers, row, types_column, text(types));
}

class Layers final : public Elements {
 public:
  using Elements::Elements;

 protected:
  bool take_object() override {
    const std::string_view name = take("Name");
    if (name.empty() || name[0] != '"') return drop("no_name");
    const size_t row = batch_->add_row(TableId::layers);
    if (!set_text(TableId::layers, row, layers::name, name)) return false;
    for (const auto& [key, column] :
         {std::pair{"LayerType", int{layers::layer_type}}, std::pair{"TacticName", int{layers::tactic}}}) {
      const std::string_view raw = take(key);
      if (!raw.empty() && raw[0] != '"') {
        put_back(key, raw);
      } else if (!set_text(TableId::layers, row, column, raw)) {
        return false;
      }
    }
    for (const JsonMember& member : members_) {  // the tensors with their names stay in the args, too
      if (member.key == "Inputs") set_tensors(*batch_, row, member.raw, layers::shapes, layers::dtypes);
      if (member.key == "Outputs")
        set_tensors(*batch_, row, member.raw, layers::output_shapes, layers::output_dtypes);
    }
    info_.records_by_category["layer"]++;
    return set_rest(TableId::layers, row, layers::args) && stored();
  }
  bool take_other(std::string_view raw) override {
    if (raw[0] != '"') return drop("not_a_layer");
    const size_t row = batch_->add_row(TableId::layers);
    info_.records_by_category["layer"]++;
    return set_text(TableId::layers, row, layers::name, raw) && stored();
  }
};

// ---- Metadata

std::optional<int64_t> integer(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number()) return std::nullopt;
  if (it->is_number_integer()) return whole_number(object, key);
  const double value = it->get<double>();
  if (!(value >= 0 && value < 1e15)) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::string version_text(const json& numbers) {
  std::string text;
  for (const auto& n : numbers) {
    if (n.is_number_integer()) text += (text.empty() ? "" : ".") + n.dump();
  }
  return text;
}

model::Device nvidia(const json& properties, const char* name_key) {
  model::Device device;
  device.vendor = "NVIDIA";
  device.active = true;
  if (properties.contains(name_key) && properties[name_key].is_string()) device.name = properties[name_key];
  return device;
}

/// Properties of the devices as CUDA lists them.
Result<void> read_device(ByteSource& source, model::RunInfo& info) {
  NL_TRY(const json list, read_small_json(source));
  if (!list.is_array() || list.empty()) return Error{ErrorCode::kBadInput, "the file lists no device"};
  for (const auto& properties : list) {
    info.counts.seen++;
    if (!properties.is_object()) {
      info.counts.dropped["not_an_object"]++;
      continue;
    }
    info.counts.folded["device_properties"]++;
    model::Device device = nvidia(properties, "Name");
    device.device = static_cast<int32_t>(info.devices.size());
    device.memory_bytes = integer(properties, "TotalMemory");
    device.multiprocessors = integer(properties, "MULTIPROCESSOR_COUNT");
    if (properties.contains("ComputeCapability"))
      device.compute_capability = version_text(properties["ComputeCapability"]);
    if (properties.contains("CUDA_VERSION"))
      info.versions["cuda_runtime_version"] = version_text(properties["CUDA_VERSION"]);
    if (info.devices.size() < 4096) info.devices.push_back(device);
  }
  info.records_by_category["device"] = info.counts.seen;
  info.extensions["trtexec"]["device_properties"] = kept_json(list);
  return {};
}

/// What trt-engine-explorer took from trtexec's log.
Result<void> read_summary(ByteSource& source, model::RunInfo& info) {
  NL_TRY(const json summary, read_small_json(source));
  if (!summary.is_object()) return Error{ErrorCode::kBadInput, "the summary is not an object"};
  for (const auto& [key, value] : summary.items()) {
    info.counts.seen++;
    const bool known =
        key == "performance_summary" || key == "inference_options" || key == "device_information";
    if (!known) {
      info.counts.dropped["unknown_member"]++;
      continue;
    }
    info.counts.folded["metadata"]++;
    info.extensions["trtexec"][key] = kept_json(value);
  }
  if (const auto it = summary.find("device_information"); it != summary.end() && it->is_object()) {
    model::Device device = nvidia(*it, "Selected Device");
    device.multiprocessors = integer(*it, "SMs");
    if (!device.name.empty()) info.devices.push_back(device);
  }
  info.records_by_category["summary"] = info.counts.seen;
  return {};
}

// ---- Which file it is

Sniffed sniff(std::string_view head, std::string_view) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  const auto has = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  if (head[first] == '[') {
    if (has("\"startEnqMs\"") || (has("\"computeMs\"") && has("\"latencyMs\""))) return {0.9, kTimes};
    if (has("\"timeMs\"") && has("\"averageMs\"")) return {0.9, kProfile};
    if (has("\"ComputeCapability\"") && has("\"MULTIPROCESSOR_COUNT\"")) return {0.8, kDevice};
  } else if (head[first] == '{') {
    if (has("\"Layers\"")) return {has("\"Bindings\"") || has("\"LayerType\"") ? 0.8 : 0.5, kLayers};
    if (has("\"performance_summary\"")) return {0.8, kSummary};
  }
  return {};
}

Result<void> read_layers(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                         model::RunInfo& info) {
  NL_TRY(const json envelope, Layers(sink, info).read(source, "Layers", options));
  if (envelope.contains("Bindings")) info.extensions["trtexec"]["bindings"] = kept_json(envelope["Bindings"]);
  if (!envelope.value("Layers", json()).empty())
    return Error{ErrorCode::kBadInput, "the JSON has two \"Layers\""};
  return {};
}

Result<void> read(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                  model::RunInfo& info) {
  info.backend = "tensorrt";
  info.tool = "trtexec";
  if (options.role == kDevice) return read_device(source, info);
  if (options.role == kSummary) return read_summary(source, info);
  if (options.role == kLayers) return read_layers(source, options, sink, info);
  if (options.role == kTimes) {
    Times times(sink, info);
    NL_CHECK(times.read(source, "", options));
    return times.finish();
  }
  NL_CHECK(Profile(sink, info).read(source, "", options));
  return {};
}

constexpr std::string_view kPartWords[] = {"profile", "profiling", "timing",   "timings",
                                           "times",   "graph",     "layer",    "layers",
                                           "info",    "layerinfo", "metadata", "engine"};

}  // namespace

const Adapter& adapter() {
  static constexpr Adapter kAdapter{
      "trtexec", 1,   "TensorRT: trtexec profile, times and layer info (.json)", kProfile, kPartWords,
      sniff,     read};
  return kAdapter;
}

}  // namespace nl::ingest::trtexec_adapter
