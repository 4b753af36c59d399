#include "lab/bisect/kept_values.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/json.h"
#include "base/small_json.h"
#include "base/text.h"
#include "stats/sample.h"

namespace nl::lab {
namespace {

using nlohmann::json;

constexpr int64_t kMostOfValues = int64_t{64} << 20;

/// A cut-off last line must not run into the next one.
Result<void> end_last_line(int file, const std::string& path, std::string_view text) {
  if (text.empty() || text.back() == '\n' || ::write(file, "\n", 1) == 1) return {};
  return errno_error("cannot write", path, errno);
}

bool is_time_value(const json& value) {
  return value.is_number() && stats::is_time(value.get<double>());
}

}  // namespace

KeptValues::KeptValues(int file, std::string path, std::string task, std::string machine, uint64_t seed)
    : file_(file),
      path_(std::move(path)),
      task_(std::move(task)),
      machine_(std::move(machine)),
      seed_(seed) {}

KeptValues::KeptValues(KeptValues&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      task_(std::move(other.task_)),
      machine_(std::move(other.machine_)),
      seed_(other.seed_),
      pairs_(std::move(other.pairs_)) {}

KeptValues::~KeptValues() {
  if (file_ >= 0) ::close(file_);
}

Result<KeptValues> KeptValues::open(const std::string& path, const std::string& task,
                                    const std::string& machine, uint64_t seed) {
  if (path.empty()) return KeptValues(-1, path, task, machine, seed);
  const int file = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return errno_error("cannot open the file of values", path, errno);
  KeptValues kept(file, path, task, machine, seed);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0)
    return Error{ErrorCode::kConflict, "another bisection uses the file of values: " + path,
                 "wait until it has ended, or name another file"};
  NL_TRY(const std::string text, read_plain_file(path, kMostOfValues));
  NL_CHECK(end_last_line(file, path, text));
  kept.take(text);
  return kept;
}

void KeptValues::take(std::string_view text) {
  for (const std::string& line : split(text, '\n')) {
    const json value = parse_small_json(line, 4);
    if (!value.is_object() || value.value("task", json()) != task_ ||
        value.value("machine", json()) != machine_)
      continue;
    const json good = value.value("good", json()), point = value.value("point", json());
    const json good_time = value.value("good_time", json()), time = value.value("time", json());
    if (!good.is_string() || !point.is_string() || !is_time_value(good_time) || !is_time_value(time))
      continue;
    pairs_[{good.get<std::string>(), point.get<std::string>()}].push_back(
        {good_time.get<double>(), time.get<double>()});
  }
}

const std::vector<stats::TimePair>& KeptValues::pairs(const std::string& good,
                                                      const std::string& point) const {
  static const std::vector<stats::TimePair> kNone;
  const auto found = pairs_.find({good, point});
  return found == pairs_.end() ? kNone : found->second;
}

Result<void> KeptValues::add(const std::string& good, const std::string& point, const stats::TimePair& pair) {
  if (file_ < 0) return {};
  const json line = {{"task", task_},  {"machine", machine_},    {"seed", seed_},         {"good", good},
                     {"point", point}, {"good_time", pair.good}, {"time", pair.candidate}};
  const std::string text = line.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
  if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return errno_error("cannot keep a value in", path_, errno);
  if (::fdatasync(file_) != 0) return errno_error("cannot keep a value in", path_, errno);
  return {};
}

}  // namespace nl::lab
