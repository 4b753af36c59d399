#include "ingest/formats/ncu/ncu_tables.h"

#include <algorithm>

#include "base/text.h"
#include "ingest/row_loop.h"

namespace nl::ingest {
namespace {

using Fields = std::vector<std::string_view>;

enum class Role {
  kIdentity,  ///< one of NcuIdentity's own, see field_of
  kOtherIdentity,
  kSection,
  kMetricName,
  kMetricUnit,
  kMetricValue,
  kRuleName,
  kRuleType,
  kRuleText,
  kSpeedupType,
  kSpeedup,
  kMetric,
};

using IdentityField = std::string NcuIdentity::*;

struct KnownColumn {
  std::string_view name;
  Role role;
  IdentityField field = nullptr;
};

constexpr KnownColumn kColumns[] = {
    {"ID", Role::kIdentity, &NcuIdentity::id},
    {"Process ID", Role::kIdentity, &NcuIdentity::process_id},
    {"Process Name", Role::kIdentity, &NcuIdentity::process_name},
    {"Host Name", Role::kIdentity, &NcuIdentity::host},
    {"Kernel Name", Role::kIdentity, &NcuIdentity::kernel},
    {"Kernel Time", Role::kIdentity, &NcuIdentity::time},
    {"Context", Role::kIdentity, &NcuIdentity::context},
    {"Stream", Role::kIdentity, &NcuIdentity::stream},
    {"Block Size", Role::kIdentity, &NcuIdentity::block},
    {"Grid Size", Role::kIdentity, &NcuIdentity::grid},
    {"Device", Role::kIdentity, &NcuIdentity::device},
    {"CC", Role::kIdentity, &NcuIdentity::capability},
    {"Section Name", Role::kSection},
    {"Metric Name", Role::kMetricName},
    {"Metric Unit", Role::kMetricUnit},
    {"Metric Value", Role::kMetricValue},
    {"Rule Name", Role::kRuleName},
    {"Rule Type", Role::kRuleType},
    {"Rule Description", Role::kRuleText},
    {"Estimated Speedup Type", Role::kSpeedupType},
    {"Estimated Speedup", Role::kSpeedup},
};

struct Column {
  Role role = Role::kMetric;
  IdentityField field = nullptr;
  std::string name = {};
};

Column column_of(std::string_view name) {
  if (has_part(name, "Push/Pop_Range")) return {Role::kIdentity, &NcuIdentity::push_ranges, {}};
  if (has_part(name, "Start/Stop_Range")) return {Role::kIdentity, &NcuIdentity::start_ranges, {}};
  for (const KnownColumn& known : kColumns) {
    if (known.name == name) return {known.role, known.field, {}};
  }
  return {Role::kMetric, nullptr, std::string(name)};
}

class Tables {
 public:
  Tables(CsvReader& reader, NcuLaunches& launches, model::RunInfo& info)
      : reader_(reader), launches_(launches), info_(info) {}

  /// False at the end of the input.
  Result<bool> next() {
    NL_TRY(const std::string_view head, reader_.peek(8));
    if (starts_ncu_header(head)) return take_header(head);
    if (in_table_ && is_row(head)) return take_row();
    std::string_view line;
    NL_TRY(const bool found, reader_.next_line(line));
    if (found) note_foreign_line(line, info_);
    return found;
  }

 private:
  /// A quoted table has quoted rows; other lines are the program's, whatever they hold.
  bool is_row(std::string_view head) const {
    if (quoted_) return head.starts_with('"');
    return !head.empty() && head[0] != '\n' && head[0] != '\r' && !head.starts_with("==");
  }

  Result<bool> take_header(std::string_view head) {
    quoted_ = head.starts_with('"');
    separator_ = head[quoted_ ? 4 : 2];
    NL_TRY(const bool found, reader_.next_row(fields_, separator_));
    if (std::find(fields_.begin(), fields_.end(), "Kernel Name") == fields_.end()) {
      note_foreign_line(fields_[0], info_);
      return found;
    }
    NL_CHECK(launches_.end());
    in_table_ = true;
    columns_.clear();
    metrics_.clear();
    for (const auto name : fields_) columns_.push_back(column_of(trimmed(name)));
    long_ = index_of(Role::kMetricName) < columns_.size();
    name_other_identities();
    expect_units_ = !long_;
    return true;
  }

  /// Columns before the last known one are no metrics; in the long form none is.
  void name_other_identities() {
    size_t last = columns_.size();
    while (!long_ && last > 0 && columns_[last - 1].role == Role::kMetric) last--;
    for (size_t i = 0; i < last; i++) {
      if (columns_[i].role == Role::kMetric) columns_[i].role = Role::kOtherIdentity;
    }
  }

  size_t index_of(Role role) const {
    const auto it =
        std::find_if(columns_.begin(), columns_.end(), [&](const Column& c) { return c.role == role; });
    return static_cast<size_t>(it - columns_.begin());
  }

  std::string_view field(Role role) const {
    const size_t i = index_of(role);
    return i < fields_.size() ? fields_[i] : std::string_view();
  }

  Result<bool> take_row() {
    NL_TRY(const bool found, reader_.next_row(fields_, separator_));
    if (!found) return false;
    if (expect_units_) {
      expect_units_ = false;
      const bool has_units = trimmed(fields_[0]).empty() && fields_.size() > 1;
      set_metrics(has_units);
      if (has_units) return true;
      info_.health["no_units_row"]++;
    }
    if (launches_.number(fields_[0]).kind != PrintedNumber::Kind::kNumber) return drop_strange();
    info_.counts.seen++;
    if (fields_.size() > columns_.size()) info_.health["long_row"]++;
    NL_CHECK(long_ ? take_metric_row() : take_launch_row());
    return true;
  }

