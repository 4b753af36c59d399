#pragma once
// neurolens <verb> [options] [run…]: parses the arguments with the parameter schemas of the operations, calls
// the operation, and prints text or one JSON envelope. Data goes to stdout, everything else to stderr.

namespace nl::cli {

/// Exit codes: 0 fine, 1 a gate failed, 2 bad usage or input, 3 something needed is missing, 70 a bug of
/// ours, 130 stopped by Ctrl-C.
int run_command_line(int argc, char** argv);

}  // namespace nl::cli
