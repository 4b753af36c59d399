#pragma once
// NcuLaunches: turns what Nsight Compute reports about launches, from any of its pages, into rows of
// profiled_launches, kernel_metrics and kernel_advice. Metrics that are facts of the launch or of its device
// are also stored there. One thread.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ingest/rows/metric_unit.h"
#include "ingest/rows/number_style.h"
#include "ingest/rows/row_writer.h"

namespace nl::ingest {

enum class LaunchFact : uint8_t {
  kNone,
  kDuration,
  kGridSize,
  kGridX,
  kGridY,
  kGridZ,
  kBlockSize,
  kBlockX,
  kBlockY,
  kBlockZ,
  kDeviceName,
  kCapabilityMajor,
  kCapabilityMinor,
  kMultiprocessors,
  kMemoryBytes,
};

/// The name of a metric with its unit; made once for many values.
struct NcuMetric {
  NcuMetric(std::string_view section, std::string_view name, std::optional<std::string_view> unit);

  std::string section;
  std::string name;
  bool has_unit = false;  ///< the source says which unit, be it none
  std::string source_unit = {};
  BaseUnit unit = {};
  LaunchFact fact = LaunchFact::kNone;
};

/// Who was launched where, as text of the source; what it does not say is empty.
struct NcuIdentity {
  std::string id;
  std::string process_id = {};
  std::string process_name = {};
  std::string host = {};
  std::string kernel = {};
  std::string time = {};
  std::string context = {};
  std::string stream = {};
  std::string block = {};
  std::string grid = {};
  std::string device = {};
  std::string capability = {};
  std::string push_ranges = {};
  std::string start_ranges = {};
  std::map<std::string, std::string> other = {};
};

struct NcuAdvice {
  std::string_view section;
  std::string_view rule;
  std::string_view kind;
  std::string_view text;
  std::string_view speedup_kind = {};
  std::string_view speedup = {};
};

class NcuLaunches {
 public:
  /// With `evidence`, numbers are only shown to it.
  NcuLaunches(model::RunSink& sink, model::RunInfo& info, DecimalSign sign,
              NumberEvidence* evidence = nullptr)
      : writer_(sink, info), info_(info), sign_(sign), evidence_(evidence) {}

  bool is_open() const { return open_; }
  const NcuIdentity& identity() const { return identity_; }
  /// Ends the launch before, if any.
  Result<void> begin(NcuIdentity identity);
  /// Of the open launch.
  Result<void> metric(const NcuMetric& metric, std::string_view value);
  Result<void> advice(const NcuAdvice& advice);
  Result<void> end();
  /// Rows that are left, and what the run as a whole is.
  Result<void> finish();

  /// The open launch was not measured: nan in other cells reads as 0.000000 in automatic units.
  void set_unmeasured(bool unmeasured) { unmeasured_ = unmeasured; }
  PrintedNumber number(std::string_view text) const { return read_number(text, sign_); }

 private:
  struct Facts {
    std::optional<int64_t> numbers[16];
    std::string device_name;
  };

  void take_fact(const NcuMetric& metric, const PrintedNumber& number, std::string_view value);
  void take_duration(const NcuMetric& metric, const PrintedNumber& number);
  void set_value(size_t row, const NcuMetric& metric, const PrintedNumber& number, std::string_view value);
  void set_dimensions(size_t row, std::string_view text, const char* name, LaunchFact size, LaunchFact x,
                      int first_column);
  bool read_dimensions(std::string_view text, LaunchFact x, int64_t (&out)[3]) const;
  void set_ranges(size_t row);
  void set_number(size_t row, int column, std::string_view text, const char* name, bool is_small);
  std::string capability() const;
  void note_device();
  void note_host();
  std::optional<int64_t> fact(LaunchFact f) const { return facts_.numbers[static_cast<size_t>(f)]; }

  RowWriter writer_;
  model::RunInfo& info_;
  DecimalSign sign_;
  NumberEvidence* evidence_;
  int64_t launches_ = 0;
  bool open_ = false;
  bool unmeasured_ = false;
  NcuIdentity identity_ = {};
  Facts facts_ = {};
  std::map<std::string, std::string> args_ = {};
};

}  // namespace nl::ingest
