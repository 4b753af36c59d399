#include "store/packed_run.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "base/call_control.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/small_json.h"
#include "model/tables.h"

namespace nl::store {
namespace {

using nlohmann::json;

constexpr int kPackedVersion = 1;
constexpr size_t kDigits = 20;  // of an offset, with zeros before it
constexpr size_t kPackedTailBytes = kPackedStart.size() + kDigits + 1 + 64 + 1;
constexpr int64_t kMostIndexBytes = 4 << 20;
constexpr size_t kMostPackedFiles = 4096;
constexpr size_t kPackedPiece = 1 << 20;

bool is_hash(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// One word without anything that leads elsewhere.
bool is_plain_name(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !name.empty() && name.size() <= 128 && name[0] != '.' &&
         name.find_first_not_of(kLetters) == std::string_view::npos;
}

bool is_fact_file(std::string_view name) {
  if (name == "run.json" || name == "run.json.sha256") return true;
  constexpr std::string_view kEnd = ".parquet";
  if (!name.ends_with(kEnd)) return false;
  const model::Table* table = model::find_table(name.substr(0, name.size() - kEnd.size()));
  return table != nullptr && table->kind == model::TableKind::fact;
}

/// Names that a packed run may have. None leads out of the folder that it is unpacked to.
bool is_allowed(std::string_view name) {
  if (is_fact_file(name) || name == kPackedSidecar) return true;
  if (name.starts_with(kPackedSources)) return is_plain_name(name.substr(kPackedSources.size()));
  constexpr std::string_view kDerived = "derived/";
  if (!name.starts_with(kDerived)) return false;
  const auto rest = name.substr(kDerived.size());
  const size_t slash = rest.find('/');
  return slash != std::string_view::npos && is_plain_name(rest.substr(0, slash)) &&
         is_plain_name(rest.substr(slash + 1));
}

/// A new file in a folder that nobody else looks at yet.
class FileOut {
 public:
  static Result<FileOut> create(const std::string& path) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return errno_error("cannot create", path, errno);
    return FileOut(fd, path);
  }
  FileOut(FileOut&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  FileOut& operator=(FileOut&&) = delete;
  ~FileOut() {
    if (fd_ >= 0) ::close(fd_);
  }

  Result<void> write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno_error("cannot write", path_, errno);
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return {};
  }

 private:
  FileOut(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  std::string path_;
};

std::string tail_of(int64_t index_begin, const std::string& index_sha256) {
  std::string tail(kPackedStart);
  tail.back() = ' ';
  return fmt::format("{}{:020} {}\n", tail, index_begin, index_sha256);
}

}  // namespace

bool is_packed_run(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;  // a pipe is not even opened
  const auto file = File::open_without_waiting(path);
  if (!file) return false;
  char start[kPackedStart.size()];
  return ::pread(file->fd(), start, sizeof start, 0) == static_cast<ssize_t>(sizeof start) &&
         std::string_view(start, sizeof start) == kPackedStart;
}

Error PackedRun::bad(const std::string& why) const {
  return Error{ErrorCode::kBadInput, "the packed run cannot be read: " + path_ + ": " + why,
               "it is incomplete or was changed; ask for it again"};
}

Result<PackedRun> PackedRun::open(const std::string& path) {
  NL_TRY(File file, File::open_without_waiting(path));
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return errno_error("cannot look at", path, errno);
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::kBadInput, "not a file: " + path};
  PackedRun run(std::move(file), path);
  NL_CHECK(run.read_index());
  return run;
}

Result<std::string> PackedRun::read_range(int64_t offset, int64_t bytes) const {
  std::string text(static_cast<size_t>(bytes), '\0');
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::pread(file_.fd(), text.data() + done, text.size() - done,
                              static_cast<off_t>(offset + static_cast<int64_t>(done)));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("cannot read", path_, errno);
    if (n == 0) return bad("it ends too early");
    done += static_cast<size_t>(n);
  }
  return text;
}

Result<void> PackedRun::read_index() {
  struct stat info {};
  if (::fstat(file_.fd(), &info) != 0) return errno_error("cannot look at", path_, errno);
  const int64_t size = info.st_size;
  const int64_t least = static_cast<int64_t>(kPackedStart.size() + kPackedTailBytes);
  if (size < least) return bad("it is too short");
  NL_TRY(const std::string start, read_range(0, static_cast<int64_t>(kPackedStart.size())));
  if (start != kPackedStart) return bad("it does not begin like one");
  const int64_t end = size - static_cast<int64_t>(kPackedTailBytes);
  NL_TRY(const std::string tail, read_range(end, static_cast<int64_t>(kPackedTailBytes)));
  int64_t begin = 0;
  const char* digits = tail.data() + kPackedStart.size();
  const auto number = std::from_chars(digits, digits + kDigits, begin);
  const std::string hash = tail.substr(kPackedStart.size() + kDigits + 1, 64);
  const bool is_tail = number.ec == std::errc() && number.ptr == digits + kDigits && is_hash(hash) &&
                       tail == tail_of(begin, hash);
  if (!is_tail) return bad("its end is missing");
  if (begin < static_cast<int64_t>(kPackedStart.size()) || begin > end || end - begin > kMostIndexBytes)
    return bad("it has no index where it says");
  NL_TRY(const std::string index, read_range(begin, end - begin));
  sha256_ = sha256_hex(index);
  if (sha256_ != hash) return bad("its index was changed");
  return take_index(index, begin);
}

