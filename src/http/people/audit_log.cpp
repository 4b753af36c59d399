#include "http/people/audit_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>

#include "base/files.h"
#include "base/permissions.h"
#include "base/redact.h"
#include "base/sha256.h"
#include "ops/envelope.h"
#include "store/ledger.h"

namespace nl::http {
namespace {

using nlohmann::json;

constexpr size_t kMostParameterBytes = 2000;
constexpr off_t kTail = 64 << 10;  // longer than any line

/// The last whole line; empty if there is none.
std::string last_line(int fd) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  std::string tail(static_cast<size_t>(std::min(size, kTail)), '\0');
  const ssize_t got = ::pread(fd, tail.data(), tail.size(), size - static_cast<off_t>(tail.size()));
  tail.resize(got < 0 ? 0 : static_cast<size_t>(got));
  const size_t end = tail.rfind('\n');
  if (end == std::string::npos) return {};
  const size_t before = end == 0 ? std::string::npos : tail.rfind('\n', end - 1);
  return tail.substr(before == std::string::npos ? 0 : before + 1,
                     end - (before == std::string::npos ? 0 : before + 1));
}

bool ends_in_the_middle(int fd) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  char last = '\n';
  return size > 0 && ::pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

std::string line_of(const AuditEntry& entry, const std::string& before) {
  json line = {{"at_ns", store::unix_now_ns()}, {"event", entry.event},     {"who", entry.who},
               {"project", entry.project},      {"address", entry.address}, {"operation", entry.operation},
               {"before", sha256_hex(before)}};
  if (entry.status != 0) line["status"] = entry.status;
  if (!entry.parameters.is_null()) {
    const json parameters = without_secrets(entry.parameters);
    line["parameters"] =
        ops::compact_json(parameters).size() <= kMostParameterBytes ? parameters : json("too long to keep");
  }
  return ops::compact_json(line) + "\n";
}

}  // namespace

Result<void> AuditLog::write(const AuditEntry& entry) {
  const std::lock_guard lock(mutex_);
  const int fd = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno_error("cannot open", path_, errno);
  (void)::flock(fd, LOCK_EX);
  const std::string line = (ends_in_the_middle(fd) ? "\n" : "") + line_of(entry, last_line(fd));
  const ssize_t written = ::write(fd, line.data(), line.size());
  const int number = errno;
  ::close(fd);
  if (written == static_cast<ssize_t>(line.size())) return {};
  return written < 0 ? errno_error("cannot write", path_, number)
                     : Error{ErrorCode::kIo, "cannot write the whole line: " + path_};
}

Result<int64_t> first_broken_line(const std::string& path) {
  std::ifstream in(path);
  std::string line, before;
  for (int64_t number = 1; std::getline(in, line); number++) {
    const json entry = json::parse(line, nullptr, false);
    if (!entry.is_object() || entry.value("before", "") != sha256_hex(before)) return number;
    before = line;
  }
  return 0;
}

}  // namespace nl::http
