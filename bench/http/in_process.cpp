// in_process: calls operations in one process, as the command line does, with the answer as text. Run by
// bench/http/run, which holds the server against it.
//
// usage: in_process PROGRAM. Each line of standard input is {"ledger": folder, "operation": name,
// "parameters": {}, "calls": n}; the answer is a line of "CPU milliseconds, wall milliseconds, bytes of one
// answer", the times for one call. PROGRAM is the neurolens that runs SQL.

#include <fmt/core.h>
#include <sys/resource.h>

#include <chrono>
#include <ctime>
#include <iostream>
#include <string>

#include "ops/door.h"
#include "ops/envelope.h"
#include "store/sql_workers.h"

namespace nl {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

/// Of this process and of the children that have ended.
double cpu_ms() {
  timespec own{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  rusage children{};
  ::getrusage(RUSAGE_CHILDREN, &children);
  const auto of = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return 1e3 * static_cast<double>(own.tv_sec) + 1e-6 * static_cast<double>(own.tv_nsec) +
         of(children.ru_utime) + of(children.ru_stime);
}

std::string spelled(const SuggestedCall& call) {
  return "POST /api/v1/" + call.operation + " " + call.parameters;
}

/// Bytes of the answer.
Result<size_t> call_once(const std::string& operation, const json& parameters, ops::Context context) {
  size_t streamed = 0;
  context.bytes = [&](std::string_view bytes) -> Result<void> {
    streamed += bytes.size();
    return {};
  };
  NL_TRY(const ops::Outcome outcome, ops::call(operation, parameters, context));
  if (streamed > 0) return streamed;
  return (ops::compact_json(ops::envelope_of(operation, outcome, spelled)) + "\n").size();
}

int answer_all(const std::string& program) {
  store::SqlWorkers sql_workers{store::SqlWorkersOptions{
      .program = program, .ready = 1, .at_once = 1, .threads = 1, .memory_mb = 2048}};
  for (std::string line; std::getline(std::cin, line);) {
    const json asked = json::parse(line);
    ops::Context context;
    context.ledger_folder = asked["ledger"];
    context.principal = "bench";
    context.may = ops::Effect::kManage;  // as whoever starts a server
    context.spell = spelled;
    context.sql_workers = &sql_workers;
    const int calls = asked["calls"];
    const double cpu = cpu_ms();
    const auto begin = Clock::now();
    size_t bytes = 0;
    for (int i = 0; i < calls; i++) {
      const auto done = call_once(asked["operation"], asked["parameters"], context);
      if (!done) {
        fmt::print(stderr, "in_process: {}: {}\n", line, done.error().message);
        return 1;
      }
      bytes = *done;
    }
    const double wall = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    fmt::print("{:.4f} {:.4f} {}\n", (cpu_ms() - cpu) / calls, wall / calls, bytes);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace nl

int main(int argc, char** argv) {
  if (argc == 2) return nl::answer_all(argv[1]);
  fmt::print(stderr, "in_process PROGRAM\n");
  return 2;
}
