#include "follow/chunk_tail.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/files.h"
#include "capture/record/segments.h"

namespace nl::follow {
namespace {

using std::chrono::steady_clock;

constexpr size_t kPieceBytes = 4 << 20;
static_assert(kPieceBytes > sizeof(wire::ChunkHeader) + wire::kMaxChunkBytes);
constexpr auto kGrace = std::chrono::seconds(2);  ///< for bytes that another machine may still be writing
constexpr auto kLookPause = std::chrono::seconds(1);
constexpr size_t kMostProcessesTold = 4096;

Result<size_t> read_at(int fd, const std::string& path, int64_t offset, char* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t bytes = ::pread(fd, out + done, size - done, offset + static_cast<int64_t>(done));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return errno_error("cannot read", path, errno);
    if (bytes == 0) break;
    done += static_cast<size_t>(bytes);
  }
  return done;
}

int64_t size_of(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? info.st_size : 0;
}

/// Only plain files: a link or a pipe of that name is none of the recorder's. -1: there is none.
Result<int> open_plain(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  const bool is_none = errno == ENOENT || errno == ELOOP || errno == ENXIO;
  if (fd < 0 && !is_none) return errno_error("cannot read", path, errno);
  struct stat info {};
  if (fd >= 0 && (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
    ::close(fd);
    return -1;
  }
  return fd;
}

std::set<int> segments_in(const std::string& folder) {
  std::set<int> numbers;
  for (const std::string& name : list_folder(folder)) {
    if (const auto number = capture::segment_number(name)) numbers.insert(*number);
  }
  return numbers;
}

std::string segment_path(const std::string& folder, int number) {
  return folder + "/" + capture::segment_name(number);
}

/// The recorder holds a lock as long as it writes. It takes the lock before it writes the header of the file,
/// so asking for it once the header was read never gets in its way.
bool is_written(int fd) {
  if (::flock(fd, LOCK_SH | LOCK_NB) != 0) return true;
  ::flock(fd, LOCK_UN);
  return false;
}

}  // namespace

Result<ChunkTail> ChunkTail::open(const std::string& folder) {
  // A segment may go between the listing and the opening.
  for (const int number : segments_in(folder)) {
    const std::string path = segment_path(folder, number);
    NL_TRY(const int fd, open_plain(path));
    if (fd >= 0) return ChunkTail(folder, path, fd, number);
  }
  const std::string path = folder + "/" + capture::kRecordingName;
  NL_TRY(const int fd, open_plain(path));
  if (fd < 0) return Error{ErrorCode::kNotFound, "nothing is recorded there: " + folder};
  return ChunkTail(folder, path, fd, -1);
}

ChunkTail::ChunkTail(ChunkTail&& other) noexcept
    : folder_(std::move(other.folder_)),
      path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      segment_(other.segment_),
      offset_(other.offset_),
      has_header_(other.has_header_),
      piece_(std::move(other.piece_)),
      boot_id_(std::move(other.boot_id_)),
      state_(other.state_),
      why_(std::move(other.why_)),
      records_(other.records_),
      skipped_(other.skipped_),
      missed_segments_(other.missed_segments_),
      in_file_(other.in_file_),
      before_(other.before_),
      processes_(std::move(other.processes_)),
      suspected_(other.suspected_),
      looked_(other.looked_) {}

ChunkTail::~ChunkTail() {
  if (fd_ >= 0) ::close(fd_);
}

void ChunkTail::end(State state, std::string why) {
  state_ = state;
  why_ = std::move(why);
}

/// What cannot be a chunk may be half written. It is damage if it stays so.
void ChunkTail::suspect(const char* what) {
  const auto now = steady_clock::now();
  if (!suspected_) suspected_ = now;
  if (now - *suspected_ >= kGrace) end(State::kBroken, what);
}

void ChunkTail::count(const wire::ChunkHeader& header) {
  records_ += header.records;
  in_file_ += header.records;
  if (header.records > 0 && processes_.size() < kMostProcessesTold) processes_.insert(header.process);
}

int64_t ChunkTail::behind_bytes() const {
  return state_ == State::kRunning ? std::max<int64_t>(0, size_of(fd_) - offset_) : 0;
}

/// False: it is not there yet, or wrong.
Result<bool> ChunkTail::read_header() {
  if (has_header_) return true;
  wire::FileHeader header{};
  NL_TRY(const size_t got, read_at(fd_, path_, 0, reinterpret_cast<char*>(&header), sizeof header));
  if (got < sizeof header) return false;
  if (std::memcmp(header.magic, wire::kRecordingMagic, sizeof header.magic) != 0 ||
      header.version != wire::kRecordingVersion) {
    end(State::kBroken, "The file is not a recording of this version.");
    return false;
  }
  boot_id_.assign(header.boot_id, strnlen(header.boot_id, sizeof header.boot_id));
  offset_ = sizeof header;
  has_header_ = true;
  return true;
}

Result<void> ChunkTail::skip_to(int64_t bytes, const Take& take) {
  NL_TRY(const bool has_header, read_header());
  std::string payload;
  while (has_header && size_of(fd_) - offset_ > bytes) {
    wire::ChunkHeader header;
    NL_TRY(const size_t got, read_at(fd_, path_, offset_, reinterpret_cast<char*>(&header), sizeof header));
    if (got < sizeof header || !wire::is_sound(header)) return {};
    if (header.kind != wire::ChunkKind::kRecords) {
      payload.resize(header.bytes);
      NL_TRY(const size_t taken, read_at(fd_, path_, offset_ + static_cast<int64_t>(sizeof header),
                                         payload.data(), payload.size()));
      if (taken < payload.size() || !wire::is_sound(header, payload)) return {};
      NL_CHECK(take(header, payload));
    } else {
      count(header);
      skipped_ += header.records;
    }
    offset_ += static_cast<int64_t>(sizeof header + header.bytes);
  }
  return {};
}

/// The whole chunks of the next bytes; false if there are none.
Result<bool> ChunkTail::read_piece(const Take& take) {
  const int64_t size = size_of(fd_);
  if (size < offset_) {
    end(State::kBroken, "The file of the recording was cut short while it was followed.");
    return false;
  }
  piece_.resize(std::min(kPieceBytes, static_cast<size_t>(size - offset_)));
  NL_TRY(const size_t got, read_at(fd_, path_, offset_, piece_.data(), piece_.size()));
  const std::string_view piece(piece_.data(), got);
  size_t at = 0;
  while (piece.size() - at >= sizeof(wire::ChunkHeader)) {
    wire::ChunkHeader header;
    std::memcpy(&header, piece.data() + at, sizeof header);
    if (!wire::is_sound(header)) {
      if (at == 0) suspect("The recording is damaged: what follows cannot be read.");
      break;
    }
    const std::string_view payload = piece.substr(at + sizeof header, header.bytes);
    if (payload.size() < header.bytes) break;  // not written yet, or in the next piece
    if (!wire::is_sound(header, payload)) {
      if (at == 0) suspect("The recording is damaged: a chunk of it does not fit its checksum.");
      break;
    }
    at += sizeof header + header.bytes;
    if (header.kind == wire::ChunkKind::kRecords) count(header);
    NL_CHECK(take(header, payload));
    if (header.kind == wire::ChunkKind::kEnd) {
      end(State::kComplete, "");
      break;
    }
  }
  offset_ += static_cast<int64_t>(at);
  if (at > 0) suspected_.reset();
  return at > 0 && state_ == State::kRunning;
}

/// It means that this one is complete.
bool ChunkTail::has_newer_segment() const {
  if (segment_ < 0) return false;
  const std::set<int> all = segments_in(folder_);
  return all.upper_bound(segment_) != all.end();
}

/// True if there is more to read now.
Result<bool> ChunkTail::next_segment() {
  const std::set<int> all = segments_in(folder_);
  for (auto next = all.upper_bound(segment_); next != all.end(); ++next) {
    const std::string path = segment_path(folder_, *next);
    NL_TRY(const int fd, open_plain(path));
    if (fd < 0) continue;
    missed_segments_ += static_cast<uint64_t>(*next - segment_ - 1);
    before_ = *next == segment_ + 1 ? in_file_ : 0;  // two files are kept: one that was missed is gone
    in_file_ = 0;
    ::close(std::exchange(fd_, fd));
    path_ = path;
    segment_ = *next;
    offset_ = 0;
    has_header_ = false;
    suspected_.reset();
    return true;
  }
  return false;
}

/// Nothing new has come: is the recorder still there? True if it is over.
bool ChunkTail::look_for_end() {
  const auto now = steady_clock::now();
  if (!has_header_ || now - looked_ < kLookPause) return false;
  looked_ = now;
  return !is_written(fd_);
}

Result<void> ChunkTail::read(const Take& take, const GoOn& goes_on) {
  bool is_over = false;
  bool is_segment_done = false;
  while (state_ == State::kRunning) {
    NL_TRY(const bool has_header, read_header());
    if (has_header) {
      NL_TRY(const bool found, read_piece(take));
      if (found) {
        if (!goes_on()) return {};
        continue;
      }
    }
    if (state_ != State::kRunning) break;
    // What is found to be complete is read once more: its last chunks may have come in between.
    if (!is_segment_done && has_newer_segment()) {
      is_segment_done = true;
      continue;
    }
    if (is_segment_done) {
      is_segment_done = false;
      NL_TRY(const bool has_next, next_segment());
      if (has_next) continue;
    }
    if (!is_over) {
      is_over = look_for_end();
      if (!is_over) return {};
      continue;
    }
    const bool is_finished =
        segment_ >= 0 && (path_exists(folder_ + "/" + capture::kRecordingName) || !path_exists(path_));
    if (is_finished)
      end(State::kComplete, "");
    else if (suspected_)
      end(State::kBroken, "The recording is damaged: what follows cannot be read.");
    else
      end(State::kKilled, "The recorder was killed. neurolens record --recover makes a run of what it left.");
  }
  return {};
}

}  // namespace nl::follow
