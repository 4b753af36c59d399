#pragma once
// The peaks of devices, from data/hardware/peaks.yaml: memory bandwidth, and operations per second by data
// type, dense and with 2:4 sparsity separately. A device or figure that is not in the table is absent with a
// reason and never guessed. A table does not change once it is built and may be shared by threads.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/answer/roofline.h"
#include "base/known.h"
#include "base/result.h"

namespace nl::analyze {

/// What a profile tells about a device. Memory and units settle names that do not tell the device.
struct DeviceFacts {
  std::string name;
  std::optional<int64_t> memory_bytes = {};
  std::optional<int64_t> units = {};  ///< multiprocessors or compute units
};

/// Whether makers publish rates of this data type at all; there are none of int64 or bool.
bool has_published_rates(std::string_view dtype);

struct DevicePeaks {
  using Rates = std::map<std::string, Known<double>, std::less<>>;

  std::string device;  ///< as the table names it; several, with " or " between, if the facts fit several
  std::string vendor;
  std::string source;
  std::string bandwidth_source;
  std::string checked = {};            ///< what the figures were held against besides; empty: nothing
  Known<double> bandwidth = Absent{};  ///< of the device memory, bytes per second
  Known<double> boost_hz = Absent{};
  Known<double> cache_bytes = Absent{};  ///< of the last cache in front of the memory
  Known<int64_t> units = Absent{};
  Rates dense = {};   ///< operations per second by data type; a multiply-add is two
  Rates sparse = {};  ///< the same with 2:4 structured sparsity

  /// Data types are fp64, fp32, tf32, bf16, fp16, fp16_acc32, fp8, fp6, fp4, int8, int4.
  Known<double> peak(std::string_view dtype, bool is_dense = true) const;
};

Known<PeaksAnswer> peaks_answer(const Known<DevicePeaks>& peaks);

class PeakTable {
 public:
  static Result<PeakTable> built_in();

  /// The built-in table under a user's one in the same form: where the user's names a device, the built-in
  /// figures of that device do not count. `name` stands in messages.
  static Result<PeakTable> with_file(const std::string& text, const std::string& name);

  /// Absent if no device fits; if several do, only the figures that they share are present.
  Known<DevicePeaks> find(const DeviceFacts& facts) const;
  Known<DevicePeaks> find(std::string_view device_name) const;

  size_t size() const { return entries_.size(); }

 private:
  struct Entry;
  Result<void> add(std::string_view text, const std::string& name, int rank);
  bool has_name(const std::string& name) const;

  std::vector<std::shared_ptr<const Entry>> entries_;
};

}  // namespace nl::analyze
