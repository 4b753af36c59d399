// OpenTelemetry traces as OTLP/JSON, one TracesData a line: the form that the specification gives for files.
// The collector's otlp_json_file receiver and Jaeger's upload read it, and a line is a body for POST
// /v1/traces as it stands. The collector has no receiver for files of protobuf, so that form is not written.
//
// Spans keep the parents of span_tree; device work is below the call that launched it; all of it is one trace
// below one span for the run. Requests of a serving benchmark are traces of their own, with the attributes of
// the GenAI conventions. Ids follow from the run and the row alone, so that the same run gives the same
// bytes.

#include <array>
#include <charconv>
#include <map>
#include <string>
#include <vector>

#include "base/call_control.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "exports/exporter.h"
#include "exports/stacks/frame_names.h"
#include "exports/stacks/stack_rows.h"
#include "exports/window_cut.h"

namespace nl::exports::otlp_exporter {
namespace {

/// The receiver of the collector refuses lines from 1 MiB on, unless it is told otherwise.
constexpr size_t kOtlpLine = 256 << 10;
constexpr size_t kOtlpText = 32 << 10;

enum class OtlpKind { kInternal = 1, kClient = 3 };

std::string hex_of(uint64_t number) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; number >>= 4) text[i] = "0123456789abcdef"[number & 15];
  return text;
}

/// Ids of one run. Each row gets another number, which is then mixed by a function that maps no two numbers
/// to the same: so no two spans of a run ever share an id, which a shortened hash could not promise.
class OtlpIds {
 public:
  enum Table : uint64_t { kRun = 0, kSpans = 1, kKernels = 2, kCopies = 3, kRequests = 4, kTables = 8 };

  explicit OtlpIds(const std::string& run_id)
      : run_id_(run_id), trace_(sha256_hex("neurolens trace " + run_id).substr(0, 32)) {
    const std::string digits = sha256_hex("neurolens spans " + run_id);
    std::from_chars(digits.data(), digits.data() + 16, key_, 16);
  }

  const std::string& trace() const { return trace_; }
  std::string trace_of_request(int64_t row) const {
    return sha256_hex("neurolens request " + run_id_ + " " + std::to_string(row)).substr(0, 32);
  }
  std::string span(Table table, int64_t row) const {
    const uint64_t id = mixed(key_ ^ (static_cast<uint64_t>(row) * kTables + table));
    return hex_of(id == 0 ? mixed(key_ ^ (kTables - 1)) : id);  // 0 means none; no row has this number
  }

 private:
  static uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ x >> 27) * 0x94D049BB133111EBULL;
    return x ^ x >> 31;
  }

  const std::string run_id_;
  const std::string trace_;
  uint64_t key_ = 0;
};

/// JSON of one span or resource, member by member.
class OtlpJson {
 public:
  explicit OtlpJson(std::string& out, int64_t& cut) : out_(out), cut_(cut) {}

  void text(std::string_view value) {
    if (is_plain_line(value)) {
      quoted(shortened(value));
    } else {
      quoted(shortened(safe_line(value)));
    }
  }
  void begin_attributes() {
    out_ += R"("attributes":[)";
    first_ = true;
  }
  void attribute(std::string_view key, std::string_view value) {
    begin_attribute(key);
    out_ += R"("stringValue":)";
    text(value);
    out_ += "}}";
  }
  void attribute(std::string_view key, int64_t value) {
    begin_attribute(key);
    out_.append(R"("intValue":")").append(std::to_string(value)).append("\"}}");
  }
  void attribute(std::string_view key, double value) {
    begin_attribute(key);
    out_.append(R"("doubleValue":)").append(nlohmann::json(value).dump()).append("}}");
  }
  void end_attributes() { out_ += ']'; }

 private:
  void begin_attribute(std::string_view key) {
    if (!first_) out_ += ',';
    first_ = false;
    out_.append(R"({"key":")").append(key).append(R"(","value":{)");
  }
  void quoted(std::string_view value) {
    out_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') out_ += '\\';
      out_ += c;
    }
    out_ += '"';
  }
  std::string_view shortened(std::string_view value) {
    if (value.size() <= kOtlpText) return value;
    cut_++;
    size_t end = kOtlpText;
    while (end > 0 && is_continuation(value[end])) end--;
    return value.substr(0, end);
  }

  std::string& out_;
  int64_t& cut_;
  bool first_ = true;
};

