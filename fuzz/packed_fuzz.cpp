// Fuzz harness over the reader of packed runs. The hash of the index stops every guess, so that most inputs
// are the index itself, sealed as it should be; some are the whole file. What is accepted must keep what the
// header of the reader promises. A broken promise is printed and traps.

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/sha256.h"
#include "store/packed_run.h"

namespace nl::store {
namespace {

void require(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  __builtin_trap();
}

bool leads_elsewhere(std::string_view name) {
  return name.empty() || name[0] == '/' || name.find("..") != std::string_view::npos ||
         name.find('\0') != std::string_view::npos;
}

void check(const PackedRun& run, int64_t file_bytes) {
  int64_t next = static_cast<int64_t>(kPackedStart.size());
  std::string last;
  for (const PackedFile& file : run.files()) {
    require(!leads_elsewhere(file.name), "names stay in the folder");
    require(last < file.name, "names are sorted, and none comes twice");
    require(file.offset == next && file.bytes >= 0, "files lie one behind the other");
    require(file.bytes <= file_bytes - next, "files lie in the file");
    next += file.bytes;
    last = file.name;
    (void)run.check(file);
    const auto text = run.read(file, 4096);
    if (text) require(sha256_hex(*text) == file.sha256, "what is read has its hash");
  }
  require(run.find("run.json") != nullptr, "there is a run.json");
  require(run.run_id().size() == 64, "the run has an id");
}

/// A file with this index and 64 bytes before it.
std::string sealed(std::string_view index) {
  const std::string content(64, 'x');
  return std::string(kPackedStart) + content + std::string(index) +
         fmt::format("NLZ1 {:020} {}\n", kPackedStart.size() + content.size(), sha256_hex(index));
}

}  // namespace
}  // namespace nl::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nl::store;
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string file = data[0] % 8 == 0 ? std::string(rest) : sealed(rest);
  static const int descriptor = ::memfd_create("packed", 0);
  const auto bytes = static_cast<int64_t>(file.size());
  if (::ftruncate(descriptor, 0) != 0 || ::pwrite(descriptor, file.data(), file.size(), 0) != bytes) return 0;
  const auto run = PackedRun::open(fmt::format("/proc/self/fd/{}", descriptor));
  if (run) check(*run, bytes);
  return 0;
}
