// The command line: made from the registry of operations, no logic of its own.

#include "cli/command_line.h"

int main(int argc, char** argv) {
  return nl::cli::run_command_line(argc, argv);
}
