#pragma once
// The pages of a recording while it runs: a process of this program that serves them, beside the recorder.
// The two share a pipe and nothing else: when the recorder ends, however it ends, the pages stay for a while
// and end, too.

#include <string>
#include <utility>

#include "base/environment.h"
#include "base/result.h"

namespace nl::ops {

/// First argument of this program as that process; then the ledger and the recording. Its standard input is
/// the pipe.
inline constexpr char kLivePages[] = "serve-live-pages";

/// Seconds that the pages stay after the recording; for tests.
inline constexpr char kLivePagesSeconds[] = "NEUROLENS_LIVE_PAGES_SECONDS";

/// Held as long as the recording goes on.
class LivePages {
 public:
  static Result<LivePages> start(const Environment& surroundings, const std::string& ledger,
                                 const std::string& recording);
  LivePages(LivePages&& other) noexcept : pipe_(std::exchange(other.pipe_, -1)) {}
  LivePages& operator=(LivePages&&) = delete;
  ~LivePages();

 private:
  explicit LivePages(int pipe) : pipe_(pipe) {}
  int pipe_;
};

}  // namespace nl::ops
