// Nsight Compute, 2020 to 2025: the details page as CSV (a row a metric) or text, and the raw page as CSV (a
// row a launch). Counters of single launches that were replayed; there is no time line. Reports (.ncu-rep)
// need Nsight Compute itself.

#include <algorithm>

#include "ingest/adapter.h"
#include "ingest/formats/ncu/ncu_tables.h"
#include "ingest/formats/ncu/ncu_text.h"
#include "ingest/source/csv_reader.h"

namespace nl::ingest::ncu_adapter {
namespace {

constexpr std::string_view kCounters = "counters";
constexpr char kExport[] = "export it with: ncu --import REPORT --csv --page raw --print-units base";

/// The text of the first line that looks like a header.
std::string_view header_in(std::string_view text) {
  text = without_byte_order_mark(text);
  for (;;) {
    const size_t end = text.find('\n');
    if (starts_ncu_header(text)) return text.substr(0, end);
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_report(std::string_view head) {
  return head.starts_with(std::string_view("NVR\0", 4));
}

Sniffed sniff(std::string_view head, std::string_view) {
  if (is_report(head)) return {0.9};
  const std::string_view header = header_in(head);
  if (has(header, "Kernel Name") && (has(header, "Metric Name") || has(header, "Process ID"))) return {0.95};
  if (has_ncu_text(head)) return {0.9};
  const bool messages = has(head, "==PROF== ") || has(head, "==ERROR== ") || has(head, "==WARNING== ");
  return {messages ? 0.3 : 0};
}

class NoSink final : public model::RunSink {
 public:
  Result<void> push(std::shared_ptr<model::Batch>) override { return {}; }
};

Result<void> read_pages(ByteSource& source, const ReadOptions& options, NcuLaunches& launches,
                        model::RunInfo& info) {
  const bool is_text = header_in(source.head()).empty() && has_ncu_text(source.head());
  CsvReader reader(source, {.chunk_bytes = options.window_bytes});
  NL_CHECK(is_text ? read_ncu_text(reader, options, source, launches, info)
                   : read_ncu_tables(reader, options, source, launches, info));
  if (!reader.was_ended()) info.health["no_line_end"] = 1;
  return {};
}

/// The decimal sign by the numbers in the first part of the text.
DecimalSign decimal_sign(std::string_view head, model::RunInfo& info) {
  NumberEvidence evidence;
  NoSink sink;
  model::RunInfo unused;
  NcuLaunches launches(sink, unused, DecimalSign::kUnknown, &evidence);
  if (auto source = open_memory(head)) {
    const auto read = read_pages(**source, {}, launches, unused);  // the head may end anywhere
    static_cast<void>(read);
  }
  if (evidence.contradicts()) info.health["mixed_decimal_signs"] = 1;
  if (evidence.sign() == DecimalSign::kComma) info.health["decimal_comma"] = 1;
  return evidence.sign();
}

/// What the profiler itself says went wrong, e.g. that it saw no kernel; empty if nothing.
std::string first_message(std::string_view head) {
  constexpr size_t kMostBytes = 200;
  for (const std::string_view mark : {"==ERROR== ", "==WARNING== "}) {
    const size_t at = head.find(mark);
    if (at == std::string_view::npos) continue;
    const std::string_view line = head.substr(at + mark.size(), kMostBytes);
    std::string text = repaired_utf8(line.substr(0, line.find_first_of("\r\n")));
    std::replace_if(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
    return text;
  }
  return {};
}

Result<void> read(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                  model::RunInfo& info) {
  if (is_report(source.head()))
    return Error{ErrorCode::kUnsupported, "only Nsight Compute itself can read its report", kExport};
  const std::string said = first_message(source.head());
  NcuLaunches launches(sink, info, decimal_sign(source.head(), info));
  NL_CHECK(read_pages(source, options, launches, info));
  auto finished = launches.finish();
  if (!finished && !said.empty()) finished.error().message += "; the profiler says: " + said;
  return finished;
}

}  // namespace

const Adapter& adapter() {
  static constexpr Adapter kAdapter{
      "ncu", 1,   "Nsight Compute: counters of launches, raw or details page (.csv, .txt)", kCounters, {},
      sniff, read};
  return kAdapter;
}

}  // namespace nl::ingest::ncu_adapter
