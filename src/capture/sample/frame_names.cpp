#include "capture/sample/frame_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <memory>

#include "base/demangle.h"
#include "base/files.h"
#include "capture/record/recording_file.h"
#include "capture/sample/elf_file.h"
#include "capture/sample/python_stacks.h"

namespace nl::capture {
namespace {

constexpr size_t kFlushNameBytes = 4 << 20;
constexpr size_t kMaxFrameName = 1024;  // a stack has many
constexpr uint64_t kMaxMapLines = 16 << 20;

struct ModuleFrames {
  std::string path;
  uint32_t process_id = 0;
  std::string build_id;
  std::map<uint64_t, uint32_t> frames;  ///< by address
};

/// What a recording says of modules and frames.
class FrameReader {
 public:
  void take(const wire::ChunkHeader& header, std::string_view payload) {
    if (header.kind == wire::ChunkKind::kModules) take_modules(payload);
    if (header.kind == wire::ChunkKind::kFrames) take_frames(payload);
    has_names_ = has_names_ || (chunks_ == 1 && header.kind == wire::ChunkKind::kFrameNames);
    chunks_++;
  }
  const std::map<uint32_t, ModuleFrames>& modules() const { return modules_; }
  /// Written here before: names of machine code stand behind the first chunk, those of Python later.
  bool has_names() const { return has_names_; }

 private:
  void take_modules(std::string_view payload) {
    wire::ModuleHead head;
    while (payload.size() >= sizeof head) {
      std::memcpy(&head, payload.data(), sizeof head);
      const size_t bytes = wire::padded(sizeof head + head.path_bytes + size_t{head.build_id_bytes});
      if (bytes > payload.size()) return;
      ModuleFrames& module = modules_[head.module];
      module.process_id = head.process_id;
      module.path = payload.substr(sizeof head, head.path_bytes);
      module.build_id = payload.substr(sizeof head + head.path_bytes, head.build_id_bytes);
      payload.remove_prefix(bytes);
    }
  }
  void take_frames(std::string_view payload) {
    wire::Frame frame;
    for (; payload.size() >= sizeof frame; payload.remove_prefix(sizeof frame)) {
      std::memcpy(&frame, payload.data(), sizeof frame);
      modules_[frame.module].frames[frame.address] = frame.frame;
    }
  }

