#pragma once
// Runs the SQL of users in separate processes: a query that takes too much time or memory then costs a
// process and not the program. Each process serves one query, so it leaves nothing behind for the next one.
// Some processes are kept ready with a started engine. Any thread may call.
//
// Such a process is the same program started again: main() sees kSqlWorker as its first argument and calls
// serve_one_query. A socket is the standard input of that process. It may read the files of one run and use
// its socket; it has no other rights, where the kernel can take them away.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/user_query.h"

namespace nl::store {

struct SqlWorkersOptions {
  std::string program = "/proc/self/exe";
  size_t ready = 2;      ///< processes that wait for a query
  size_t at_once = 8;    ///< queries that run; more of them wait for their turn
  int threads = 2;       ///< of each
  int memory_mb = 4096;  ///< of each
};

class SqlWorkers {
 public:
  explicit SqlWorkers(SqlWorkersOptions options);
  SqlWorkers(const SqlWorkers&) = delete;
  SqlWorkers& operator=(const SqlWorkers&) = delete;
  /// No query may run any more.
  ~SqlWorkers();

  /// As run_user_query; threads and memory are those of the options. `limit` if the process had to be killed.
  Result<void> query(const RunPlace& place, const std::string& sql, const QueryLimits& limits,
                     const QuerySink& sink);
  /// As stream_user_query_as_parquet.
  Result<void> query_as_parquet(const RunPlace& place, const std::string& sql, const QueryLimits& limits,
                                const std::function<Result<void>(std::string_view)>& bytes);
  /// A query will come: starts a process for it aside if none is ready.
  void expect_query();
  /// Process ids of those that wait, for tests.
  std::vector<int> ready_processes();

 private:
  class Worker;
  class Turn;

  Result<std::unique_ptr<Worker>> take_worker();
  void fill_up();

  const SqlWorkersOptions options_;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::vector<std::unique_ptr<Worker>> ready_;
  size_t running_ = 0;
};

/// First argument of the process that serves one query; behind it stand threads and megabytes.
inline constexpr const char* kSqlWorker = "--serve-one-query";

/// The whole life of such a process; its exit code.
int serve_one_query(const char* threads, const char* memory_mb);

}  // namespace nl::store
