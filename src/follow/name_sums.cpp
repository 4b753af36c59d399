#include "follow/name_sums.h"

#include <algorithm>
#include <unordered_map>

namespace nl::follow {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

void add_sum(NameSum& to, const NameSum& more) {
  to.count += more.count;
  to.total_ns += more.total_ns;
  to.longest_ns = std::max(to.longest_ns, more.longest_ns);
}

}  // namespace

void NameSums::add(uint32_t name, int64_t end_ns, int64_t dur_ns) {
  const int64_t number = std::max<int64_t>(0, end_ns) / kSecondNs;
  Second& second = seconds_[static_cast<size_t>(number) % seconds_.size()];
  if (number < second.number) return;
  if (number > second.number) {
    second.number = number;
    second.sums.clear();
  }
  if (second.sums.size() <= name) second.sums.resize(name + 1);
  add_sum(second.sums[name], {name, 1, dur_ns, dur_ns});
}

std::vector<NameSum> NameSums::top(int64_t now_ns, size_t most) const {
  std::unordered_map<uint32_t, NameSum> all;
  for (const Second& second : seconds_) {
    if (second.number < now_ns / kSecondNs - kSeconds) continue;
    for (uint32_t name = 0; name < second.sums.size(); name++) {
      if (second.sums[name].count > 0)
        add_sum(all.try_emplace(name, NameSum{name}).first->second, second.sums[name]);
    }
  }
  std::vector<NameSum> list;
  for (const auto& [name, sum] : all) list.push_back(sum);
  std::sort(list.begin(), list.end(), [](const NameSum& a, const NameSum& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns
           : a.count != b.count     ? a.count > b.count
                                    : a.name < b.name;
  });
  if (list.size() > most) list.resize(most);
  return list;
}

}  // namespace nl::follow
