#pragma once
// SQL of users in processes of their own, for programs that live long: a query that takes too much time or
// memory costs a process, not the program. Each process serves one query, so nothing of it is left for the
// next one; some are kept ready, each with its engine started. Any thread may call.
//
// The program starts itself again (main() hands kSqlWorker to serve_one_query); a socket is the standard
// input of that process. Where no SqlWorkers are used, as on the command line, run_user_query does the same
// in place.

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
  Result<void> query(const std::string& bundle, const std::string& sql, const QueryLimits& limits,
                     const QuerySink& sink);
  /// As stream_user_query_as_parquet.
  Result<void> query_as_parquet(const std::string& bundle, const std::string& sql, const QueryLimits& limits,
                                const std::function<Result<void>(std::string_view)>& bytes);
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
