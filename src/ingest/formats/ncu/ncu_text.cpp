#include "ingest/formats/ncu/ncu_text.h"

#include <algorithm>

#include "base/text.h"
#include "ingest/formats/ncu/ncu_tables.h"
#include "ingest/row_loop.h"

namespace nl::ingest {
namespace {

constexpr size_t kIndent = 4;         // of sections, tables and advice
constexpr size_t kAdviceIndent = 10;  // of advice from its second line on
constexpr size_t kMaxAdviceBytes = 1 << 20;
constexpr std::string_view kSection = "    Section: ";

struct Span {
  size_t begin = 0;
  size_t size = 0;
};

/// The columns that a line of dashes draws; none if it is another line.
std::vector<Span> drawn_columns(std::string_view line) {
  std::vector<Span> columns;
  if (line.size() < kIndent + 3 || line.find_first_not_of(" -") != std::string_view::npos) return columns;
  for (size_t at = line.find('-'); at != std::string_view::npos; at = line.find('-', at)) {
    const size_t end = std::min(line.find(' ', at), line.size());
    columns.push_back({at, end - at});
    at = end;
  }
  return columns;
}

std::string_view cell(std::string_view line, const Span& span) {
  return span.begin < line.size() ? trimmed(line.substr(span.begin, span.size)) : std::string_view();
}

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

/// "    OPT   text": the type of advice is three letters.
bool starts_advice(std::string_view line) {
  return line.size() > kAdviceIndent && line.find_first_not_of(' ') == kIndent &&
         std::all_of(line.begin() + kIndent, line.begin() + kIndent + 3, is_upper) &&
         line.substr(kIndent + 3, 3) == "   ";
}

/// What stands between two words of a line.
std::string_view between(std::string_view line, std::string_view before, std::string_view behind) {
  const size_t begin = line.rfind(before);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = line.substr(begin + before.size());
  return trimmed(rest.substr(0, rest.find(behind)));
}

class TextPage {
 public:
  TextPage(CsvReader& reader, NcuLaunches& launches, model::RunInfo& info)
      : reader_(reader), launches_(launches), info_(info) {}

  Result<void> take(std::string_view line) {
    if (line.starts_with("==")) return foreign(line);
    if (line.starts_with('[')) return take_process(line);
    if (is_launch(line)) return take_launch(line);
    if (!launches_.is_open()) return foreign(line);
    if (line.starts_with(kSection)) return take_section(line);
    if (const auto drawn = drawn_columns(line); !drawn.empty()) return take_dashes(drawn);
    if (starts_advice(line)) return start_advice(line);
    if (!advice_kind_.empty() && line.find_first_not_of(' ') >= kAdviceIndent - 1) return add_advice(line);
    if (columns_.size() == 3 && line.starts_with("    ")) return take_metric(line);
    return foreign(line);
  }

  Result<void> finish() { return end_advice(); }

 private:
  Result<void> foreign(std::string_view line) {
    NL_CHECK(end_advice());
    note_foreign_line(line, info_);
    return {};
  }

  /// [pid] name@host
  Result<void> take_process(std::string_view line) {
    const size_t close = line.find("] ");
    const size_t at = line.rfind('@');
    if (close == std::string_view::npos || at == std::string_view::npos || at < close) return foreign(line);
    NL_CHECK(end_advice());
    process_id_ = line.substr(1, close - 1);
    process_name_ = line.substr(close + 2, at - close - 2);
    host_ = trimmed(line.substr(at + 1));
    return {};
  }

  static bool is_launch(std::string_view line) {
    return line.find_first_not_of(' ') == 2 && has_part(line, ", Context ") && has_part(line, ", Stream ");
  }

  /// name (grid)x(block), Context 1, Stream 7, Device 0, CC 7.5; in 2020: name, time, Context 1, Stream 7
  Result<void> take_launch(std::string_view line) {
    NL_CHECK(end_advice());
    columns_.clear();
    section_.clear();
    NcuIdentity identity;
    identity.id = std::to_string(next_id_++);
    identity.process_id = process_id_;
    identity.process_name = process_name_;
    identity.host = host_;
    identity.context = between(line, ", Context ", ",");
    identity.stream = between(line, ", Stream ", ",");
    identity.device = between(line, ", Device ", ",");
    identity.capability = between(line, ", CC ", ",");
    set_kernel(trimmed(line.substr(0, line.rfind(", Context "))), identity);
    return launches_.begin(std::move(identity));
  }

