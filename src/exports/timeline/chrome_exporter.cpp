// Chrome's trace events, JSON: slices as X with decimal microseconds to the nanosecond, names as M, arrows as
// s and f, counters as C. The names of arguments and categories are those of PyTorch, so that import reads
// the file as it reads a trace of PyTorch's profiler, and finds the same kernels, copies and calls.

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "base/json.h"
#include "base/small_json.h"
#include "exports/exporter.h"
#include "exports/safe_utf8.h"
#include "exports/timeline/launch_arrows.h"
#include "exports/timeline/trace_rows.h"
#include "exports/timeline/trace_tracks.h"

namespace nl::exports::chrome_exporter {
namespace {

constexpr size_t kChromePieceBytes = 1 << 16;

/// Text of one JSON document, written piece by piece.
class ChromeText {
 public:
  explicit ChromeText(const std::function<Result<void>(std::string_view)>& write) : write_(write) {}

  ChromeText& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  /// The next element of the array; the caller closes it.
  ChromeText& event() {
    text_ += has_events_ ? ",\n{" : "{";
    has_events_ = true;
    return *this;
  }
  ChromeText& number(int64_t value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    text_.append(digits, static_cast<size_t>(end - digits));
    return *this;
  }
  ChromeText& real(double value) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    text_.append(digits, static_cast<size_t>(end - digits));
    return *this;
  }
  /// Microseconds with exactly three decimals.
  ChromeText& microseconds(int64_t ns) {
    if (ns < 0) text_ += '-';
    const uint64_t size = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
    number(static_cast<int64_t>(size / 1000));
    const auto below = static_cast<unsigned>(size % 1000);
    const char decimals[] = {'.', static_cast<char>('0' + below / 100),
                             static_cast<char>('0' + below / 10 % 10), static_cast<char>('0' + below % 10)};
    text_.append(decimals, sizeof decimals);
    return *this;
  }
  ChromeText& string(std::string_view text) {
    text_ += '"';
    for (const char c : safe_utf8(text, scratch_)) append_escaped(c);
    text_ += '"';
    return *this;
  }
  /// JSON as the source wrote it.
  ChromeText& json(std::string_view text) { return raw(safe_utf8(text, scratch_)); }

  Result<void> flush(size_t at_least) {
    if (text_.size() < at_least) return {};
    NL_CHECK(write_(text_));
    text_.clear();
    return {};
  }

 private:
  void append_escaped(char c) {
    if (c == '"' || c == '\\') {
      text_.append(1, '\\').append(1, c);
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      text_ += c;
    } else {
      text_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    }
  }

  const std::function<Result<void>(std::string_view)>& write_;
  std::string text_;
  std::string scratch_;
  bool has_events_ = false;
};

bool is_structured(std::string_view json) {
  return !json.empty() && (json[0] == '{' || json[0] == '[');
}

/// What a column of JSON says, in two parts: arguments, and members of the event itself, which import keeps
/// under $event. Both without braces.
struct RestParts {
  std::string_view args, event;
};

/// Where the member of the outermost object begins whose value is the last one; npos if there is none.
size_t last_member(std::string_view json, std::string_view key) {
  int depth = 0;
  bool in_string = false;
  size_t last = std::string_view::npos;
  for (size_t at = 0; at < json.size(); at++) {
    const char c = json[at];
    if (in_string && c == '\\') {
      at++;
    } else if (c == '"') {
      if (!in_string && depth == 1 && (json[at - 1] == '{' || json[at - 1] == ',')) last = at;
      in_string = !in_string;
    } else if (!in_string) {
      depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    }
  }
  return last != std::string_view::npos && json.substr(last).starts_with(key) ? last : std::string_view::npos;
}

RestParts parts_of(std::string_view json) {
  if (json.size() < 2 || json.front() != '{' || json.back() != '}') return {};
  constexpr std::string_view kEvent = "\"$event\":{";
  const bool may_have = json.find(kEvent) != std::string_view::npos;
  const size_t at = may_have ? last_member(json, kEvent) : std::string_view::npos;
  if (at == std::string_view::npos) return {json.substr(1, json.size() - 2), {}};
  const size_t inside = at + kEvent.size();
  return {json.substr(1, at > 1 ? at - 2 : 0), json.substr(inside, json.size() - inside - 2)};
}

bool has_member(std::string_view members, std::string_view key) {
  return members.find(fmt::format("\"{}\":", key)) != std::string_view::npos;
}

std::string_view rest_of(const TraceRow& row) {
  return !row.args.empty() && row.args.back().kind == ArgKind::kRest ? row.args.back().text
                                                                     : std::string_view();
}

/// The word of PyTorch for what other sources name in their own way.
std::string_view category_of_kind(std::string_view kind) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"op", "cpu_op"},
      {"runtime", "cuda_runtime"},
      {"annotation", "user_annotation"},
      {"device_annotation", "gpu_user_annotation"},
      {"python", "python_function"},
      {"device", "cuda_profiler_range"},
      {"overhead", "overhead"},
      {"memcpy", "gpu_memcpy"},
      {"memset", "gpu_memset"}};
  for (const auto& [of, word] : kWords) {
    if (of == kind) return word;
  }
  return {};
}

