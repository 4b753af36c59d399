#pragma once
// What the names of hardware counters mean, from data/counters/*.yaml. Tools rename their counters in nearly
// every version, so the rest of the code uses meanings, which stay the same. A table does not change once it
// is built and may be shared by threads.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl::analyze {

struct CounterMeaning {
  std::string id;    ///< e.g. achieved_occupancy
  std::string unit;  ///< of the scaled value
  std::string what;
  std::string source;
};

struct CounterName {
  std::string tool;  ///< ncu, ncu-details, nvprof, dcgm or rocprofv3
  std::string name;
  std::string unit;  ///< of the tool's value; empty: any
  double scale = 1;  ///< value in the meaning's unit = scale * value
  std::string chips;
  size_t meaning = 0;  ///< index in meanings()
  size_t rank = 0;     ///< of several names of one meaning, the lower one counts
};

class CounterNames {
 public:
  static Result<CounterNames> built_in();
  /// The same, loaded once a process. Any thread may use it.
  static Result<const CounterNames*> shared();
  /// `name` stands in messages. Two meanings of one name are an error.
  static Result<CounterNames> parse(const std::string& text, const std::string& name);

  /// Null if the name is not known, or not with this unit.
  const CounterName* find(std::string_view name, std::string_view unit) const;
  /// Index of a meaning, or meanings().size().
  size_t meaning(std::string_view id) const;

  const std::vector<CounterMeaning>& meanings() const { return meanings_; }
  const std::vector<CounterName>& names() const { return names_; }

 private:
  Result<void> add(std::string_view text, const std::string& name);
  Result<void> index(const std::string& file);

  std::vector<CounterMeaning> meanings_;
  std::map<std::string, size_t, std::less<>> by_id_;
  std::vector<CounterName> names_;
  std::multimap<std::string, size_t, std::less<>> by_name_;
};

}  // namespace nl::analyze
