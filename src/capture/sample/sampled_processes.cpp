#include "capture/sample/sampled_processes.h"

#include "wire/recording.h"

namespace nl::capture {
namespace {

bool is_generated(const std::string& path) {
  return path.empty() || path.starts_with("//anon") || path == "[heap]" || path == "[stack]" ||
         path.starts_with("/memfd:") || path.starts_with("/dev/zero") || path.starts_with("/SYSV");
}

}  // namespace

SampledProcesses::SampledProcesses() {
  for (const char* name : {"[kernel]", "[unknown]", "[cut]", "[python]"}) add_module(name, {name});
}

SampledProcesses::Running& SampledProcesses::running(uint32_t process_id) {
  const auto [it, is_new] = running_.try_emplace(process_id);
  if (is_new) {
    it->second.process.process_id = process_id;
    it->second.process.number = programs_++;
  }
  return it->second;
}

const SampledThread& SampledProcesses::thread_of(uint32_t process_id, uint32_t thread_id) {
  SampledProcess& process = running(process_id).process;
  const auto [it, is_new] = process.threads.try_emplace(thread_id);
  if (is_new) it->second = {thread_id, ++process.threads_seen, process.program};
  return it->second;
}

void SampledProcesses::begin_thread(uint32_t process_id, uint32_t thread_id, uint32_t parent_process,
                                    uint32_t parent_thread) {
  const std::string name = thread_of(parent_process, parent_thread).name;
  if (process_id != parent_process) {
    const Running parent = running(parent_process);
    running_.erase(process_id);  // of a process long ago whose end was lost
    Running& child = running(process_id);
    child.process.program = parent.process.program;
    child.space = parent.space;
  }
  thread_of(process_id, thread_id);
  running(process_id).process.threads[thread_id].name = name;
}

void SampledProcesses::end_thread(uint32_t process_id, uint32_t thread_id) {
  const auto it = running_.find(process_id);
  if (it == running_.end()) return;
  it->second.process.threads.erase(thread_id);
  if (it->second.process.threads.empty()) running_.erase(it);
}

void SampledProcesses::begin_program(uint32_t process_id, uint32_t thread_id, const std::string& name) {
  running_.erase(process_id);
  running(process_id).process.program = name;
  thread_of(process_id, thread_id);
}

void SampledProcesses::name_thread(uint32_t process_id, uint32_t thread_id, const std::string& name) {
  thread_of(process_id, thread_id);
  running(process_id).process.threads[thread_id].name = name;
}

// ---- Code

uint32_t SampledProcesses::add_module(const std::string& key, Module module) {
  const auto [it, is_new] = module_numbers_.try_emplace(key, static_cast<uint32_t>(modules_.size()));
  if (is_new) modules_.push_back(std::move(module));
  return it->second;
}

uint32_t SampledProcesses::module_of(uint32_t process_id, const CodeMapping& mapping) {
  if (is_generated(mapping.path)) {
    const std::string key = "[jit] " + std::to_string(process_id);
    if (modules_.size() >= wire::kMaxModules && !module_numbers_.contains(key)) return kUnknown;
    return add_module(key, {"[jit]", process_id});
  }
  const std::string key =
      mapping.path + "\n" + std::to_string(mapping.device) + "\n" + std::to_string(mapping.inode);
  if (const auto it = module_numbers_.find(key); it != module_numbers_.end()) return it->second;
  if (modules_.size() >= wire::kMaxModules) return kUnknown;
  Module module{mapping.path};
  if (mapping.path.starts_with('/')) {
    if (const auto file = ElfFile::open(mapping.path)) {
      module.build_id = file->build_id();
      module.segments = file->segments();
    }
  }
  return add_module(key, std::move(module));
}

void SampledProcesses::map_code(uint32_t process_id, const CodeMapping& mapping) {
  const uint64_t start = mapping.start, end = start + mapping.bytes;
  if (end <= start) return;
  Running& process = running(process_id);
  if (process.space.use_count() > 1) process.space = std::make_shared<Space>(*process.space);
  Space& space = *process.space;
  auto it = space.upper_bound(start);
  if (it != space.begin()) --it;
  while (it != space.end() && it->first < end) {
    const auto [old_start, old] = *it;
    if (old.end <= start) {
      ++it;
      continue;
    }
    it = space.erase(it);
    if (old_start < start) space[old_start] = {start, old.offset, old.module};
    if (old.end > end) space[end] = {old.end, old.offset + (end - old_start), old.module};
  }
  space[start] = {end, mapping.offset, module_of(process_id, mapping)};
}

std::optional<uint64_t> SampledProcesses::shift_of(uint32_t process_id, const CodeMapping& mapping) {
  const Module& module = modules_[module_of(process_id, mapping)];
  const auto address = nl::capture::address_of(module.segments, mapping.offset);
  return address ? std::optional(mapping.start - *address) : std::nullopt;
}

CodePlace SampledProcesses::place_of(uint32_t process_id, uint64_t address) {
  const Space& space = *running(process_id).space;
  auto it = space.upper_bound(address);
  if (it == space.begin() || address >= (--it)->second.end) return {kUnknown, 0};
  const Module& module = modules_[it->second.module];
  if (module.path == "[jit]") return {it->second.module, address};
  if (module.path.starts_with('[')) return {it->second.module, 0};
  const uint64_t offset = address - it->first + it->second.offset;
  return {it->second.module, nl::capture::address_of(module.segments, offset).value_or(offset)};
}

}  // namespace nl::capture
