#pragma once
// Chooses which launches of a recorded run to replay for their counters: launches of the kernels that take
// the most time, in the middle of the run, where it is warmed up.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/names/taxonomy.h"
#include "base/json.h"
#include "store/engine.h"
#include "store/run_views.h"

namespace nl::ops {

/// The launches of a run in the order of time, told by the names of their functions.
class LaunchOrder {
 public:
  explicit LaunchOrder(const analyze::Taxonomy& taxonomy) : taxonomy_(taxonomy) {}

  /// `function`: the name without namespaces and arguments if the source gives it, else empty.
  void add(std::string_view name, std::string_view function, int64_t dur_ns);

  struct Kernel {
    std::string function = {};
    bool communicates = false;  ///< waits for other devices, so it may hang if it is replayed alone
    int64_t launches = 0;
    int64_t dur_ns = 0;
  };
  /// The longest first.
  std::vector<Kernel> kernels() const;
  size_t size() const { return order_.size(); }

 private:
  friend struct ReplayChoice choose_replays(const LaunchOrder&, size_t, int64_t);
  size_t kernel_of(std::string_view name, std::string_view function);

  const analyze::Taxonomy& taxonomy_;
  std::map<std::string, size_t, std::less<>> by_name_ = {};  ///< full name -> kernel
  std::map<std::string, size_t> by_function_ = {};
  std::vector<Kernel> kernels_ = {};
  std::vector<uint32_t> order_ = {};
};

struct ReplayChoice {
  std::vector<LaunchOrder::Kernel> replayed = {};
  std::vector<LaunchOrder::Kernel> left_out = {};  ///< long enough, but they communicate
  std::vector<std::string> outside = {};  ///< of the replayed ones those with no launch among the chosen
  int64_t skip = 0;                       ///< launches of the replayed kernels before the chosen ones
  std::optional<int64_t> count = 0;       ///< of launches; none: all, however many there are
};

/// The `top` longest kernels that do not communicate, and at most so many launches in a row that have as many
/// of them as possible; of such rows the one nearest behind the middle of the run.
ReplayChoice choose_replays(const LaunchOrder& launches, size_t top, int64_t most_launches);

/// As answers and capture.json have it.
nlohmann::json replay_choice_json(const ReplayChoice& choice);

/// All launches of the run's kernels.
Result<void> read_launches(const std::string& bundle, LaunchOrder& launches);

}  // namespace nl::ops
