#include "ops/capture/replay_choice.h"

#include <algorithm>
#include <numeric>

#include "analyze/names/kernel_name.h"
#include "store/open_run.h"

namespace nl::ops {
namespace {

constexpr uint32_t kNotReplayed = UINT32_MAX;

/// The row of `length` items with the most different kinds; of equals the first that begins at or behind the
/// middle, else the last.
class RichestRow {
 public:
  RichestRow(const std::vector<uint32_t>& kinds, size_t count) : kinds_(kinds), seen_(count, 0) {}

  size_t find(size_t length) {
    const size_t middle = kinds_.size() / 2;
    size_t best = 0, most = 0;
    for (size_t end = 0; end < kinds_.size(); end++) {
      enter(kinds_[end]);
      if (end >= length) leave(kinds_[end - length]);
      if (end + 1 < length) continue;
      const size_t begin = end + 1 - length;
      if (different_ > most || (different_ == most && best < middle)) {
        most = different_;
        best = begin;
      }
    }
    return best;
  }

 private:
  void enter(uint32_t kind) { different_ += seen_[kind]++ == 0 ? 1 : 0; }
  void leave(uint32_t kind) { different_ -= --seen_[kind] == 0 ? 1 : 0; }

  const std::vector<uint32_t>& kinds_;
  std::vector<int64_t> seen_;
  size_t different_ = 0;
};

}  // namespace

size_t LaunchOrder::kernel_of(std::string_view name, std::string_view function) {
  if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
  const analyze::KernelIdentity identity = taxonomy_.kernel(name);
  const std::string own(function.empty() ? analyze::last_component(identity.name.function) : function);
  const auto [at, is_new] = by_function_.try_emplace(own, kernels_.size());
  if (is_new) kernels_.push_back({own});
  Kernel& kernel = kernels_[at->second];
  kernel.communicates = kernel.communicates || identity.op_class == analyze::OpClass::k_communication;
  by_name_.emplace(name, at->second);
  return at->second;
}

void LaunchOrder::add(std::string_view name, std::string_view function, int64_t dur_ns) {
  const size_t index = kernel_of(name, function);
  kernels_[index].launches++;
  kernels_[index].dur_ns += dur_ns;
  order_.push_back(static_cast<uint32_t>(index));
}

std::vector<LaunchOrder::Kernel> LaunchOrder::kernels() const {
  std::vector<Kernel> sorted = kernels_;
  std::sort(sorted.begin(), sorted.end(), [](const Kernel& a, const Kernel& b) {
    return std::pair(-a.dur_ns, a.function) < std::pair(-b.dur_ns, b.function);
  });
  return sorted;
}

ReplayChoice choose_replays(const LaunchOrder& launches, size_t top, int64_t most_launches) {
  ReplayChoice choice;
  for (const auto& kernel : launches.kernels()) {
    if (choice.replayed.size() == top) break;
    (kernel.communicates ? choice.left_out : choice.replayed).push_back(kernel);
  }
  std::vector<uint32_t> kind_of(launches.kernels_.size(), kNotReplayed);
  for (size_t i = 0; i < choice.replayed.size(); i++)
    kind_of[launches.by_function_.at(choice.replayed[i].function)] = static_cast<uint32_t>(i);
  std::vector<uint32_t> kinds;
  for (const uint32_t kernel : launches.order_) {
    if (kind_of[kernel] != kNotReplayed) kinds.push_back(kind_of[kernel]);
  }
  const size_t length = std::min(kinds.size(), static_cast<size_t>(most_launches));
  const size_t skip = length == 0 ? 0 : RichestRow(kinds, choice.replayed.size()).find(length);
  choice.skip = static_cast<int64_t>(skip);
  choice.count = static_cast<int64_t>(length);
  for (size_t i = 0; i < choice.replayed.size(); i++) {
    const auto begin = kinds.begin() + static_cast<std::ptrdiff_t>(skip);
    const auto end = begin + static_cast<std::ptrdiff_t>(length);
    if (std::find(begin, end, static_cast<uint32_t>(i)) == end)
      choice.outside.push_back(choice.replayed[i].function);
  }
  return choice;
}

nlohmann::json replay_choice_json(const ReplayChoice& choice) {
  const auto list = [](const std::vector<LaunchOrder::Kernel>& kernels) {
    nlohmann::json out = nlohmann::json::array();
    for (const auto& kernel : kernels)
      out.push_back(
          {{"function", kernel.function}, {"launches", kernel.launches}, {"dur_ns", kernel.dur_ns}});
    return out;
  };
  return {{"kernels", list(choice.replayed)},
          {"left_out", list(choice.left_out)},
          {"outside", choice.outside},
          {"launch_skip", choice.skip},
          {"launch_count", choice.count ? nlohmann::json(*choice.count) : nlohmann::json(nullptr)}};
}

Result<void> read_launches(const std::string& bundle, LaunchOrder& launches) {
  NL_TRY(const auto open, store::OpenRun::open(store::place_in_ledger(bundle)));
  if (!open->has("kernels")) return {};
  NL_TRY(store::Connection * connection, open->ask({"kernels", "tracks"}));
  const auto text = [](const store::Chunk& chunk, size_t column, size_t row) {
    return chunk.is_null(column, row) ? std::string_view() : chunk.text(column, row);
  };
  return connection->stream("SELECT name, short_name, dur_ns FROM kernels ORDER BY start_ns, kernel_id",
                            [&](const store::Chunk& chunk) -> Result<void> {
                              for (size_t i = 0; i < chunk.size(); i++)
                                launches.add(text(chunk, 0, i), text(chunk, 1, i),
                                             chunk.is_null(2, i) ? 0 : chunk.int64s(2)[i]);
                              return {};
                            });
}

}  // namespace nl::ops
