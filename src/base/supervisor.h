#pragma once
// Supervisor: a process between us and a program that we start. With it we can end everything that the
// program started, and nothing else. Processes whose parent has ended become children of the supervisor (it
// is a "child subreaper"), even if they left the program's process group or session. We cannot be the
// subreaper ourselves: the attribute belongs to a whole process, so orphans of programs started by different
// threads would end up in one list and nobody could tell them apart.
//
// The supervisor is a fork of this process and never executes another program. An executed program would be
// sampled together with the workload (CpuSampler), and it would have to be installed. Other threads may have
// held any lock at the moment of the fork, so the supervisor makes system calls and nothing else. It ends
// when we end. The supervised program then continues, unless it was started with ends_with_us.
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
