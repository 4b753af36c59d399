#include "http/api/figures.h"

#include <fmt/core.h>

#include <iterator>

namespace nl::http {
namespace {

constexpr std::array<int64_t, 7> kBounds = {1'000, 5'000, 20'000, 100'000, 500'000, 2'000'000, 10'000'000};

}  // namespace

void Figures::ended(std::string_view route, int status, int64_t microseconds) {
  const std::lock_guard lock(mutex_);
  Sums& sums = routes_.try_emplace(std::string(route)).first->second;
  sums.by_status[status]++;
  sums.microseconds += microseconds;
  for (size_t i = 0; i < kBounds.size(); i++) sums.at_most[i] += microseconds <= kBounds[i] ? 1 : 0;
}

std::string Figures::text() const {
  std::string out =
      "# HELP neurolens_requests_running Requests that are being answered.\n# TYPE "
      "neurolens_requests_running gauge\n";
  out += fmt::format("neurolens_requests_running {}\n", running_.load());
  out += "# HELP neurolens_jobs Jobs by state.\n# TYPE neurolens_jobs gauge\n";
  out += fmt::format("neurolens_jobs{{state=\"waiting\"}} {}\nneurolens_jobs{{state=\"running\"}} {}\n",
                     jobs_waiting_.load(), jobs_running_.load());
  out +=
      "# HELP neurolens_requests_total Requests that were answered.\n# TYPE neurolens_requests_total "
      "counter\n";
  const std::lock_guard lock(mutex_);
  for (const auto& [route, sums] : routes_) {
    for (const auto& [status, count] : sums.by_status)
      out += fmt::format("neurolens_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", route, status, count);
  }
  out +=
      "# HELP neurolens_request_seconds Time from the whole request to the whole answer.\n# TYPE "
      "neurolens_request_seconds histogram\n";
  for (const auto& [route, sums] : routes_) {
    int64_t all = 0;
    for (const auto& [status, count] : sums.by_status) all += count;
    for (size_t i = 0; i < kBounds.size(); i++)
      out += fmt::format("neurolens_request_seconds_bucket{{route=\"{}\",le=\"{}\"}} {}\n", route,
                         static_cast<double>(kBounds[i]) / 1e6, sums.at_most[i]);
    out += fmt::format("neurolens_request_seconds_bucket{{route=\"{}\",le=\"+Inf\"}} {}\n", route, all);
    out += fmt::format("neurolens_request_seconds_sum{{route=\"{}\"}} {}\n", route,
                       static_cast<double>(sums.microseconds) / 1e6);
    out += fmt::format("neurolens_request_seconds_count{{route=\"{}\"}} {}\n", route, all);
  }
  return out;
}

}  // namespace nl::http
