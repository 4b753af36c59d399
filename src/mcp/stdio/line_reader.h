#pragma once
// Lines from a descriptor, none longer than a message may be. For one thread.

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace nl::mcp {

class LineReader {
 public:
  LineReader(int fd, size_t most_bytes) : fd_(fd), most_bytes_(most_bytes) {}

  struct Line {
    std::string text = {};
    bool is_too_long = false;  ///< the text is left out
  };
  /// Waits for the next line. Nothing at the end of the input, or if it must stop. A last line needs no line
  /// break.
  Result<std::optional<Line>> next(const std::function<bool()>& must_stop);

 private:
  std::optional<Line> buffered();
  Result<bool> wait_for_input(const std::function<bool()>& must_stop) const;

  const int fd_;
  const size_t most_bytes_;
  std::string buffer_ = {};
  size_t searched_ = 0;       ///< bytes of the buffer without a line break
  bool is_skipping_ = false;  ///< the rest of a line that is too long
  bool has_ended_ = false;
};

}  // namespace nl::mcp