/// "pid": …,"tid": … of each track. Two tracks with the same ids (ranks of several machines) must not become
/// one: the second one has its number in its thread.
class ChromeTracks {
 public:
  explicit ChromeTracks(const std::vector<TraceTrack>& tracks) : tracks_(tracks) {
    std::set<std::tuple<bool, std::string, std::string>> known;
    for (size_t i = 0; i < tracks.size(); i++) {
      const TraceTrack& track = tracks[i];
      Ids ids{id_text(track.process_id, track.source_process), id_text(track.thread_id, track.source_thread)};
      if (!track.is_process && !known.insert({track.is_stream, ids.process, ids.thread}).second)
        ids.thread = nlohmann::json(fmt::format("{} of track {}", track_title(track, 0), i)).dump();
      ids_.push_back(ids);
    }
  }

  /// With a comma in front of each member.
  std::string members(int64_t track) const {
    if (track < 0 || static_cast<size_t>(track) >= ids_.size()) return "";
    const Ids& ids = ids_[static_cast<size_t>(track)];
    return process_member(ids) + (ids.thread.empty() ? "" : ",\"tid\":" + ids.thread);
  }

  Result<void> write(ChromeText& out) const {
    std::set<std::string> named;
    for (size_t i = 0; i < tracks_.size(); i++) {
      const TraceTrack& track = tracks_[i];
      const std::string process = process_member(ids_[i]);
      const std::string both = members(static_cast<int64_t>(i));
      if (named.insert(process).second) {
        name(out, "process_name", "name", track.process_name, process);
        name(out, "process_labels", "labels", track.process_labels, process);
        order(out, "process_sort_index", track.process_sort_index, process);
      }
      name(out, "thread_name", "name", track.thread_name, both);
      order(out, "thread_sort_index", track.thread_sort_index, both);
      write_rest(out, track.args, both);
      NL_CHECK(out.flush(kChromePieceBytes));
    }
    return {};
  }

 private:
  struct Ids {
    std::string process, thread;  ///< JSON; may be empty
  };

  static std::string id_text(const std::optional<int64_t>& number, const std::string& text) {
    if (number) return std::to_string(*number);
    return text.empty() ? "" : nlohmann::json(text).dump();
  }
  static std::string process_member(const Ids& ids) {
    return ids.process.empty() ? "" : ",\"pid\":" + ids.process;
  }
  static void name(ChromeText& out, std::string_view what, std::string_view member, const std::string& text,
                   const std::string& ids) {
    if (text.empty()) return;
    begin(out, what, ids).raw("\"").raw(member).raw("\":").string(text).raw("}}");
  }
  static void order(ChromeText& out, std::string_view what, const std::optional<int64_t>& index,
                    const std::string& ids) {
    if (index) begin(out, what, ids).raw("\"sort_index\":").number(*index).raw("}}");
  }
  static ChromeText& begin(ChromeText& out, std::string_view what, const std::string& ids) {
    return out.event().raw("\"ph\":\"M\",\"name\":\"").raw(what).raw("\"").raw(ids).raw(",\"args\":{");
  }
  /// Names of the source that have no column, by what they name.
  static void write_rest(ChromeText& out, const std::string& args, const std::string& ids) {
    const auto rest = parse_small_json(args);
    if (!rest.is_object()) return;
    for (const auto& [what, value] : rest.items()) {
      if (!value.is_object()) continue;
      out.event()
          .raw("\"ph\":\"M\",\"name\":")
          .string(what)
          .raw(ids)
          .raw(",\"args\":")
          .raw(value.dump())
          .raw("}");
    }
  }

  const std::vector<TraceTrack>& tracks_;
  std::vector<Ids> ids_;
};

class ChromeExport {
 public:
  explicit ChromeExport(const ExportCall& call) : call_(call), reader_(call), out_(call.write) {}