struct OtlpSpan {
  std::string trace_id;
  std::string span_id;
  std::string parent_id;  ///< empty: none
  std::string_view name;
  OtlpKind kind;
  int64_t start_ns;
  int64_t end_ns;
};

/// Lines of spans, which are gathered by the resource that they belong to.
class OtlpLines {
 public:
  explicit OtlpLines(const ExportCall& call) : call_(call) {}

  /// `fill` writes attributes, and what else the span has.
  template <class Fill>
  Result<void> add(const std::string& resource, const OtlpSpan& span, Fill&& fill) {
    std::string& spans = spans_[resource];
    const size_t before = spans.size();
    if (!spans.empty()) spans += ',';
    spans.append(R"({"traceId":")").append(span.trace_id).append(R"(","spanId":")").append(span.span_id);
    if (!span.parent_id.empty()) spans.append(R"(","parentSpanId":")").append(span.parent_id);
    spans.append(R"(","name":)");
    OtlpJson json(spans, cut_);
    json.text(span.name.empty() ? "(no name)" : span.name);
    spans.append(R"(,"kind":)").append(std::to_string(static_cast<int>(span.kind)));
    spans.append(R"(,"startTimeUnixNano":")").append(std::to_string(span.start_ns));
    spans.append(R"(","endTimeUnixNano":")").append(std::to_string(span.end_ns)).append("\",");
    json.begin_attributes();
    fill(json);
    json.end_attributes();
    spans += '}';
    bytes_ += spans.size() - before;
    return bytes_ < kOtlpLine ? Result<void>() : flush();
  }

  Result<void> flush() {
    if (bytes_ == 0) return {};
    std::string line = R"({"resourceSpans":[)";
    for (const auto& [resource, spans] : spans_) {
      if (line.back() != '[') line += ',';
      line.append(R"({"resource":{)")
          .append(resource)
          .append(R"(},"scopeSpans":[{"scope":{"name":"neurolens"},)");
      line.append(R"("spans":[)").append(spans).append("]}]}");
    }
    spans_.clear();
    bytes_ = 0;
    return call_.write(line + "]}\n");
  }

  int64_t& cut() { return cut_; }

 private:
  const ExportCall& call_;
  std::map<std::string, std::string> spans_;  // by the JSON of their resource
  size_t bytes_ = 0;
  int64_t cut_ = 0;
};

constexpr char kOtlpSpans[] = R"(
  SELECT span_id, coalesce(track_id, -1)::INTEGER, start_ns, dur_ns, coalesce(name, ''), coalesce(kind, ''),
         coalesce(category, ''), shapes, dtypes, parent_id
  FROM (SELECT * FROM spans) POSITIONAL JOIN (SELECT parent_id FROM span_tree)
  WHERE start_ns IS NOT NULL AND dur_ns >= 0)";

constexpr char kOtlpRequests[] = R"(
  SELECT request_id, coalesce(name, ''), start_ns, dur_ns, first_token_ns, input_tokens, output_tokens
  FROM requests WHERE start_ns IS NOT NULL AND dur_ns >= 0)";

class OtlpFile {
 public:
  explicit OtlpFile(const ExportCall& call)
      : call_(call),
        window_(call.window),
        run_id_(call.run.document().value("run_id", "")),
        ids_(run_id_),
        is_unix_(is_unix_time(call.run)),
        lines_(call) {}

  Result<ExportReport> write() {
    NL_TRY(tracks_, TrackNames::read(call_.run));
    NL_CHECK(write_run());
    NL_CHECK(write_spans());
    NL_CHECK(write_work("kernels", OtlpIds::kKernels));
    NL_CHECK(write_work("copies", OtlpIds::kCopies));
    NL_CHECK(write_requests());
    NL_CHECK(lines_.flush());
    return finish_report();
  }

 private:
  /// Whether a row can be written: it touches the window, and the format knows its time.
  bool takes(int64_t start_ns, int64_t end_ns) {
    if (!window_.touches(start_ns, end_ns)) return false;
    if (start_ns < 0) before_1970_++;
    return start_ns >= 0;
  }

