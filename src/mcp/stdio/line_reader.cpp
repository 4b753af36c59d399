#include "mcp/stdio/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"

namespace nl::mcp {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr int kLookEveryMs = 500;

}  // namespace

std::optional<LineReader::Line> LineReader::buffered() {
  const size_t end = buffer_.find('\n', searched_);
  searched_ = buffer_.size();
  if (end == std::string::npos) {
    if (buffer_.size() <= most_bytes_ && !is_skipping_) return std::nullopt;
    is_skipping_ = true;  // its end tells that it was too long
    buffer_.clear();
    searched_ = 0;
    return std::nullopt;
  }
  Line line;
  line.is_too_long = is_skipping_ || end > most_bytes_;
  if (!line.is_too_long) line.text = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  searched_ = 0;
  is_skipping_ = false;
  return line;
}

/// False: it must stop.
Result<bool> LineReader::wait_for_input(const std::function<bool()>& must_stop) const {
  while (!must_stop()) {
    pollfd look{fd_, POLLIN, 0};
    const int ready = ::poll(&look, 1, kLookEveryMs);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR)
      return Error{ErrorCode::kIo, std::string("cannot wait for input: ") + errno_text(errno)};
  }
  return false;
}

Result<std::optional<LineReader::Line>> LineReader::next(const std::function<bool()>& must_stop) {
  for (;;) {
    if (auto line = buffered()) return line;
    if (has_ended_) break;
    NL_TRY(const bool is_ready, wait_for_input(must_stop));
    if (!is_ready) return std::optional<Line>();
    const size_t before = buffer_.size();
    buffer_.resize(before + kReadBytes);
    const ssize_t got = ::read(fd_, buffer_.data() + before, kReadBytes);
    buffer_.resize(before + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got < 0 && errno != EINTR && errno != EAGAIN)
      return Error{ErrorCode::kIo, std::string("cannot read input: ") + errno_text(errno)};
    has_ended_ = got == 0;
  }
  if (buffer_.empty() && !is_skipping_) return std::optional<Line>();
  Line last{.text = std::move(buffer_), .is_too_long = is_skipping_};
  buffer_.clear();
  is_skipping_ = false;
  return std::optional(std::move(last));
}

}  // namespace nl::mcp
