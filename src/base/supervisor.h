#pragma once
// Supervisor: a process between us and a program, so that all that the program starts can be ended with it,
// and nothing else. Processes whose parent ended become children of the supervisor (a "child subreaper"),
// also if they have left the program's group or session. That attribute belongs to a whole process: if ours
// had it, orphans of every thread's programs would meet in one list and nobody could tell whose they are.
//
// The supervisor is a fork of this process that never runs another program: one would be sampled together
// with the workload (CpuSampler), and would need a program to run. Since other threads may have held any lock
// at the moment of the fork, it calls the kernel and nothing else. It ends when we end; what it supervises
// goes on then, unless it is meant to end with us.
//
// One thread uses it.

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace nl {

/// What is started. All pointers must be valid until start has returned.
struct SupervisedProgram {
  std::string name;                  ///< for messages
  char* const* arguments = nullptr;  ///< [0] is the path; ends with a null pointer
  char* const* variables = nullptr;
  int input = -1;  ///< descriptors for its standard streams; -1: no input
  int output = -1;
  int errors = -1;
  bool ends_with_us = false;             ///< killed if we are; else it goes on then
  std::chrono::milliseconds grace = {};  ///< between being asked to end and being killed, for what it leaves
};

/// How the program ended.
struct SupervisedEnd {
  int status = 0;  ///< as of wait
  rusage usage = {};
  int64_t wall_ns = 0;
  int64_t strays = 0;  ///< processes that it left behind and that were ended
};

class Supervisor {
 public:
  static Result<Supervisor> start(const SupervisedProgram& program);
  Supervisor(Supervisor&& other) noexcept;
  Supervisor& operator=(Supervisor&&) = delete;
  /// Kills what still runs.
  ~Supervisor();

  /// Can be read when `ended` has news.
  int fd() const { return control_; }
  /// Whether the program itself is over; what it left may still be ending.
  bool is_over() const { return over_.has_value(); }
  /// The end, once nothing is left; never waits. An error if the program could not be started.
  Result<std::optional<SupervisedEnd>> ended();
  void ask_to_end() const;
  void kill() const;

 private:
  Supervisor(std::string name, pid_t pid, int control)
      : name_(std::move(name)), pid_(pid), control_(control) {}
  void say(char order) const;

  std::string name_;
  pid_t pid_;
  int control_;
  std::optional<SupervisedEnd> over_ = {};
};

}  // namespace nl