  Result<ExportReport> write() {
    NL_TRY(const auto tracks, read_trace_tracks(reader_));
    const ChromeTracks ids(tracks);
    for (size_t i = 0; i < tracks.size(); i++) ids_.push_back(ids.members(static_cast<int64_t>(i)));
    if (!tracks.empty()) report_.written["tracks"] = static_cast<int64_t>(tracks.size());
    NL_TRY(kernel_arrows_, LaunchArrows::read(reader_, kKernelArrows));
    NL_TRY(copy_arrows_, LaunchArrows::read(reader_, kCopyArrows));
    NL_CHECK(write_head());
    NL_CHECK(ids.write(out_));
    for (int table = 0; table < static_cast<int>(trace_tables().size()); table++)
      NL_CHECK(reader_.for_each_row(table, {}, [&](TraceRow& row) { return write_row(row); }));
    NL_CHECK(reader_.for_each_counter([&](const CounterRow& row) { return write_counter(row); }));
    NL_CHECK(reader_.for_each_allocation([&](const AllocationRow& row) { return write_allocation(row); }));
    NL_CHECK(reader_.for_each_flow([&](const FlowRow& row) { return write_flow(row); }));
    NL_CHECK(reader_.count_lost(report_));
    return finish();
  }

 private:
  /// Times count from the second of the first one, so that viewers, which hold them as doubles, keep the
  /// nanoseconds.
  Result<void> write_head() {
    const auto& files = call_.run.files();
    is_pytorch_ = files.formats == std::set<std::string>{"kineto"};
    NL_CHECK(find_base());
    NL_TRY(one_scope_, has_one_scope());
    out_.raw("{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\"");
    if (base_ns_ != 0) out_.raw(",\"baseTimeNanoseconds\":").number(base_ns_);
    out_.raw(",\"traceEvents\":[\n");
    return {};
  }

  Result<void> find_base() {
    const auto& clocks = call_.run.files().clocks;
    const bool is_unix =
        std::any_of(clocks.begin(), clocks.end(), [](const auto& clock) { return clock.is_unix; });
    if (!is_unix) return {};
    std::string starts;
    const auto add = [&](std::string_view table) -> Result<void> {
      if (!reader_.has(table)) return {};
      NL_CHECK(reader_.ask(std::string(table)));
      starts +=
          fmt::format("{}SELECT min(start_ns) AS first FROM {}", starts.empty() ? "" : " UNION ALL ", table);
      return {};
    };
    for (const TraceTable& table : trace_tables()) NL_CHECK(add(table.table));
    for (const char* table : {"counters", "allocations", "flows"}) NL_CHECK(add(table));
    if (starts.empty()) return {};
    NL_TRY(store::Connection * connection, reader_.ask("spans"));
    constexpr int64_t kSecond = 1'000'000'000;
    NL_TRY(const int64_t first,
           connection->integer("SELECT coalesce(min(first), 0)::BIGINT FROM (" + starts + ")"));
    base_ns_ = first / kSecond * kSecond;
    return {};
  }

  /// Correlation ids of several processes collide, so that they cannot name an arrow.
  Result<bool> has_one_scope() {
    if (!reader_.has("tracks")) return true;
    NL_TRY(store::Connection * connection, reader_.ask("tracks"));
    NL_TRY(const int64_t scopes, connection->integer("SELECT count(DISTINCT id_scope) FROM tracks"));
    return scopes < 2;
  }

  Result<void> write_row(const TraceRow& row) {
    written_[static_cast<size_t>(row.table)]++;
    const TraceTable& table = trace_tables()[static_cast<size_t>(row.table)];
    if (table.track.empty()) return write_async(row);
    const RestParts rest = parts_of(rest_of(row));
    // Events of rare phases are kept as instants, with their phase among the members of the event.
    const bool has_phase = !row.dur_ns && has_member(rest.event, "ph");
    out_.event();
    if (has_phase) out_.json(rest.event);
    if (!has_phase) out_.raw(row.dur_ns ? "\"ph\":\"X\"" : "\"ph\":\"i\"");
    write_names(row);
    out_.raw(members_of(row.track)).raw(",\"ts\":").microseconds(row.start_ns - base_ns_);
    if (row.dur_ns) out_.raw(",\"dur\":").microseconds(*row.dur_ns);
    if (!row.dur_ns && !has_member(rest.event, "s")) out_.raw(",\"s\":\"t\"");
    if (!rest.event.empty() && !has_phase) out_.raw(",").json(rest.event);
    write_args(row, rest.args);
    out_.raw("}");
    write_arrows(row, table.table);
    return out_.flush(kChromePieceBytes);
  }

