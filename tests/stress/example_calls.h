#pragma once
// Calls of every operation of the registry, for tests that must reach all of them: many threads at once, and
// being cancelled. A new operation must be named here, or the tests say so.

#include <string>
#include <vector>

#include "base/json.h"
#include "ops/operation.h"

namespace nl::stress {

/// What the calls may name.
struct Examples {
  std::string one, two;  ///< ids of two runs of one program, the second slower
  std::string trace;     ///< the profile of `one`
  std::string run_file;  ///< `two`, as `export` writes it
  std::string output;    ///< a folder for files that operations write
};

struct Call {
  std::string operation;
  nlohmann::json parameters;
};

std::string call_text(const Call& call);

/// Calls that answer the same again and again as long as nobody changes the two runs.
std::vector<Call> reading_calls(const Examples& examples);
/// Calls that change the ledger or write files.
std::vector<Call> writing_calls(const Examples& examples);
/// Names of operations that need another program, a device or a screen.
std::vector<std::string> left_out();
/// Names of operations of the registry that no call above reaches; must be empty.
std::vector<std::string> forgotten_operations();

/// Everything a caller sees: data, warnings, text for people, bytes, and the files in `output`, which are
/// removed. What depends on other runs of the ledger or on the machine is left out.
Result<std::string> answer_of(const Call& call, ops::Context context, const std::string& output);

/// A trace of PyTorch with steps, operators, launches and kernels; about `events` events. A larger `slowness`
/// gives longer kernels.
std::string example_trace(int events, int slowness);

}  // namespace nl::stress
