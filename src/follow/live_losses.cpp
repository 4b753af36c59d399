#include "follow/live_losses.h"

#include <algorithm>

#include "base/files.h"

namespace nl::follow {
namespace {

constexpr size_t kMostProcesses = 4096;

void raise_to(capture::Losses& known, const capture::Losses& seen) {
  for (size_t i = 0; i < known.size(); i++) known[i] = std::max(known[i], seen[i]);
}

}  // namespace

/// What is mapped stays readable when the recorder removes its files, so the last word is not missed.
void LiveLosses::find_processes() {
  if (!session_) {
    auto session =
        capture::Mapped<wire::SessionHeader>::open(folder_ + "/session", sizeof(wire::SessionHeader));
    if (session && (*session)->magic == wire::kSessionMagic) session_.emplace(std::move(*session));
  }
  std::map<std::string, bool> are_there;
  for (const std::string& key : list_folder(folder_)) {
    if (key == "session" || key.ends_with(".so")) continue;
    are_there[key] = true;
    if (processes_.contains(key) || processes_.size() >= kMostProcesses) continue;
    auto process = capture::LiveProcess::open(folder_ + "/" + key, key, 0);
    if (process != nullptr) processes_.emplace(key, std::move(process));
  }
  for (auto& [key, process] : processes_) {
    (void)process->rings();
    raise_to(known_[key], process->losses());
  }
  std::erase_if(processes_, [&](const auto& process) { return !are_there.contains(process.first); });
}

capture::Losses LiveLosses::look(const std::vector<ingest::DecodedLosses>& said) {
  find_processes();
  if (session_) {
    capture::Losses own{};
    for (size_t i = 0; i < own.size(); i++) own[i] = (*session_)->lost[i].load(std::memory_order_relaxed);
    raise_to(known_[""], own);
  }
  for (const ingest::DecodedLosses& one : said) raise_to(known_[one.key], one.lost);
  capture::Losses sum{};
  for (const auto& [key, losses] : known_) {
    for (size_t i = 0; i < sum.size(); i++) sum[i] += losses[i];
  }
  return sum;
}

}  // namespace nl::follow