  /// What all spans of one process or device share.
  template <class Fill>
  std::string resource_of(Fill&& fill) {
    std::string out;
    OtlpJson json(out, lines_.cut());
    json.begin_attributes();
    json.attribute("service.name", "neurolens");
    json.attribute("neurolens.run_id", run_id_);
    json.attribute("neurolens.clock",
                   is_unix_ ? "unix" : "not unix: times count from the start of the source");
    fill(json);
    json.end_attributes();
    return out;
  }

  /// Of a thread, made once.
  const std::string& host_resource(int32_t track) {
    const auto [it, is_new] = host_resources_.try_emplace(track);
    if (is_new) {
      it->second = resource_of([&](OtlpJson& json) {
        if (const auto process = tracks_.process(track)) json.attribute("process.pid", *process);
        if (const auto rank = tracks_.rank(track)) json.attribute("neurolens.rank", int64_t{*rank});
      });
    }
    return it->second;
  }

  const std::string& device_resource(const DeviceWork& work) {
    const auto [it, is_new] = device_resources_.try_emplace({work.track_id, work.device.value_or(-1)});
    if (is_new) {
      it->second = resource_of([&](OtlpJson& json) {
        if (work.device) json.attribute("neurolens.device", int64_t{*work.device});
        if (const auto rank = tracks_.rank(work.track_id)) json.attribute("neurolens.rank", int64_t{*rank});
      });
    }
    return it->second;
  }

  /// The span around all others but the requests.
  Result<void> write_run() {
    const auto& run = call_.run;
    if (!run.has("spans") && !run.has("kernels") && !run.has("copies")) return {};
    NL_TRY(const auto range, time_range(call_));
    if (!range || range->begin_ns < 0) return {};
    root_ = ids_.span(OtlpIds::kRun, 0);
    const std::string name = "run " + run_id_.substr(0, 12);
    return lines_.add(host_resource(-1),
                      {ids_.trace(), root_, "", name, OtlpKind::kInternal, range->begin_ns, range->end_ns},
                      [](OtlpJson&) {});
  }

  std::string parent(int64_t span) const { return span < 0 ? root_ : ids_.span(OtlpIds::kSpans, span); }

  Result<void> write_spans() {
    if (!call_.run.has("spans")) return {};
    NL_TRY(store::Connection * connection, call_.run.ask({"spans", "span_tree"}));
    NL_CHECK(count_untimed(call_, *connection, "spans", report_));
    return connection->stream(kOtlpSpans, [&](const store::Chunk& chunk) -> Result<void> {
      NL_CHECK(check_cancelled());
      for (size_t row = 0; row < chunk.size(); row++) NL_CHECK(write_span(chunk, row));
      return {};
    });
  }

  Result<void> write_span(const store::Chunk& chunk, size_t row) {
    const int32_t track = chunk.int32s(1)[row];
    const int64_t start = chunk.int64s(2)[row];
    const int64_t end = start + chunk.int64s(3)[row];
    if (!takes(start, end)) return {};
    spans_++;
    const int64_t above = chunk.is_null(9, row) ? kNoSpan : chunk.int64s(9)[row];
    return lines_.add(host_resource(track),
                      {ids_.trace(), ids_.span(OtlpIds::kSpans, chunk.int64s(0)[row]), parent(above),
                       chunk.text(4, row), OtlpKind::kInternal, start, end},
                      [&](OtlpJson& json) {
                        json.attribute("neurolens.kind", chunk.text(5, row));
                        if (!chunk.text(6, row).empty())
                          json.attribute("neurolens.category", chunk.text(6, row));
                        if (const auto id = tracks_.thread(track)) json.attribute("thread.id", *id);
                        json.attribute("thread.name", tracks_.track(track));
                        if (!chunk.is_null(7, row)) json.attribute("neurolens.shapes", chunk.text(7, row));
                        if (!chunk.is_null(8, row)) json.attribute("neurolens.dtypes", chunk.text(8, row));
                      });
  }

  Result<void> write_work(const std::string& table, OtlpIds::Table ids) {
    int64_t written = 0;
    const std::string_view kind = ids == OtlpIds::kKernels ? "kernel" : "copy";
    NL_CHECK(for_device_work(
        call_, table,
        [&](const DeviceWork& work) -> Result<void> {
          if (!takes(work.start_ns, work.end_ns)) return {};
          written++;
          return lines_.add(device_resource(work),
                            {ids_.trace(), ids_.span(ids, work.row), parent(work.launched_by), work.name,
                             OtlpKind::kInternal, work.start_ns, work.end_ns},
                            [&](OtlpJson& json) {
                              json.attribute("neurolens.kind", kind);
                              if (work.stream) json.attribute("neurolens.stream", *work.stream);
                            });
        },
        report_));
    if (written > 0) report_.written[table] = written;
    return {};
  }

