#pragma once
// PythonStacks: reads from the memory of another process which Python functions one of its threads is in. The
// process is not stopped, so a stack may change while it is read; if the parts do not fit together, it is
// given up. Supports CPython 3.9 to 3.13. Nothing in the other process's memory is trusted. One thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace nl::capture {

/// Where the interpreter keeps things.
struct PythonLayout {
  static constexpr uint64_t kNone = ~uint64_t{0};

  uint64_t interpreters_head;  ///< in the runtime
  uint64_t interpreter_next, threads_head;
  uint64_t thread_next;
  uint64_t native_id;  ///< kNone: only the address that pthread_self gives
  uint64_t pthread;
  uint64_t frame, frame_holder;  ///< of a thread; the latter kNone, or where in what `frame` points to
  uint64_t previous, code, owner;
  uint64_t function, file, first_line;  ///< of the code
  uint64_t length, state;               ///< of a text
  uint64_t ascii_bytes, other_bytes;    ///< of its head
  uint64_t object_type = 8;             ///< of any object
};

class PythonStacks {
 public:
  /// The process has the file mapped, its addresses shifted by `shift`. Files that are no Python are ignored.
  void map(uint32_t process_id, const std::string& path, uint64_t shift);
  /// A child has what its parent has.
  void copy(uint32_t parent_process, uint32_t process_id);
  /// The process became another program, or ended.
  void forget(uint32_t process_id) { interpreters_.erase(process_id); }

  enum class Found {
    kNothing,  ///< no Python, or a thread that runs none
    kTorn,     ///< it changed meanwhile
    kStack,
  };
  /// Functions, innermost first, as numbers of `names`.
  Found read(uint32_t process_id, uint32_t thread_id, std::vector<uint32_t>& functions);

  /// "forward (models/llama.py:12)"; grows.
  const std::vector<std::string>& names() const { return names_; }
  /// Why a Python could not be read; empty if there is none.
  const std::string& unread_reason() const { return unread_reason_; }

 private:
  struct Interpreter {
    uint32_t process_id = 0;
    uint64_t runtime = 0, code_type = 0;
    int minor = 0;
    std::optional<PythonLayout> layout = {};
    uint64_t tid_offset = 0;  ///< in what pthread_self points to; 0: not known yet
    std::unordered_map<uint32_t, uint64_t> thread_states = {};  ///< where a thread's was last
    std::map<std::tuple<uint64_t, uint64_t, uint64_t, uint32_t>, uint32_t> functions = {};
  };

  bool find_layout(Interpreter& python);
  uint64_t thread_state_of(Interpreter& python, uint32_t thread_id);
  bool is_of_thread(Interpreter& python, uint64_t state, uint32_t thread_id);
  Found read_frames(Interpreter& python, uint64_t frame, std::vector<uint32_t>& functions);
  std::optional<uint32_t> function_of(Interpreter& python, uint64_t code);
  std::string text_at(const Interpreter& python, uint64_t address) const;
  uint32_t number_of(const std::string& name);

  std::unordered_map<uint32_t, Interpreter> interpreters_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> names_;
  std::string unread_reason_;
};

/// "forward (models/llama.py:12)"; without the line if it is 0.
std::string python_function_text(std::string_view function, std::string_view file, uint32_t line);

}  // namespace nl::capture
