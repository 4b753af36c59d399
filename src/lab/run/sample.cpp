#include "lab/run/sample.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/json.h"
#include "base/small_json.h"
#include "base/text.h"

namespace nl::lab {
namespace {

using nlohmann::json;

Phase phase_of(const std::string& name) {
  for (const Phase phase : {Phase::kCold, Phase::kWarmUp}) {
    if (name == phase_name(phase)) return phase;
  }
  return Phase::kCounted;
}

std::optional<int64_t> optional_number(const json& object, const char* key) {
  return object.contains(key) ? std::optional(object[key].get<int64_t>()) : std::nullopt;
}

}  // namespace

std::string_view phase_name(Phase phase) {
  static constexpr std::string_view kNames[] = {"cold", "warm_up", "counted"};
  return kNames[static_cast<size_t>(phase)];
}

Result<void> LinesFile::append(const json& line) const {
  const int file = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return errno_error("cannot write", path_, errno);
  std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  // What a crash left half-written gets an end of its own, so that it spoils no other line.
  const off_t end = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  if (end > 0 && ::pread(file, &last, 1, end - 1) == 1 && last != '\n') text.insert(0, "\n");
  const ssize_t written = ::write(file, text.data(), text.size());
  const bool kept = written == static_cast<ssize_t>(text.size()) && ::fdatasync(file) == 0;
  const int why = written >= 0 && written < static_cast<ssize_t>(text.size()) ? ENOSPC : errno;
  ::close(file);
  return kept ? Result<void>() : errno_error("cannot write", path_, why);
}

Result<std::vector<json>> LinesFile::read() const {
  std::vector<json> lines;
  if (!path_exists(path_)) return lines;
  NL_TRY(const std::string text, read_file(path_));
  for (const std::string& line : split(text, '\n')) {
    json parsed = line.empty() ? json() : parse_small_json(line);
    if (parsed.is_object()) lines.push_back(std::move(parsed));
  }
  return lines;
}

Result<Sample> sample_of(const json& line) {
  try {
    Sample sample;
    sample.target = line.at("target");
    sample.side = line.at("side");
    sample.phase = phase_of(line.at("phase"));
    sample.block = line.at("block");
    sample.place = line.at("place");
    sample.value_ns = line.at("value_ns");
    sample.iterations_ns = line.at("iterations_ns").get<std::vector<int64_t>>();
    sample.first_ns = optional_number(line, "first_ns");
    sample.cpu_ns = line.at("cpu_ns");
    sample.peak_memory_bytes = optional_number(line, "peak_memory_bytes");
    sample.started_unix_ns = line.at("started_unix_ns");
    sample.conditions.marks = line.at("conditions").at("marks").get<std::vector<std::string>>();
    sample.folder = line.at("folder");
    return sample;
  } catch (const json::exception& damaged) {
    return Error{ErrorCode::kBadInput, std::string("a sample is damaged: ") + damaged.what()};
  }
}

}  // namespace nl::lab