  /// A row without a number of a launch.
  bool drop_strange() {
    if (fields_.size() == 1) {
      note_foreign_line(fields_[0], info_);
    } else {
      info_.counts.seen++;
      info_.counts.dropped["no_id"]++;
    }
    return true;
  }

  void drop_short() { info_.counts.dropped[reader_.was_ended() ? "short_row" : "cut_off"]++; }

  NcuIdentity identity() const {
    NcuIdentity identity;
    for (size_t i = 0; i < std::min(columns_.size(), fields_.size()); i++) {
      const Column& column = columns_[i];
      if (column.role == Role::kIdentity) {
        std::string& text = identity.*column.field;
        text += (text.empty() ? "" : " ") + std::string(fields_[i]);
      } else if (column.role == Role::kOtherIdentity && !trimmed(fields_[i]).empty()) {
        identity.other[column.name] = std::string(fields_[i]);
      }
    }
    return identity;
  }

  // ---- A row a launch

  void set_metrics(bool has_units) {
    for (size_t i = 0; i < columns_.size(); i++) {
      const auto unit = has_units
                            ? std::optional(i < fields_.size() ? trimmed(fields_[i]) : std::string_view())
                            : std::nullopt;
      metrics_.emplace_back("", columns_[i].name, unit);
    }
  }

  Result<void> take_launch_row() {
    if (fields_.size() < columns_.size()) {
      if (!reader_.was_ended()) {
        drop_short();
        return {};
      }
      info_.health["short_row"]++;
    }
    NL_CHECK(launches_.begin(identity()));
    launches_.set_unmeasured(is_unmeasured());
    for (size_t i = 0; i < std::min(columns_.size(), fields_.size()); i++) {
      if (columns_[i].role == Role::kMetric) {
        NL_CHECK(launches_.metric(metrics_[i], fields_[i]));
      }
    }
    info_.counts.stored++;
    return launches_.end();
  }

  bool is_unmeasured() const {
    for (size_t i = 0; i < std::min(columns_.size(), fields_.size()); i++) {
      if (metrics_[i].fact != LaunchFact::kDuration) continue;
      return has_part(lower(trimmed(fields_[i])), "nan");
    }
    return false;
  }

  // ---- A row a metric

  bool is_same_launch() const {
    const NcuIdentity& open = launches_.identity();
    const NcuIdentity own = identity();
    return launches_.is_open() && open.id == own.id && open.process_id == own.process_id &&
           open.kernel == own.kernel;
  }

  Result<void> take_metric_row() {
    const bool has_metric = !trimmed(field(Role::kMetricName)).empty();
    const bool has_rule =
        !trimmed(field(Role::kRuleName)).empty() || !trimmed(field(Role::kRuleText)).empty();
    const size_t needed = index_of(has_rule ? Role::kRuleText : Role::kMetricValue) + 1;
    if (fields_.size() < needed && needed <= columns_.size()) {
      drop_short();
      return {};
    }
    if (!has_metric && !has_rule) {
      info_.counts.dropped["no_metric"]++;
      return {};
    }
    if (!is_same_launch()) {
      NL_CHECK(launches_.begin(identity()));
    }
    info_.counts.stored++;
    if (has_metric) {
      NL_CHECK(take_metric());
    }
    return has_rule ? take_advice() : Result<void>();
  }

  Result<void> take_metric() {
    const NcuMetric metric(field(Role::kSection), trimmed(field(Role::kMetricName)),
                           trimmed(field(Role::kMetricUnit)));
    return launches_.metric(metric, field(Role::kMetricValue));
  }

  Result<void> take_advice() {
    return launches_.advice({field(Role::kSection), field(Role::kRuleName), field(Role::kRuleType),
                             field(Role::kRuleText), field(Role::kSpeedupType), field(Role::kSpeedup)});
  }

  CsvReader& reader_;
  NcuLaunches& launches_;
  model::RunInfo& info_;
  Fields fields_ = {};
  std::vector<Column> columns_ = {};
  std::vector<NcuMetric> metrics_ = {};
  bool in_table_ = false;
  bool quoted_ = true;
  bool long_ = false;
  bool expect_units_ = false;
  char separator_ = ',';
};

}  // namespace

bool starts_ncu_header(std::string_view text) {
  for (const std::string_view start : {"\"ID\",", "\"ID\";", "ID,", "ID;", "\"ID\"\t", "ID\t"}) {
    if (text.starts_with(start)) return true;
  }
  return false;
}

void note_foreign_line(std::string_view line, model::RunInfo& info) {
  line = trimmed(line);
  if (line.empty()) return;
  auto& lines = info.extensions["ncu"]["foreign_lines"];
  lines = lines.is_null() ? 1 : lines.get<int64_t>() + 1;
  if (line.starts_with("==WARNING==")) info.health["profiler_warnings"]++;
  if (line.starts_with("==ERROR==")) info.health["profiler_errors"]++;
}

Result<void> read_ncu_tables(CsvReader& reader, const ReadOptions& options, const ByteSource& source,
                             NcuLaunches& launches, model::RunInfo& info) {
  Tables tables(reader, launches, info);
  return for_each_row(source, options, [&] { return tables.next(); });
}

}  // namespace nl::ingest
