#include "ops/advice/verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/number_text.h"
#include "ops/text/text.h"
#include "report/device_label.h"

namespace nl::ops {
namespace {

using analyze::Analysis;

constexpr char kRequests[] = R"(
  SELECT count(*)::BIGINT, quantile_disc(dur_ns, 0.5)::BIGINT,
         CASE WHEN count(dur_ns) >= 100 THEN quantile_disc(dur_ns, 0.99) END::BIGINT,
         quantile_disc(first_token_ns, 0.5)::BIGINT, try_cast(sum(output_tokens) AS BIGINT)
  FROM requests)";

std::optional<int64_t> cell(const store::Chunk& chunk, size_t column) {
  return chunk.is_null(column, 0) ? std::nullopt : std::optional(chunk.int64s(column)[0]);
}

Result<std::optional<RequestTimes>> request_times(store::OpenRun& run) {
  std::optional<RequestTimes> times;
  if (!run.has("requests")) return times;
  NL_TRY(store::Connection* const connection, run.ask({"requests"}));
  NL_CHECK(connection->stream(kRequests, [&](const store::Chunk& chunk) -> Result<void> {
    if (chunk.size() > 0 && cell(chunk, 0).value_or(0) > 0)
      times = {chunk.int64s(0)[0], cell(chunk, 1), cell(chunk, 2), cell(chunk, 3), cell(chunk, 4)};
    return {};
  }));
  return times;
}

int64_t rows_of_table(const store::OpenRun& run, const std::string& table) {
  const auto found = run.files().tables.find(table);
  return found == run.files().tables.end() ? 0 : found->second;
}

/// The words of a job name its ranks already.
std::string limiter_words(const Analysis& data, const analyze::LimiterAnswer& limiter, bool is_job) {
  const std::string on = data.devices.size() > 1 && !is_job ? " on " + report::device_title(limiter.on) : "";
  return fmt::format("limited by {}, {} of the window{}: {}", limiter.what, percent_text(limiter.share), on,
                     limiter.words);
}

std::string largest_part(const TimeParts& parts) {
  const TimePart& most = parts.rows.front();
  return fmt::format("{} takes {} of {}", quoted_name(most.what), percent_text(most.share),
                     duration_text(*parts.whole_ns));
}

std::string layers_words(const Analysis& data) {
  const std::string of = data.limiters.empty() ? "layers of the engine" : data.limiters.front().words;
  return "there is no time line, only times of " + of;
}

std::string counters_words(const analyze::CountersAnswer& counters, const TimeParts& parts) {
  std::string text = fmt::format("counters of {}, not a run",
                                 counted(counters.launches, "replayed launch", "replayed launches"));
  if (parts.rows.empty()) return text + ": their durations are not in the file";
  text += ": " + largest_part(parts);
  const analyze::CountedKernel& first = counters.kernels.front();
  return first.bound ? text + ", bound by " + *first.bound : text;
}

std::string requests_words(const RequestTimes& times) {
  std::string text = "a serving benchmark of " + counted(times.count, "request");
  if (times.p50_ns) text += ": median " + duration_text(*times.p50_ns);
  if (times.p99_ns) text += ", 99th percentile " + duration_text(*times.p99_ns);
  if (times.first_token_p50_ns) text += ", first token after " + duration_text(*times.first_token_p50_ns);
  return text + "; it does not show the device, so it cannot tell what limits it";
}

std::string samples_words(const TimeParts& parts) {
  return "samples of the processors: " + largest_part(parts) + "; no device work was recorded";
}

std::string sums_words(const SummedReport& sums) {
  return fmt::format("only sums of {}: {}; without a time line nothing tells what limits the run",
                     quoted_name(sums.report), largest_part(sums.parts));
}

/// The first sentence of a remark, to go on with behind a colon.
std::string clause(std::string text) {
  text.erase(std::min(text.find(". "), text.size()));
  if (text.ends_with('.')) text.pop_back();
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0)
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

/// Of a file without a verdict: what it holds instead.
std::string held_words(const Analysis& data, const TimeParts& parts, const OtherRecords& others) {
  if (data.devices.empty() && data.layers)
    return data.layers->total_ns > 0 ? layers_words(data)
                                     : fmt::format(
                                           "{} of an engine without their times: the file cannot tell "
                                           "what limits the run",
                                           counted(data.layers->count, "layer"));
  if (data.devices.empty() && data.counters) return counters_words(*data.counters, parts);
  if (parts.of == WholeKind::kSamples) return samples_words(parts);
  if (data.devices.empty() && others.sums) return sums_words(*others.sums);
  if (others.requests) return requests_words(*others.requests);
  for (const analyze::Remark& remark : data.host_remarks) {
    if (remark.id == "few_ops") return clause(remark.text);
  }
  if (!data.notes.empty()) return "cannot tell what limits the run: " + clause(data.notes.front().text);
  if (others.counter_samples > 0)
    return fmt::format("{} of counters over time and no work: the file cannot tell what limits a run",
                       counted(others.counter_samples, "sample"));
  return "the file holds no times of work, so it cannot tell what limits the run";
}

}  // namespace

Result<OtherRecords> other_records(store::OpenRun& run) {
  OtherRecords others;
  NL_TRY(others.sums, summed_report(run));
  NL_TRY(others.requests, request_times(run));
  others.counter_samples = rows_of_table(run, "counters");
  return others;
}

const analyze::LimiterAnswer* verdict_of(const Analysis& data) {
  if (data.undecided || data.devices.empty() || data.limiters.empty()) return nullptr;
  return &data.limiters.front();
}

std::string verdict_sentence(const Analysis& data, const TimeParts& parts, const OtherRecords& others) {
  if (const auto* limiter = verdict_of(data))
    return limiter_words(data, *limiter, parts.mean_of_devices.has_value());
  if (data.undecided) return "cannot tell what limits the run: " + clause(data.undecided->text);
  return held_words(data, parts, others);
}

}  // namespace nl::ops
