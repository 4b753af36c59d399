// The command line: made from the registry of operations, no logic of its own. Besides, the program starts
// itself as the process that runs a model, see capture/model_passes.h, or that times a command, see
// capture/run/timed_command.h.

#include <cstring>

#include "capture/model_passes.h"
#include "capture/run/timed_command.h"
#include "cli/command_line.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], nl::capture::kModelProcess) == 0)
    return nl::capture::measure_model(argv[2]);
  if (argc >= 4 && std::strcmp(argv[1], nl::capture::kTimedCommand) == 0)
    return nl::capture::run_timed_command(argv[2], argv + 3);
  return nl::cli::run_command_line(argc, argv);
}