  void write_names(const TraceRow& row) {
    const std::string_view category = category_of(row);
    if (!category.empty()) out_.raw(",\"cat\":").string(category);
    if (row.name) out_.raw(",\"name\":").string(*row.name);
  }

  std::string_view category_of(const TraceRow& row) const {
    if (is_pytorch_ || (!row.dur_ns && !row.category.empty())) return row.category;
    const std::string_view table = trace_tables()[static_cast<size_t>(row.table)].table;
    if (table == "kernels") return "kernel";
    if (table == "syncs") return "cuda_sync";
    const std::string_view word = category_of_kind(row.kind);
    return word.empty() ? row.category : word;
  }

  void write_args(const TraceRow& row, std::string_view rest) {
    bool first = true;
    const auto key = [&](std::string_view name) -> ChromeText& {
      out_.raw(first ? ",\"args\":{" : ",").string(name).raw(":");
      first = false;
      return out_;
    };
    for (const TraceArg& arg : row.args) {
      if (arg.kind == ArgKind::kInt) key(arg.key).number(arg.number);
      if (arg.kind == ArgKind::kReal && std::isfinite(arg.real)) key(arg.key).real(arg.real);
      if (arg.kind == ArgKind::kTriple) key(arg.key).raw(triple_text(arg));
      if (arg.kind == ArgKind::kText) key(arg.key).string(arg.text);
      if (arg.kind == ArgKind::kJson && is_structured(arg.text)) key(arg.key).json(arg.text);
      if (arg.kind == ArgKind::kJson && !is_structured(arg.text)) key(arg.key).string(arg.text);
    }
    const std::string_view category = category_of(row);
    if (!row.category.empty() && row.category != category) key("source category").string(row.category);
    if (!rest.empty()) out_.raw(first ? ",\"args\":{" : ",").json(rest);
    if (!first || !rest.empty()) out_.raw("}");
  }

  /// Rows of a table without tracks overlap at will: each is an async event with an id of its own.
  Result<void> write_async(const TraceRow& row) {
    const auto begin = [&](char phase, int64_t time) {
      out_.event().raw(phase == 'b' ? "\"ph\":\"b\"" : "\"ph\":\"e\"");
      write_names(row);
      out_.raw(",\"id\":")
          .number(row.id)
          .raw(",\"pid\":")
          .string(row.category)
          .raw(",\"ts\":")
          .microseconds(time - base_ns_);
    };
    begin('b', row.start_ns);
    write_args(row, parts_of(rest_of(row)).args);
    out_.raw("}");
    begin('e', end_of(row.start_ns, row.dur_ns.value_or(0)));
    out_.raw("}");
    return out_.flush(kChromePieceBytes);
  }

  /// Directly behind their event: so import sees that they say nothing that the event does not say.
  void write_arrows(const TraceRow& row, std::string_view table) {
    if (table == "spans") {
      write_launches(row, kernel_arrows_.from(row.id), 0);
      write_launches(row, copy_arrows_.from(row.id), 1);
    } else if (table == "kernels" && kernel_arrows_.arrives_at(row.id)) {
      write_arrow(row, 'f', arrow_id(row, row.id, 0));
    } else if (table == "copies" && copy_arrows_.arrives_at(row.id)) {
      write_arrow(row, 'f', arrow_id(row, row.id, 1));
    }
  }

  void write_launches(const TraceRow& row, std::span<const LaunchArrows::Arrow> arrows, int kind) {
    std::optional<int64_t> last;
    for (const auto& arrow : arrows) {
      const auto id = arrow_id(row, arrow.work, kind);
      if (id && id != last) write_arrow(row, 's', id);
      last = id;
    }
  }

  /// The correlation id that both ends have; where it is not unique, the number of the work.
  std::optional<int64_t> arrow_id(const TraceRow& row, int64_t work, int kind) const {
    if (!one_scope_) return work * 2 + kind;
    for (const TraceArg& arg : row.args) {
      if (arg.key == "correlation") return arg.number;
    }
    return std::nullopt;
  }

  void write_arrow(const TraceRow& row, char phase, const std::optional<int64_t>& id) {
    if (!id) return;
    arrows_ += phase == 'f' ? 1 : 0;
    out_.event().raw("\"ph\":\"").raw({&phase, 1}).raw("\",\"id\":").number(*id).raw(members_of(row.track));
    out_.raw(",\"ts\":").microseconds(row.start_ns - base_ns_);
    out_.raw(",\"cat\":\"ac2g\",\"name\":\"ac2g\"").raw(phase == 'f' ? ",\"bp\":\"e\"}" : "}");
  }

