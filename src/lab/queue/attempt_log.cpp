#include "lab/queue/attempt_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files.h"

namespace nl::lab {
namespace {

/// The older one of the two that the end lies in, then the one that is written.
constexpr const char* kOldPiece = ".tail0";
constexpr const char* kNewPiece = ".tail1";
/// All in one; once it is there the others count no more.
constexpr const char* kWhole = ".whole";

int create_log_file(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

std::string bytes_of(const std::string& path) {
  const auto text = read_file(path);
  return text ? *text : std::string();
}

std::string cut_note(int64_t lost_bytes) {
  return lost_bytes < 0 ? "\n[neurolens: some bytes are missing here]\n"
                        : fmt::format("\n[neurolens: {} bytes are missing here]\n", lost_bytes);
}

bool has_pieces(const std::string& path) {
  return path_exists(path + kOldPiece) || path_exists(path + kNewPiece);
}

/// A log without pieces is its beginning.
std::string joined_text(const std::string& path, int64_t lost_bytes) {
  if (!has_pieces(path)) return bytes_of(path);
  const std::string note = lost_bytes == 0 ? "" : cut_note(lost_bytes);
  return bytes_of(path) + note + bytes_of(path + kOldPiece) + bytes_of(path + kNewPiece);
}

}  // namespace

Result<AttemptLog> AttemptLog::create(const std::string& path, int64_t most_bytes) {
  const int file = create_log_file(path);
  if (file < 0) return errno_error("cannot create the log", path, errno);
  return AttemptLog(path, file, most_bytes);
}

AttemptLog::AttemptLog(AttemptLog&& other) noexcept
    : path_(std::move(other.path_)),
      head_(std::exchange(other.head_, -1)),
      head_left_(other.head_left_),
      piece_bytes_(other.piece_bytes_),
      tail_(std::exchange(other.tail_, -1)),
      in_piece_(other.in_piece_),
      in_last_piece_(other.in_last_piece_),
      seen_(other.seen_),
      lost_(other.lost_) {}

AttemptLog::~AttemptLog() {
  if (head_ >= 0) ::close(head_);
  if (tail_ >= 0) ::close(tail_);
}

size_t AttemptLog::write_to(int file, std::string_view bytes) {
  size_t done = 0;
  while (file >= 0 && done < bytes.size()) {
    const ssize_t written = ::write(file, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<size_t>(written);
  }
  lost_ += static_cast<int64_t>(bytes.size() - done);
  return done;
}

void AttemptLog::add(std::string_view bytes) {
  seen_ += static_cast<int64_t>(bytes.size());
  const auto of_head = bytes.substr(0, static_cast<size_t>(head_left_));
  write_to(head_, of_head);
  head_left_ -= static_cast<int64_t>(of_head.size());
  add_to_tail(bytes.substr(of_head.size()));
}

void AttemptLog::add_to_tail(std::string_view bytes) {
  while (!bytes.empty()) {
    if (tail_ < 0 || in_piece_ >= piece_bytes_) begin_piece();
    const auto now = bytes.substr(0, static_cast<size_t>(std::max<int64_t>(piece_bytes_ - in_piece_, 1)));
    in_piece_ += static_cast<int64_t>(write_to(tail_, now));
    bytes.remove_prefix(now.size());
  }
}

/// The one that is full becomes the old one, and what was old is lost.
void AttemptLog::begin_piece() {
  if (tail_ >= 0) {
    ::close(tail_);
    if (::rename((path_ + kNewPiece).c_str(), (path_ + kOldPiece).c_str()) == 0)
      lost_ += std::exchange(in_last_piece_, in_piece_);
  }
  tail_ = create_log_file(path_ + kNewPiece);
  in_piece_ = 0;
}

/// Whoever is killed on the way is finished by the next call: nothing stands twice in the log.
Result<void> join_log(const std::string& path, int64_t lost_bytes) {
  const std::string whole = path + kWhole;
  if (!path_exists(whole)) {
    if (!has_pieces(path)) return {};
    NL_CHECK(replace_file(whole, joined_text(path, lost_bytes)));
  }
  ::unlink((path + kOldPiece).c_str());
  ::unlink((path + kNewPiece).c_str());
  if (::rename(whole.c_str(), path.c_str()) != 0) return errno_error("cannot rename", whole, errno);
  return {};
}

Result<std::string> read_log(const std::string& path, int64_t most_bytes) {
  const std::string whole = path + kWhole;
  std::string text = path_exists(whole) ? bytes_of(whole) : joined_text(path, -1);
  const auto most = static_cast<size_t>(most_bytes);
  if (text.size() <= most) return text;
  const size_t before = text.size() - most;
  return fmt::format("[neurolens: {} bytes before this]\n", before) + text.substr(before);
}

int64_t log_size(const std::string& path) {
  int64_t size = 0;
  for (const char* const piece : {"", kOldPiece, kNewPiece}) {
    const auto bytes = file_size(path + piece);
    size += bytes ? *bytes : 0;
  }
  return size;
}

}  // namespace nl::lab