Result<void> PackedRun::take_index(std::string_view text, int64_t begin) {
  const json index = parse_small_json(text);
  if (!index.is_object() || !index.contains("files") || !index["files"].is_array() ||
      !index.value("run_id", json()).is_string() || !whole_number(index, "version"))
    return bad("its index is not one");
  if (*whole_number(index, "version") > kPackedVersion) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("the packed run is of version {}: {}", *whole_number(index, "version"), path_),
                 fmt::format("a newer neurolens wrote it; this one knows version {}", kPackedVersion)};
  }
  run_id_ = index["run_id"];
  if (!is_hash(run_id_)) return bad("its index names no run");
  if (index["files"].size() > kMostPackedFiles) return bad("it has too many files");
  int64_t next = static_cast<int64_t>(kPackedStart.size());
  for (const json& one : index["files"]) {
    const bool is_whole = one.is_object() && one.value("name", json()).is_string() &&
                          one.value("sha256", json()).is_string() && whole_number(one, "offset") &&
                          whole_number(one, "bytes");
    if (!is_whole) return bad("its index is not one");
    PackedFile file{one["name"], *whole_number(one, "offset"), *whole_number(one, "bytes"), one["sha256"]};
    if (!is_allowed(file.name)) return bad("it has a file that no run has: " + file.name);
    if (!files_.empty() && files_.back().name >= file.name) return bad("its files are not sorted by name");
    if (file.offset != next || file.bytes > begin - next)
      return bad("its files are not one behind the other");
    if (!is_hash(file.sha256)) return bad("a file of it has no hash: " + file.name);
    next += file.bytes;
    files_.push_back(std::move(file));
  }
  if (next != begin) return bad("its files do not reach its index");
  return find("run.json") != nullptr ? Result<void>() : bad("it has no run.json");
}

const PackedFile* PackedRun::find(std::string_view name) const {
  const auto it = std::lower_bound(files_.begin(), files_.end(), name,
                                   [](const PackedFile& file, std::string_view n) { return file.name < n; });
  return it != files_.end() && it->name == name ? &*it : nullptr;
}

Result<void> PackedRun::each_piece(const PackedFile& file,
                                   const std::function<Result<void>(std::string_view)>& take) const {
  Sha256 hash;
  for (int64_t done = 0; done < file.bytes;) {
    NL_CHECK(check_cancelled());
    const int64_t bytes = std::min<int64_t>(file.bytes - done, kPackedPiece);
    NL_TRY(const std::string piece, read_range(file.offset + done, bytes));
    hash.update(piece.data(), piece.size());
    NL_CHECK(take(piece));
    done += bytes;
  }
  return hash.hex() == file.sha256 ? Result<void>() : bad("a file of it was changed: " + file.name);
}

Result<std::string> PackedRun::read(const PackedFile& file, int64_t most_bytes) const {
  if (file.bytes > most_bytes) return bad("a file of it is too large: " + file.name);
  std::string text;
  NL_CHECK(each_piece(file, [&](std::string_view piece) -> Result<void> {
    text += piece;
    return {};
  }));
  return text;
}

Result<void> PackedRun::check(const PackedFile& file) const {
  return each_piece(file, [](std::string_view) { return Result<void>(); });
}

Result<void> PackedRun::unpack(const PackedFile& file, const std::string& path, bool flushes) const {
  NL_TRY(const FileOut out, FileOut::create(path));
  NL_CHECK(each_piece(file, [&](std::string_view piece) { return out.write(piece); }));
  return flushes ? sync_path(path) : Result<void>();
}

Result<void> PackedRun::unpack_bundle(const std::string& folder, bool flushes) const {
  for (const PackedFile& file : files_) {
    if (is_fact_file(file.name)) NL_CHECK(unpack(file, folder + "/" + file.name, flushes));
  }
  return {};
}

namespace {

using Write = std::function<Result<void>(std::string_view)>;

/// The bytes of one file, and what the index says of it.
Result<PackedFile> pack(const FileToPack& file, int64_t offset, const Write& write) {
  PackedFile packed{file.name, offset};
  Sha256 hash;
  const auto add = [&](std::string_view piece) -> Result<void> {
    hash.update(piece.data(), piece.size());
    packed.bytes += static_cast<int64_t>(piece.size());
    return write(piece);
  };
  if (file.path.empty()) {
    NL_CHECK(add(file.text));
  } else {
    NL_TRY(File in, File::open_plain(file.path));
    std::string buffer(kPackedPiece, '\0');
    for (;;) {
      NL_CHECK(check_cancelled());
      NL_TRY(const size_t n, in.read(buffer.data(), buffer.size()));
      if (n == 0) break;
      NL_CHECK(add(std::string_view(buffer).substr(0, n)));
    }
  }
  packed.sha256 = hash.hex();
  return packed;
}

}  // namespace

Result<std::string> write_packed_run(const std::string& run_id, std::vector<FileToPack> files,
                                     const Write& write) {
  std::sort(files.begin(), files.end(),
            [](const FileToPack& a, const FileToPack& b) { return a.name < b.name; });
  NL_CHECK(write(kPackedStart));
  int64_t offset = static_cast<int64_t>(kPackedStart.size());
  json list = json::array();
  for (const FileToPack& file : files) {
    NL_TRY(const PackedFile packed, pack(file, offset, write));
    list.push_back({{"name", packed.name},
                    {"offset", packed.offset},
                    {"bytes", packed.bytes},
                    {"sha256", packed.sha256}});
    offset += packed.bytes;
  }
  const std::string index =
      json{{"files", std::move(list)}, {"run_id", run_id}, {"version", kPackedVersion}}.dump();
  const std::string sha256 = sha256_hex(index);
  NL_CHECK(write(index));
  NL_CHECK(write(tail_of(offset, sha256)));
  return sha256;
}

}  // namespace nl::store
