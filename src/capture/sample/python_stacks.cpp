#include "capture/sample/python_stacks.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <initializer_list>

#include "capture/sample/elf_file.h"
#include "wire/recording.h"

namespace nl::capture {
namespace {

constexpr int kMaxInterpreters = 64, kMaxThreads = 4096;
constexpr uint64_t kMaxTextChars = 400;
constexpr size_t kMaxCachedFunctions = 64 << 10;
constexpr uint8_t kOwnedByCStack = 3;  // a frame that stands for C code, from 3.12 on

constexpr uint64_t kNone = PythonLayout::kNone;
/// From the headers of each version; patch releases have kept them.
constexpr PythonLayout kPython39{32, 0,     8,   8,   kNone, 176, 24, kNone, 24,
                                 32, kNone, 112, 104, 40,    16,  32, 48,    72};
constexpr PythonLayout kPython311{40, 0, 16, 8, 160, 152, 56, 8, 48, 32, 69, 128, 112, 72, 16, 32, 48, 72};
constexpr PythonLayout kPython312{40, 0, 72, 8, 144, 136, 56, 0, 8, 0, 70, 128, 112, 68, 16, 32, 40, 56};

/// What 3.13 says of itself where its runtime begins (_Py_DebugOffsets).
struct DebugOffsets {
  char cookie[8];
  uint64_t version, free_threaded;
  struct {
    uint64_t size, finalizing, interpreters_head;
  } runtime;
  struct {
    uint64_t size, id, next, threads_head, gc, imports, sysdict, builtins, gil, gil_state[4];
  } interpreter;
  struct {
    uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id, datastack, status;
  } thread;
  struct {
    uint64_t size, previous, executable, instr_ptr, localsplus, owner;
  } frame;
  struct {
    uint64_t size, filename, name, qualname, linetable, firstlineno, rest[4];
  } code;
  uint64_t objects[2 + 4 + 3 + 3 + 3 + 2 + 3 + 3];  // object, type, tuple, list, dict, float, long, bytes
  struct {
    uint64_t size, state, length, asciiobject_size;
  } text;
};

bool read_memory(uint32_t process_id, uint64_t address, void* out, size_t bytes) {
  const iovec local{out, bytes};
  const iovec remote{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(static_cast<pid_t>(process_id), &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(bytes);
}

/// A value at an address of the process; 0 if it cannot be read.
template <class T>
T value_at(uint32_t process_id, uint64_t address) {
  T value{};
  return read_memory(process_id, address, &value, sizeof value) ? value : T{};
}

/// The words of an object that are asked for, in one reading: no more, as memory may end behind it.
class Piece {
 public:
  Piece(uint32_t process_id, uint64_t address, std::initializer_list<uint64_t> offsets) {
    uint64_t bytes = 0;
    for (const uint64_t offset : offsets) {
      if (offset != kNone) bytes = std::max(bytes, offset + sizeof(uint64_t));
    }
    is_read_ = bytes <= bytes_.size() && read_memory(process_id, address, bytes_.data(), bytes);
  }
  bool is_read() const { return is_read_; }
  template <class T>
  T at(uint64_t offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

 private:
  std::array<char, 512> bytes_ = {};
  bool is_read_ = false;
};

/// 11 of ".../libpython3.11.so.1.0"; 0 if it is no Python 3.
int minor_version_in(std::string_view path) {
  constexpr std::string_view kName = "python3.";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const size_t at = name.find(kName);
  int minor = 0;
  if (at != std::string_view::npos)
    std::from_chars(name.data() + at + kName.size(), name.data() + name.size(), minor);
  return minor;
}

std::optional<PythonLayout> layout_of(const DebugOffsets& said) {
  const bool is_313 =
      std::memcmp(said.cookie, "xdebugpy", sizeof said.cookie) == 0 && said.version >> 16 == 0x030D;
  if (!is_313) return std::nullopt;
  constexpr uint64_t kUtf8AndItsLength = 16;
  const PythonLayout layout{said.runtime.interpreters_head,
                            said.interpreter.next,
                            said.interpreter.threads_head,
                            said.thread.next,
                            said.thread.native_thread_id,
                            said.thread.thread_id,
                            said.thread.current_frame,
                            kNone,
                            said.frame.previous,
                            said.frame.executable,
                            said.frame.owner,
                            said.code.qualname,
                            said.code.filename,
                            said.code.firstlineno,
                            said.text.length,
                            said.text.state,
                            said.text.asciiobject_size,
                            said.text.asciiobject_size + kUtf8AndItsLength,
                            said.objects[1]};
  constexpr uint64_t kMost = 1 << 20;
  const bool is_sane = layout.interpreters_head < kMost && layout.threads_head < kMost &&
                       layout.native_id < kMost && layout.frame < kMost && layout.code < kMost &&
                       layout.function < kMost && layout.other_bytes < kMost && layout.object_type < kMost;
  return is_sane ? std::optional(layout) : std::nullopt;
}

void append_utf8(std::string& out, uint32_t c) {
  if (c < ' ' || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = '?';
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr uint8_t kHeads[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kHeads[more] | c >> 6 * more);
  for (int i = more - 1; i >= 0; i--) out += static_cast<char>(0x80 | (c >> 6 * i & 0x3F));
}

/// The last two parts of a path: files named __init__.py are many.
std::string_view tail_of(std::string_view path) {
  const size_t last = path.rfind('/');
  if (last == std::string_view::npos || last == 0) return path;
  const size_t before = path.rfind('/', last - 1);
  return before == std::string_view::npos ? path : path.substr(before + 1);
}

}  // namespace

std::string python_function_text(std::string_view function, std::string_view file, uint32_t line) {
  std::string text = std::string(function) + " (" + std::string(tail_of(file));
  if (line > 0) text += ":" + std::to_string(line);
  return text + ")";
}

void PythonStacks::map(uint32_t process_id, const std::string& path, uint64_t shift) {
  const int minor = minor_version_in(path);
  if (minor == 0) return;
  const auto file = ElfFile::open(path);
  if (!file) return;
  const auto found = file->addresses_of(std::array<std::string_view, 2>{"_PyRuntime", "PyCode_Type"});
  if (found[0] == 0 || found[1] == 0) return;  // a program whose Python is in a library
  interpreters_[process_id] = {process_id, shift + found[0], shift + found[1], minor};
}

void PythonStacks::copy(uint32_t parent_process, uint32_t process_id) {
  const auto it = interpreters_.find(parent_process);
  if (it == interpreters_.end()) return;
  const Interpreter& parent = it->second;
  interpreters_[process_id] = Interpreter{process_id, parent.runtime, parent.code_type, parent.minor};
}

bool PythonStacks::find_layout(Interpreter& python) {
  if (python.layout) return true;
  uint64_t first = 0;
  if (!read_memory(python.process_id, python.runtime, &first, sizeof first)) {
    if (errno == EPERM) unread_reason_ = "its memory may not be read; see kernel.yama.ptrace_scope";
    return false;
  }
  switch (python.minor) {
    case 9:
    case 10:
      python.layout = kPython39;
      break;
    case 11:
      python.layout = kPython311;
      break;
    case 12:
      python.layout = kPython312;
      break;
    case 13:
      python.layout = layout_of(value_at<DebugOffsets>(python.process_id, python.runtime));
      break;
    default:
      unread_reason_ =
          "Python 3." + std::to_string(python.minor) + " cannot be read; supported are 3.9 to 3.13";
  }
  return python.layout.has_value();
}

/// glibc keeps the id of a thread behind what pthread_self gives; where, the main thread tells: its id is
/// that of the process.
bool PythonStacks::is_of_thread(Interpreter& python, uint64_t state, uint32_t thread_id) {
  const PythonLayout& at = *python.layout;
  if (at.native_id != kNone) return value_at<uint64_t>(python.process_id, state + at.native_id) == thread_id;
  const auto pthread = value_at<uint64_t>(python.process_id, state + at.pthread);
  if (pthread == 0) return false;
  if (python.tid_offset == 0) {
    const auto words = value_at<std::array<uint32_t, 256>>(python.process_id, pthread);
    const auto it = std::find(words.begin(), words.end(), python.process_id);
    if (it == words.end()) return false;
    python.tid_offset = static_cast<uint64_t>(it - words.begin()) * sizeof(uint32_t);
  }
  return value_at<uint32_t>(python.process_id, pthread + python.tid_offset) == thread_id;
}

/// 0 if the thread has none: one that never ran Python.
uint64_t PythonStacks::thread_state_of(Interpreter& python, uint32_t thread_id) {
  const uint32_t process = python.process_id;
  const auto known = python.thread_states.find(thread_id);
  if (known != python.thread_states.end() && is_of_thread(python, known->second, thread_id))
    return known->second;
  python.thread_states.erase(thread_id);
  const PythonLayout& at = *python.layout;
  auto interpreter = value_at<uint64_t>(process, python.runtime + at.interpreters_head);
  for (int i = 0; interpreter != 0 && i < kMaxInterpreters; i++) {
    auto state = value_at<uint64_t>(process, interpreter + at.threads_head);
    for (int n = 0; state != 0 && n < kMaxThreads; n++) {
      if (is_of_thread(python, state, thread_id)) return python.thread_states[thread_id] = state;
      state = value_at<uint64_t>(process, state + at.thread_next);
    }
    interpreter = value_at<uint64_t>(process, interpreter + at.interpreter_next);
  }
  return 0;
}

PythonStacks::Found PythonStacks::read(uint32_t process_id, uint32_t thread_id,
                                       std::vector<uint32_t>& functions) {
  functions.clear();
  const auto it = interpreters_.find(process_id);
  if (it == interpreters_.end() || !find_layout(it->second)) return Found::kNothing;
  Interpreter& python = it->second;
  const uint64_t state = thread_state_of(python, thread_id);
  if (state == 0) return Found::kNothing;
  auto frame = value_at<uint64_t>(process_id, state + python.layout->frame);
  if (frame != 0 && python.layout->frame_holder != kNone)
    frame = value_at<uint64_t>(process_id, frame + python.layout->frame_holder);
  if (frame == 0) return Found::kNothing;
  return read_frames(python, frame, functions);
}

PythonStacks::Found PythonStacks::read_frames(Interpreter& python, uint64_t frame,
                                              std::vector<uint32_t>& functions) {
  const PythonLayout& at = *python.layout;
  for (size_t depth = 0; frame != 0 && depth < wire::kMaxStackDepth - 1; depth++) {
    const Piece piece(python.process_id, frame, {at.previous, at.code, at.owner});
    if (!piece.is_read()) return Found::kTorn;
    const bool is_of_c = at.owner != kNone && piece.at<uint8_t>(at.owner) == kOwnedByCStack;
    if (!is_of_c) {
      const auto function = function_of(python, piece.at<uint64_t>(at.code));
      if (!function) return Found::kTorn;
      functions.push_back(*function);
    }
    frame = piece.at<uint64_t>(at.previous);
  }
  return functions.empty() ? Found::kNothing : Found::kStack;
}

/// Nothing if there is no code at that address.
std::optional<uint32_t> PythonStacks::function_of(Interpreter& python, uint64_t code) {
  const PythonLayout& at = *python.layout;
  const Piece piece(python.process_id, code, {at.object_type, at.function, at.file, at.first_line});
  if (!piece.is_read() || piece.at<uint64_t>(at.object_type) != python.code_type) return std::nullopt;
  const std::tuple key{code, piece.at<uint64_t>(at.function), piece.at<uint64_t>(at.file),
                       piece.at<uint32_t>(at.first_line)};
  if (const auto it = python.functions.find(key); it != python.functions.end()) return it->second;
  const std::string function = text_at(python, std::get<1>(key)), file = text_at(python, std::get<2>(key));
  if (function.empty() || file.empty()) return std::nullopt;
  if (python.functions.size() >= kMaxCachedFunctions) python.functions.clear();
  return python.functions[key] = number_of(python_function_text(function, file, std::get<3>(key)));
}

/// As PyUnicode keeps it: characters of 1, 2 or 4 bytes behind a head; empty if it is none.
std::string PythonStacks::text_at(const Interpreter& python, uint64_t address) const {
  const PythonLayout& at = *python.layout;
  const auto state = value_at<uint32_t>(python.process_id, address + at.state);
  const uint32_t width = state >> 2 & 7;
  const bool is_compact = (state >> 5 & 1) != 0, is_ascii = (state >> 6 & 1) != 0;
  if (!is_compact || (width != 1 && width != 2 && width != 4)) return {};
  const uint64_t length = std::min(value_at<uint64_t>(python.process_id, address + at.length), kMaxTextChars);
  std::string bytes(length * width, '\0');
  const uint64_t begin = address + (is_ascii ? at.ascii_bytes : at.other_bytes);
  if (bytes.empty() || !read_memory(python.process_id, begin, bytes.data(), bytes.size())) return {};
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += width) {
    uint32_t c = 0;
    std::memcpy(&c, bytes.data() + i, width);
    append_utf8(text, c);
  }
  return text;
}

uint32_t PythonStacks::number_of(const std::string& name) {
  const auto [it, is_new] = numbers_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return it->second;
}

}  // namespace nl::capture
