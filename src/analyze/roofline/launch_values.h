#pragma once
// One replayed launch and its counters by meaning. One thread.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/names/counter_names.h"

namespace nl::analyze {

/// Its texts repeat from launch to launch and are owned by whoever read them.
struct CountedLaunch {
  int64_t id = 0;
  std::string_view kernel = {};
  std::optional<int64_t> ns = {};
  std::string_view device = {};
  std::optional<int64_t> source_id = {};
  std::string_view compute_capability = {};
  std::string_view ranges = {};
  std::optional<int64_t> blocks = {};
  std::optional<int64_t> block_threads = {};
};

/// The values of one launch, one per meaning. If several counters have the same meaning, the one that comes
/// first in the table of names counts.
class Values {
 public:
  explicit Values(const CounterNames& names) : names_(names), values_(names.meanings().size()) {}

  void add(const CounterName& name, double value) {
    Entry& entry = values_[name.meaning];
    if (entry.is_there && entry.rank <= name.rank) return;
    entry = {true, name.rank, value * name.scale};
  }
  void clear() { std::fill(values_.begin(), values_.end(), Entry()); }
  std::optional<double> get(std::string_view meaning) const {
    const size_t i = names_.meaning(meaning);
    if (i == values_.size() || !values_[i].is_there) return std::nullopt;
    return values_[i].value;
  }

 private:
  struct Entry {
    bool is_there = false;
    size_t rank = 0;
    double value = 0;
  };
  const CounterNames& names_;
  std::vector<Entry> values_;
};

}  // namespace nl::analyze
