#include "lab/machine/pinned_thread.h"

#include <cerrno>

#include "base/decimal.h"
#include "base/files.h"
#include "base/text.h"

namespace nl::lab {
namespace {

Result<cpu_set_t> processors_of(const std::string& text) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::string& range : split(text, ',')) {
    const size_t dash = range.find('-');
    int64_t first = 0, last = 0;
    if (!parse_int64(range.substr(0, dash), first) ||
        !parse_int64(dash == std::string::npos ? range : range.substr(dash + 1), last) || first < 0 ||
        last < first || last >= CPU_SETSIZE)
      return Error{ErrorCode::kBadInput, "not a list of processors: " + text, "such as 0-3,8"};
    for (int64_t i = first; i <= last; i++) CPU_SET(static_cast<size_t>(i), &set);
  }
  return set;
}

}  // namespace

Result<PinnedThread> PinnedThread::pin(const std::string& processors) {
  PinnedThread pinned;
  if (processors.empty()) return pinned;
  NL_TRY(const cpu_set_t wanted, processors_of(processors));
  if (::sched_getaffinity(0, sizeof pinned.before_, &pinned.before_) != 0)
    return errno_error("cannot read the processors of", "this thread", errno);
  cpu_set_t both;
  CPU_AND(&both, &wanted, &pinned.before_);
  if (!CPU_EQUAL(&both, &wanted))
    return Error{ErrorCode::kUnavailable, "this machine lacks some of these processors: " + processors,
                 "change pin in the file"};
  if (::sched_setaffinity(0, sizeof wanted, &wanted) != 0)
    return errno_error("cannot run on processors", processors, errno);
  pinned.is_pinned_ = true;
  return pinned;
}

PinnedThread::~PinnedThread() {
  if (is_pinned_) ::sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace nl::lab
