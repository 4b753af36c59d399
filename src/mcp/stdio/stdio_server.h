#pragma once
// The protocol over two descriptors: one message a line in, one a line out. Several requests are answered at
// once, by a few threads; each answer is written in one piece. Called from one thread, which reads.

#include <cstddef>
#include <functional>

#include "base/result.h"
#include "mcp/core.h"
#include "mcp/provider.h"

namespace nl::mcp {

struct StdioOptions {
  int in = -1;
  int out = -1;
  size_t workers = 4;
  size_t most_waiting = 256;                               ///< requests that run or wait; more are refused
  std::function<bool()> must_stop = [] { return false; };  ///< asked twice a second or more, by any thread
};

/// Until the input ends, then until what it asked for is answered. If it must stop, or if the client has
/// gone, what runs is cancelled. `unavailable` if no thread can be started.
Result<void> serve_stdio(Core& core, Provider& provider, const StdioOptions& options);

}  // namespace nl::mcp
