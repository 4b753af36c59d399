// Records the markers of a command: record_markers FOLDER [key=value ...] -- COMMAND...
// Keys: library, ring_bytes, total_bytes, limit_bytes, wait_ms, flight. Prints how the recording ended as
// JSON, and ends as the command did. record_markers --recover FOLDER makes the recording of a killed one.

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "base/json.h"
#include "capture/record/recorder.h"

namespace {

using nl::Result;
using nl::capture::RecorderOptions;
using nl::capture::RecordingEnd;

RecorderOptions options_of(const std::string& folder, const std::map<std::string, std::string>& given) {
  RecorderOptions options{.folder = folder};
  const auto number = [&](const char* key, auto otherwise) {
    const auto it = given.find(key);
    return it == given.end() ? otherwise : static_cast<decltype(otherwise)>(std::stoll(it->second));
  };
  options.ring_bytes = number("ring_bytes", options.ring_bytes);
  options.total_bytes = number("total_bytes", options.total_bytes);
  options.limit_bytes = number("limit_bytes", options.limit_bytes);
  if (given.contains("library")) options.library = given.at("library");
  options.is_flight_recorder = given.contains("flight");
  if (given.contains("wait_ms")) options.wait_ms = number("wait_ms", 0);
  return options;
}

Result<void> run(char** command, const std::vector<std::string>& environment, int& code) {
  for (const auto& variable : environment) putenv(const_cast<char*>(variable.c_str()));
  pid_t child = 0;
  if (posix_spawnp(&child, command[0], nullptr, nullptr, command, environ) != 0)
    return nl::Error{nl::ErrorCode::kUnavailable, std::string("cannot start ") + command[0]};
  int status = 0;
  waitpid(child, &status, 0);
  code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return {};
}

int print(const Result<RecordingEnd>& end) {
  if (!end) {
    std::fprintf(stderr, "%s\n", end.error().message.c_str());
    return 3;
  }
  std::printf("%s\n", nlohmann::json{{"path", end->path},
                                     {"recorded", end->recorded},
                                     {"lost", nl::capture::losses_json(end->lost)}}
                          .dump()
                          .c_str());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 3 && std::string(words[1]) == "--recover") return print(nl::capture::recover(words[2]));
  std::map<std::string, std::string> given;
  int at = 2;
  for (; at < count && std::string(words[at]) != "--"; at++) {
    const std::string word = words[at];
    given[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  if (at + 1 >= count) {
    std::fprintf(stderr, "usage: record_markers FOLDER [key=value ...] -- COMMAND...\n");
    return 2;
  }
  int code = 0;
  const auto end = nl::capture::record_around(
      options_of(words[1], given),
      [&](const std::vector<std::string>& environment) { return run(words + at + 1, environment, code); });
  const int printed = print(end);
  return printed != 0 ? printed : code;
}