  std::map<uint32_t, ModuleFrames> modules_;
  uint64_t chunks_ = 0;
  bool has_names_ = false;
};

std::string hex_of(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[c & 15];
  }
  return text;
}

/// Where distributions put symbols that they took out of a file.
std::string debug_file_of(const std::string& build_id) {
  const std::string id = hex_of(build_id);
  return id.size() < 3 ? "" : "/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
}

/// Fills in names that are missing, if the file is the one that ran.
void add_functions(const std::string& path, const std::string& build_id, std::span<const uint64_t> addresses,
                   std::vector<std::string>& names) {
  const auto file = ElfFile::open(path);
  if (!file || file->build_id() != build_id) return;
  const auto found = file->functions_at(addresses);
  for (size_t i = 0; i < names.size(); i++) {
    if (names[i].empty()) names[i] = found[i];
  }
}

std::vector<std::string> names_of(const ModuleFrames& module, std::span<const uint64_t> addresses) {
  if (module.path == "[jit]")
    return names_in_perf_map("/tmp/perf-" + std::to_string(module.process_id) + ".map", addresses);
  std::vector<std::string> names(addresses.size());
  if (!module.path.starts_with('/')) return names;
  add_functions(module.path, module.build_id, addresses, names);
  const bool is_complete =
      std::none_of(names.begin(), names.end(), [](const std::string& name) { return name.empty(); });
  if (!is_complete && !module.build_id.empty())
    add_functions(debug_file_of(module.build_id), module.build_id, addresses, names);
  return names;
}

/// As people read it, on one line, without the sign that separates frames.
std::string readable(const std::string& symbol) {
  std::string name = symbol;
  if (is_mangled(symbol)) name = demangle(symbol).value_or(symbol);
  if (name.size() > kMaxFrameName) name = name.substr(0, kMaxFrameName - 3) + "...";
  for (char& c : name) {
    if (c == ';') c = ':';
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return name;
}

Result<void> write_out(RecordingFile& file) {
  NL_TRY(const bool is_written, file.flush());
  if (!is_written) return Error{ErrorCode::kIo, "the disk is full: " + file.path()};
  return {};
}

/// One module after the other, so that memory holds the names of one.
Result<void> add_names(const FrameReader& reader, RecordingFile& out) {
  std::string payload;
  const auto move = [&] {
    if (!payload.empty()) out.add({.kind = wire::ChunkKind::kFrameNames}, payload);
    payload.clear();
  };
  for (const auto& [number, module] : reader.modules()) {
    std::vector<uint64_t> addresses;
    for (const auto& [address, frame] : module.frames) addresses.push_back(address);
    const auto names = names_of(module, addresses);
    for (size_t i = 0; i < names.size(); i++) {
      if (names[i].empty()) continue;
      const std::string name = readable(names[i]);
      wire::append_bytes(
          payload, wire::FrameNameHead{module.frames.at(addresses[i]), static_cast<uint32_t>(name.size())});
      payload += name;
      payload.resize(wire::padded(payload.size()));
      if (payload.size() > wire::kMaxChunkBytes / 2) move();
    }
    move();
    NL_CHECK(write_out(out));
  }
  return {};
}

/// All chunks of `path`, the names behind the first.
Result<void> copy_with_names(const std::string& path, const FrameReader& reader, RecordingFile& out) {
  Result<void> copied;
  bool is_first = true;
  const auto copy = [&](const wire::ChunkHeader& header, std::string_view payload) {
    if (!copied) return;
    out.add(header, payload);
    if (is_first) copied = add_names(reader, out);
    is_first = false;
    if (copied && out.waiting().size() > kFlushNameBytes) copied = write_out(out);
  };
  NL_CHECK(RecordingFile::reopen(path, copy));
  NL_CHECK(copied);
  NL_CHECK(write_out(out));
  return out.sync();
}

/// Anyone may put a file of that name into /tmp: only a plain file of our own is read.
FILE* open_own_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  struct stat info {};
  if (fd >= 0 && ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid())
    return ::fdopen(fd, "r");
  if (fd >= 0) ::close(fd);
  return nullptr;
}

struct MapLine {
  uint64_t start = 0, bytes = 0;
  std::string_view name;
};

/// "7f0c8a2b1000 40 py::forward:/srv/model.py"
bool parse(std::string_view line, MapLine& out) {
  const char* const end = line.data() + line.size();
  const auto start = std::from_chars(line.data(), end, out.start, 16);
  if (start.ec != std::errc() || start.ptr == end || *start.ptr != ' ') return false;
  const auto bytes = std::from_chars(start.ptr + 1, end, out.bytes, 16);
  if (bytes.ec != std::errc() || bytes.ptr == end || *bytes.ptr != ' ') return false;
  out.name = {bytes.ptr + 1, static_cast<size_t>(end - bytes.ptr - 1)};
  return true;
}

/// Of "py::forward:/srv/model.py" what Python functions are called elsewhere; else the name itself.
std::string name_of(const MapLine& line) {
  constexpr std::string_view kPrefix = "py::";
  const size_t colon = line.name.find(':', kPrefix.size());
  if (!line.name.starts_with(kPrefix) || colon == std::string_view::npos) return std::string(line.name);
  const std::string_view function = line.name.substr(kPrefix.size(), colon - kPrefix.size());
  return python_function_text(function, line.name.substr(colon + 1), 0);
}

}  // namespace

std::vector<std::string> names_in_perf_map(const std::string& path, std::span<const uint64_t> addresses) {
  std::vector<std::string> names(addresses.size());
  const std::unique_ptr<FILE, int (*)(FILE*)> file(
      open_own_file(path), [](FILE* open) { return open == nullptr ? 0 : ::fclose(open); });
  char line[8192];
  for (uint64_t lines = 0; file && lines < kMaxMapLines && ::fgets(line, sizeof line, file.get()); lines++) {
    MapLine entry;
    if (!parse({line, ::strcspn(line, "\n")}, entry)) continue;
    auto it = std::lower_bound(addresses.begin(), addresses.end(), entry.start);
    for (; it != addresses.end() && *it - entry.start < entry.bytes; ++it)
      names[static_cast<size_t>(it - addresses.begin())] = name_of(entry);
  }
  return names;
}

Result<void> name_frames(const std::string& path) {
  FrameReader reader;
  NL_CHECK(RecordingFile::reopen(path, [&](const wire::ChunkHeader& header, std::string_view payload) {
    reader.take(header, payload);
  }));
  if (reader.has_names()) return {};
  const std::string aside = path + ".named";
  ::unlink(aside.c_str());
  auto named = [&]() -> Result<void> {
    NL_TRY(RecordingFile out, RecordingFile::create(aside));
    NL_CHECK(copy_with_names(path, reader, out));
    if (::rename(aside.c_str(), path.c_str()) != 0) return errno_error("cannot write", path, errno);
    return {};
  }();
  if (!named) ::unlink(aside.c_str());
  return named;
}

}  // namespace nl::capture
