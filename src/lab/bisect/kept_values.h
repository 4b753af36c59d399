#pragma once
// Pairs of times that a bisection measured, kept as lines of JSON in a file, so that a search that was killed
// goes on from there. A line is written and flushed as soon as its pair is measured. Lines of other tasks and
// machines stay and are not used; a last line that was cut off is measured again. One search at a time has
// the file (flock). One thread.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "stats/sequential.h"

namespace nl::lab {

class KeptValues {
 public:
  /// An empty path keeps nothing. `conflict`: another search has the file.
  static Result<KeptValues> open(const std::string& path, const std::string& task, const std::string& machine,
                                 uint64_t seed);
  KeptValues(KeptValues&& other) noexcept;
  KeptValues& operator=(KeptValues&&) = delete;
  ~KeptValues();

  /// Of the point with the good one, in order.
  const std::vector<stats::TimePair>& pairs(const std::string& good, const std::string& point) const;
  Result<void> add(const std::string& good, const std::string& point, const stats::TimePair& pair);

 private:
  KeptValues(int file, std::string path, std::string task, std::string machine, uint64_t seed);
  void take(std::string_view text);

  int file_;
  std::string path_, task_, machine_;
  uint64_t seed_;
  std::map<std::pair<std::string, std::string>, std::vector<stats::TimePair>> pairs_;
};

}  // namespace nl::lab