  static void set_kernel(std::string_view text, NcuIdentity& identity) {
    const size_t middle = text.rfind(")x(");
    const size_t open = middle == std::string_view::npos ? middle : text.rfind(" (", middle);
    if (text.ends_with(')') && open != std::string_view::npos) {
      identity.grid = text.substr(open + 1, middle - open);
      identity.block = text.substr(middle + 2);
      text = text.substr(0, open);
    } else if (const size_t comma = text.rfind(", "); comma != std::string_view::npos) {
      identity.time = text.substr(comma + 2);
      text = text.substr(0, comma);
    }
    identity.kernel = text;
  }

  Result<void> take_section(std::string_view line) {
    NL_CHECK(end_advice());
    columns_.clear();
    section_ = trimmed(line.substr(kSection.size()));
    return {};
  }

  /// Three columns draw a table of metrics, two stand between pieces of advice. The last line of a table is
  /// as its first.
  Result<void> take_dashes(const std::vector<Span>& drawn) {
    NL_CHECK(end_advice());
    columns_ = drawn;
    return {};
  }

  Result<void> take_metric(std::string_view line) {
    NL_CHECK(end_advice());
    const std::string_view name = cell(line, columns_[0]);
    const std::string_view unit = cell(line, columns_[1]);
    if (name == "Metric Name" && unit == "Metric Unit") return {};
    if (trimmed(line).empty()) {
      columns_.clear();
      return {};
    }
    info_.counts.seen++;
    if (line.size() < columns_[2].begin + columns_[2].size) {
      info_.counts.dropped[reader_.was_ended() ? "short_row" : "cut_off"]++;
      return {};
    }
    info_.counts.stored++;
    return launches_.metric(NcuMetric(section_, name, unit), line.substr(columns_[2].begin));
  }

  Result<void> start_advice(std::string_view line) {
    NL_CHECK(end_advice());
    advice_kind_ = line.substr(kIndent, 3);
    return add_advice(line.substr(kIndent + 3));
  }

  Result<void> add_advice(std::string_view line) {
    if (advice_.size() + line.size() > kMaxAdviceBytes)
      return Error{ErrorCode::kLimit,
                   "advice is longer than a megabyte: line " + std::to_string(reader_.line())};
    advice_ += (advice_.empty() ? "" : " ") + std::string(trimmed(line));
    return {};
  }

  /// "Est. Speedup: 4.161% text", "Est. Local Speedup: 88.96% text"
  Result<void> end_advice() {
    if (advice_kind_.empty()) return {};
    info_.counts.seen++;
    info_.counts.stored++;
    std::string_view text = advice_;
    NcuAdvice advice{section_, "", advice_kind_, text, "", ""};
    for (const auto& [start, kind] : {std::pair{std::string_view("Est. Speedup: "), "global"},
                                      std::pair{std::string_view("Est. Local Speedup: "), "local"}}) {
      const size_t percent = text.find('%');
      if (!text.starts_with(start) || percent == std::string_view::npos) continue;
      advice.speedup_kind = kind;
      advice.speedup = text.substr(start.size(), percent - start.size());
      advice.text = trimmed(text.substr(percent + 1));
      break;
    }
    NL_CHECK(launches_.advice(advice));
    advice_kind_.clear();
    advice_.clear();
    return {};
  }

  CsvReader& reader_;
  NcuLaunches& launches_;
  model::RunInfo& info_;
  std::string process_id_ = {};
  std::string process_name_ = {};
  std::string host_ = {};
  std::string section_ = {};
  std::vector<Span> columns_ = {};
  std::string advice_kind_ = {};
  std::string advice_ = {};
  int64_t next_id_ = 0;
};

}  // namespace

bool has_ncu_text(std::string_view text) {
  const bool has_section = has_part(text, "\n    Section: ") || text.starts_with("    Section: ");
  return has_section && has_part(text, ", Context ") && has_part(text, ", Stream ");
}

Result<void> read_ncu_text(CsvReader& reader, const ReadOptions& options, const ByteSource& source,
                           NcuLaunches& launches, model::RunInfo& info) {
  TextPage page(reader, launches, info);
  NL_CHECK(for_each_row(source, options, [&]() -> Result<bool> {
    std::string_view line;
    NL_TRY(const bool found, reader.next_line(line));
    if (found) NL_CHECK(page.take(line));
    return found;
  }));
  return page.finish();
}

}  // namespace nl::ingest
