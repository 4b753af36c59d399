// Chrome traces ("Trace Event Format") of any other writer: begin/end pairs, async events, counters,
// instants, flows; times in decimal microseconds, as numbers or strings. Nothing is known of their
// categories.

#include "base/json.h"
#include "ingest/formats/chrome/chrome_trace.h"

namespace nl::ingest::chrome_adapter {
namespace {

EventClass class_of(std::string_view) {
  return EventClass::kOther;
}

EventClass refine(EventClass c, TraceEvent&) {
  return c;
}

const char* window_kind(EventClass, std::string_view) {
  return nullptr;
}

/// Names of the members only: what they hold may be anything, secrets included.
void describe(const nlohmann::json& envelope, const ChromeFacts& facts, model::RunInfo& info) {
  info.clocks.push_back(chrome_clock(facts));
  nlohmann::json left_out = nlohmann::json::array();
  for (const auto& [key, value] : envelope.items()) {
    if (key == "traceEvents" || left_out.size() == 1000) continue;
    if (key == "displayTimeUnit" && value.is_string()) {
      info.extensions["chrome"]["displayTimeUnit"] = value;
    } else {
      left_out.push_back(key);
    }
  }
  if (!left_out.empty()) info.extensions["chrome"]["left_out_keys"] = left_out;
}

constexpr ChromeDialect kDialect{.args = {},
                                 .class_of = class_of,
                                 .refine = refine,
                                 .window_kind = window_kind,
                                 .describe = describe,
                                 .may_be_array = true,
                                 .process_is_device = false,
                                 .ops_own_next_kernels = false};

/// Only what no adapter of a known writer claims.
Sniffed sniff(std::string_view head, std::string_view) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  const auto has = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  if (head[first] == '{') return {has("\"traceEvents\"") ? 0.3 : 0};
  return {head[first] == '[' && has("\"ph\"") && has("\"ts\"") ? 0.3 : 0};
}

Result<void> read(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                  model::RunInfo& info) {
  return read_chrome_trace(kDialect, source, options, sink, info);
}

}  // namespace

const Adapter& adapter() {
  static constexpr Adapter kAdapter{
      "chrome", 1, "Chrome trace of any writer (.json, .json.gz)", "trace", {}, sniff, read};
  return kAdapter;
}

}  // namespace nl::ingest::chrome_adapter