  // ---- Requests

  Result<void> write_requests() {
    if (!call_.run.has("requests")) return {};
    NL_TRY(store::Connection * connection, call_.run.ask({"requests"}));
    NL_CHECK(count_untimed(call_, *connection, "requests", report_));
    const auto& document = call_.run.document();
    if (document.contains("labels")) model_ = document["labels"].value("model", "");
    return connection->stream(kOtlpRequests, [&](const store::Chunk& chunk) -> Result<void> {
      NL_CHECK(check_cancelled());
      for (size_t row = 0; row < chunk.size(); row++) NL_CHECK(write_request(chunk, row));
      return {};
    });
  }

  /// The name is as the conventions want it: operation and model.
  Result<void> write_request(const store::Chunk& chunk, size_t row) {
    const int64_t id = chunk.int64s(0)[row];
    const int64_t start = chunk.int64s(2)[row];
    const int64_t end = start + chunk.int64s(3)[row];
    if (!takes(start, end)) return {};
    requests_++;
    const std::string name = model_.empty() ? "text_completion" : "text_completion " + model_;
    return lines_.add(host_resource(-1),
                      {ids_.trace_of_request(id), ids_.span(OtlpIds::kRequests, id), "", name,
                       OtlpKind::kClient, start, end},
                      [&](OtlpJson& json) { request_attributes(json, chunk, row); });
  }

  void request_attributes(OtlpJson& json, const store::Chunk& chunk, size_t row) const {
    json.attribute("gen_ai.operation.name", "text_completion");
    if (!model_.empty()) json.attribute("gen_ai.request.model", model_);
    if (!chunk.text(1, row).empty()) json.attribute("neurolens.request", chunk.text(1, row));
    if (!chunk.is_null(5, row)) json.attribute("gen_ai.usage.input_tokens", chunk.int64s(5)[row]);
    if (!chunk.is_null(6, row)) json.attribute("gen_ai.usage.output_tokens", chunk.int64s(6)[row]);
    if (chunk.is_null(4, row)) return;
    const int64_t first_ns = chunk.int64s(4)[row];
    json.attribute("gen_ai.response.time_to_first_chunk", static_cast<double>(first_ns) / 1e9);
    json.attribute("neurolens.time_to_first_token_ns", first_ns);
  }

  Result<ExportReport> finish_report() {
    if (spans_ > 0) report_.written["spans"] = spans_;
    if (requests_ > 0) report_.written["requests"] = requests_;
    int64_t rows = 0;
    for (const auto& [table, count] : report_.written) rows += count;
    count_lost(report_, "Unix times, since the source does not say when it began", is_unix_ ? 0 : rows);
    count_lost(report_, "rows before 1970", before_1970_);
    count_lost(report_, "ends of texts longer than 32 KiB", lines_.cut());
    NL_CHECK(count_tables_left_out(call_, {"spans", "kernels", "copies", "requests"}, report_));
    return std::move(report_);
  }

  const ExportCall& call_;
  const WindowCut window_;
  const std::string run_id_;
  const OtlpIds ids_;
  const bool is_unix_;
  OtlpLines lines_;
  TrackNames tracks_;
  ExportReport report_;
  std::string root_;   ///< id of the span for the run; empty: there is none
  std::string model_;  ///< of the requests, if the run says so
  std::map<int32_t, std::string> host_resources_;
  std::map<std::pair<int32_t, int32_t>, std::string> device_resources_;
  int64_t spans_ = 0, requests_ = 0, before_1970_ = 0;
};

Result<ExportReport> write_otlp(const ExportCall& call) {
  return OtlpFile(call).write();
}

}  // namespace

const Exporter& exporter() {
  static constexpr Exporter kOtlp{"otlp", "the OpenTelemetry Collector (otlp_json_file), Jaeger: upload",
                                  write_otlp};
  return kOtlp;
}

}  // namespace nl::exports::otlp_exporter