  Result<void> write_counter(const CounterRow& row) {
    report_.written["counters"]++;
    if (!row.unit.empty()) report_.lost["units of counters"]++;
    out_.event().raw("\"ph\":\"C\",\"name\":").string(row.name).raw(members_of(row.track));
    out_.raw(",\"ts\":").microseconds(row.start_ns - base_ns_).raw(",\"args\":{");
    out_.string(row.series.empty() ? "value" : row.series).raw(":").real(row.value).raw("}}");
    return out_.flush(kChromePieceBytes);
  }

  Result<void> write_allocation(const AllocationRow& row) {
    report_.written["allocations"]++;
    const RestParts rest = parts_of(row.args);
    out_.event()
        .raw("\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\"")
        .raw(members_of(row.track));
    out_.raw(",\"ts\":").microseconds(row.start_ns - base_ns_);
    if (!has_member(rest.event, "s")) out_.raw(",\"s\":\"t\"");
    if (!rest.event.empty()) out_.raw(",").json(rest.event);
    out_.raw(",\"args\":{");
    bool first = true;
    const auto add = [&](std::string_view key, const std::optional<int64_t>& value) {
      if (!value) return;
      out_.raw(first ? "" : ",").string(key).raw(":").number(*value);
      first = false;
    };
    add("Device Type", row.device_type);
    add("Device Id", row.device);
    add("Addr", row.address);
    add("Bytes", row.bytes);
    add("Total Allocated", row.total_allocated);
    add("Total Reserved", row.total_reserved);
    add("Ev Idx", row.source_index);
    if (!rest.args.empty()) out_.raw(first ? "" : ",").json(rest.args);
    out_.raw("}}");
    return out_.flush(kChromePieceBytes);
  }

  Result<void> write_flow(const FlowRow& row) {
    report_.written["flows"]++;
    const RestParts rest = parts_of(row.args);
    out_.event().raw("\"ph\":").string(row.phase);
    if (row.arrow_id) out_.raw(",\"id\":").number(*row.arrow_id);
    if (row.process_id) out_.raw(",\"pid\":").number(*row.process_id);
    if (row.thread_id) out_.raw(",\"tid\":").number(*row.thread_id);
    out_.raw(",\"ts\":").microseconds(row.start_ns - base_ns_);
    if (!row.category.empty()) out_.raw(",\"cat\":").string(row.category);
    if (!row.name.empty()) out_.raw(",\"name\":").string(row.name);
    if (row.phase == "f" && !has_member(rest.event, "bp")) out_.raw(",\"bp\":\"e\"");
    if (!rest.event.empty()) out_.raw(",").json(rest.event);
    if (!rest.args.empty()) out_.raw(",\"args\":{").json(rest.args).raw("}");
    out_.raw("}");
    return out_.flush(kChromePieceBytes);
  }

  Result<ExportReport> finish() {
    for (size_t table = 0; table < written_.size(); table++) {
      if (written_[table] > 0) report_.written[std::string(trace_tables()[table].table)] = written_[table];
    }
    const int64_t backward = kernel_arrows_.backward() + copy_arrows_.backward();
    if (backward > 0) report_.lost["arrows to work that begins before its launch"] = backward;
    out_.raw("\n]}\n");
    NL_CHECK(out_.flush(0));
    return std::move(report_);
  }

  std::string_view members_of(int64_t track) const {
    return track >= 0 && static_cast<size_t>(track) < ids_.size()
               ? std::string_view(ids_[static_cast<size_t>(track)])
               : std::string_view();
  }

  const ExportCall& call_;
  TraceReader reader_;
  ChromeText out_;
  std::vector<std::string> ids_;  ///< pid and tid by track
  LaunchArrows kernel_arrows_, copy_arrows_;
  std::vector<int64_t> written_ = std::vector<int64_t>(trace_tables().size());
  bool is_pytorch_ = false;
  bool one_scope_ = true;
  int64_t base_ns_ = 0;
  int64_t arrows_ = 0;
  ExportReport report_;
};

Result<ExportReport> write_chrome(const ExportCall& call) {
  return ChromeExport(call).write();
}

}  // namespace

const Exporter& exporter() {
  static constexpr Exporter kExporter{"chrome", "chrome://tracing, https://ui.perfetto.dev, neurolens import",
                                      write_chrome};
  return kExporter;
}

}  // namespace nl::exports::chrome_exporter
