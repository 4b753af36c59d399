// The command line: made from the registry of operations, no logic of its own. Besides, the program starts
// itself as the process that runs a model, see capture/model_passes.h, that times a command, see
// capture/run/timed_command.h, that runs the query of a user, see store/sql_workers.h, that serves the pages
// of a recording, see ops/capture/live_pages.h, or that watches a job of the queue, see lab/queue/keeper.h.

#include <cstring>

#include "capture/model_passes.h"
#include "capture/run/timed_command.h"
#include "cli/command_line.h"
#include "cli/live_server.h"
#include "lab/queue/keeper.h"
#include "ops/capture/live_pages.h"
#include "store/sql_workers.h"

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], nl::capture::kModelProcess) == 0)
    return nl::capture::measure_model(argv[2], argv[3]);
  if (argc >= 4 && std::strcmp(argv[1], nl::capture::kTimedCommand) == 0)
    return nl::capture::run_timed_command(argv[2], argv + 3);
  if (argc == 4 && std::strcmp(argv[1], nl::store::kSqlWorker) == 0)
    return nl::store::serve_one_query(argv[2], argv[3]);
  if (argc == 4 && std::strcmp(argv[1], nl::ops::kLivePages) == 0)
    return nl::cli::serve_live_pages(argv[2], argv[3]);
  if (argc == 2 && std::strcmp(argv[1], nl::lab::kQueueKeeper) == 0) return nl::lab::keep_queue_job();
  return nl::cli::run_command_line(argc, argv);
}
