#pragma once
// SampledProcesses: follows what the kernel reports about the processes of a workload: start, exec, thread
// names, mapped code and end. With that, an address in a sample can be resolved to a place in a file. One
// thread.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/sample/elf_file.h"

namespace nl::capture {

/// What code is mapped from: a file, or in brackets what is none.
struct Module {
  std::string path;
  uint32_t process_id = 0;  ///< [jit]: whose
  std::string build_id = {};
  std::vector<ElfFile::Segment> segments = {};
};

struct CodePlace {
  uint32_t module = 0;
  uint64_t address = 0;
};

struct SampledThread {
  uint32_t thread_id = 0;
  uint64_t number = 0;  ///< in its process
  std::string name = {};
};

/// A program in a process. Another one in the same process is another one here.
struct SampledProcess {
  uint32_t process_id = 0;
  uint32_t number = 0;
  std::string program = {};
  uint64_t threads_seen = 0;
  std::map<uint32_t, SampledThread> threads = {};
};

struct CodeMapping {
  uint64_t start, bytes, offset;
  uint64_t device, inode;
  std::string path;
};

class SampledProcesses {
 public:
  static constexpr uint32_t kKernel = 0, kUnknown = 1, kCut = 2,
                            kPython = 3;  ///< modules that are always there

  SampledProcesses();

  void begin_thread(uint32_t process_id, uint32_t thread_id, uint32_t parent_process, uint32_t parent_thread);
  void end_thread(uint32_t process_id, uint32_t thread_id);
  void begin_program(uint32_t process_id, uint32_t thread_id, const std::string& name);
  void name_thread(uint32_t process_id, uint32_t thread_id, const std::string& name);
  void map_code(uint32_t process_id, const CodeMapping& mapping);

  const SampledProcess& process_of(uint32_t process_id) { return running(process_id).process; }
  const SampledThread& thread_of(uint32_t process_id, uint32_t thread_id);
  CodePlace place_of(uint32_t process_id, uint64_t address);
  /// By how much a mapping moves the addresses of its file; nothing if the file could not be read.
  std::optional<uint64_t> shift_of(uint32_t process_id, const CodeMapping& mapping);
  /// In the order of their numbers; grows.
  const std::vector<Module>& modules() const { return modules_; }

 private:
  struct Mapped {
    uint64_t end, offset;
    uint32_t module;
  };
  using Space = std::map<uint64_t, Mapped>;  ///< by start

  struct Running {
    SampledProcess process;
    std::shared_ptr<Space> space = std::make_shared<Space>();  ///< shared with its children until one maps
  };

  Running& running(uint32_t process_id);
  uint32_t module_of(uint32_t process_id, const CodeMapping& mapping);
  uint32_t add_module(const std::string& key, Module module);

  std::unordered_map<uint32_t, Running> running_;
  uint32_t programs_ = 0;
  std::vector<Module> modules_;
  std::unordered_map<std::string, uint32_t> module_numbers_;
};

}  // namespace nl::capture
