// The process that serves one query of a user, see sql_workers.h.

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/confine.h"
#include "base/environment.h"
#include "base/files.h"
#include "store/run_views.h"
#include "store/sql_frames.h"
#include "store/sql_workers.h"

namespace nl::store {
namespace {

constexpr int kSocket = STDIN_FILENO;
constexpr size_t kBytesAtOnce = 1 << 16;

/// What the program that started us has open and did not mean to hand on.
void close_other_files() {
  for (const std::string& name : list_folder("/proc/self/fd")) {
    const int fd = std::atoi(name.c_str());
    if (fd > STDERR_FILENO) ::close(fd);
  }
}

void limit(int resource, rlim_t most) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) return;
  now.rlim_cur = std::min(most, now.rlim_max);
  (void)::setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
}

/// The engine keeps to its own limit of memory in most places; some functions do not ask it.
void limit_memory(int memory_mb) {
  limit(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  limit(RLIMIT_DATA, static_cast<rlim_t>(memory_mb) << 20);
#else
  (void)memory_mb;
#endif
}

/// Nobody waits for the answer once the other side is gone, and the engine may be deaf.
void end_when_alone() {
  std::thread([] {
    pollfd other{kSocket, POLLRDHUP, 0};
    while (::poll(&other, 1, -1) <= 0 || (other.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0) {
    }
    std::_Exit(1);
  }).detach();
}

Result<void> send_rows(EngineStart& engine, const RunFiles& files, const QueryRequest& request,
                       const QueryLimits& limits) {
  std::string rows;
  const auto flush = [&](size_t at_least) -> Result<void> {
    if (rows.empty() || rows.size() < at_least) return {};
    NL_CHECK(send_frame(kSocket, FrameKind::kRows, rows));
    rows.clear();
    return {};
  };
  QuerySink sink;
  sink.columns = [](const auto& columns) {
    return send_frame(kSocket, FrameKind::kColumns, columns_text(columns));
  };
  sink.row = [&](std::span<const Cell> cells) {
    append_row(rows, cells);
    return flush(kBytesAtOnce);
  };
  NL_CHECK(run_user_query(engine, files, request.sql, limits, sink));
  return flush(0);
}

/// For an engine that is deaf while nobody is left to kill the process.
void limit_time(const QueryLimits& limits) {
  constexpr int kGrace = 5;
  limit(RLIMIT_CPU, static_cast<rlim_t>(limits.seconds + kGrace) * static_cast<rlim_t>(limits.threads + 1));
}

Result<void> answer(EngineStart& engine, const QueryRequest& request, QueryLimits limits) {
  limits.seconds = request.seconds;
  limit_time(limits);
  NL_TRY(const auto files, run_files(request.place));
  limits.confine = [&](int output) {
    Rights rights{.readable = {files.place.bundle}};
    if (!files.derived.empty()) rights.readable.push_back(files.derived);
    if (output >= 0) rights.writable.push_back(output);
    (void)confine_process(rights);  // a kernel without it leaves the rules of the engine
  };
  if (!request.as_parquet) return send_rows(engine, files, request, limits);
  return stream_user_query_as_parquet(engine, files, request.sql, limits, [](std::string_view bytes) {
    return send_frame(kSocket, FrameKind::kBytes, bytes);
  });
}

Result<void> serve(const QueryLimits& limits) {
  EngineStart engine(query_engine(limits));
  NL_TRY(const Frame frame, receive_frame(kSocket, [] { return Result<void>(); }));
  NL_TRY(const QueryRequest request, parse_request(frame.text));
  try {
    if (const auto done = answer(engine, request, limits); !done)
      return send_frame(kSocket, FrameKind::kError, error_text(done.error()));
  } catch (const std::bad_alloc&) {
    return send_frame(kSocket, FrameKind::kError,
                      error_text({ErrorCode::kLimit, "the query takes too much memory"}));
  }
  return send_frame(kSocket, FrameKind::kEnd, "");
}

}  // namespace

int serve_one_query(const char* threads, const char* memory_mb) {
  QueryLimits limits;
  limits.threads = std::atoi(threads);
  limits.memory_mb = std::atoi(memory_mb);
  limits.temp_folder = Environment::of_process().temp_folder();
  close_other_files();
  limit_memory(limits.memory_mb);
  end_when_alone();
  const auto served = serve(limits);
  std::_Exit(served ? 0 : 1);  // nothing is left to tidy, and the engine takes its time
}

}  // namespace nl::store
