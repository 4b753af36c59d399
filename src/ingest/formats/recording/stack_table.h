#pragma once
// StackTable: the stacks of a recording, which samples refer to by number (wire/recording.h), as text. Memory
// is bounded whatever the file contains; one thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/recording.h"

namespace nl::ingest {

class StackTable {
 public:
  /// Takes a chunk of modules, frames, names of frames or stacks. False if it does not hold what it should,
  /// or too much; what stands before that is kept.
  bool take(wire::ChunkKind kind, std::string_view payload);

  bool has(uint32_t stack) const { return stack < stacks_.size() && stacks_[stack].depth > 0; }
  /// Frames, outermost first, joined by ;
  std::string text(uint32_t stack) const;
  /// Build ids of the modules that have one, as text, with their paths.
  std::vector<std::pair<std::string, std::string>> build_ids() const;

 private:
  static constexpr size_t kMaxTextBytes = 64 << 20;   ///< of modules and names together
  static constexpr size_t kMaxStackBytes = 32 << 10;  ///< of one as text; callers beyond are cut off

  /// Part of texts_.
  struct Text {
    uint32_t offset = 0, bytes = 0;
  };
  struct Module {
    Text path, build_id;
  };
  struct Frame {
    uint32_t module = 0;
    bool is_defined = false;
    uint64_t address = 0;
    Text name;
  };
  struct Stack {
    uint32_t first = 0, depth = 0;  ///< in stack_frames_
  };

  bool take_modules(std::string_view payload);
  bool take_frames(std::string_view payload);
  bool take_names(std::string_view payload);
  bool take_stacks(std::string_view payload);
  bool keep(std::string_view text, Text& out);
  std::string_view view(const Text& text) const {
    return std::string_view(texts_).substr(text.offset, text.bytes);
  }
  std::string frame_text(uint32_t number) const;

  std::string texts_;
  std::vector<Module> modules_;
  std::vector<Frame> frames_;
  std::vector<Stack> stacks_;
  std::vector<uint32_t> stack_frames_;
};

}  // namespace nl::ingest
