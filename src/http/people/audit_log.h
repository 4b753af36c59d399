#pragma once
// Audit log: who changed what, and who was refused. One JSON object a line, only ever appended to audit.jsonl
// of the ledger; each line has the hash of the line before it, so that a change of the past shows. Any
// thread; one process writes it at a time, another one waits.

#include <mutex>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace nl::http {

struct AuditEntry {
  std::string_view event;  ///< "asked", "answered" or "refused"
  std::string who;
  std::string project;
  std::string address;
  std::string_view operation;
  nlohmann::json parameters = nullptr;  ///< secrets are removed
  int status = 0;
};

class AuditLog {
 public:
  explicit AuditLog(std::string path) : path_(std::move(path)) {}

  /// The line is in the file when this returns: it survives the end of the process.
  Result<void> write(const AuditEntry& entry);

 private:
  const std::string path_;
  std::mutex mutex_;
};

/// Number of the first line that does not continue the one before it; 0: all do.
Result<int64_t> first_broken_line(const std::string& path);

}  // namespace nl::http
