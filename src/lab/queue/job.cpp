#include "lab/queue/job.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "base/utf8.h"

namespace nl::lab {
namespace {

constexpr std::array kJobStates = {"waiting", "running", "done", "failed", "cancelled", "blocked"};
constexpr std::array kAttemptEnds = {"running", "done",      "failed",  "timeout",      "killed",
                                     "unfit",   "cancelled", "stopped", "never_started"};

template <class Enum, size_t N>
std::optional<Enum> enum_of(const std::array<const char*, N>& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Enum>(at - names.begin());
}

constexpr int64_t kMostRetries = 1000;

int64_t allowed_retries(const Retries& retries, AttemptEnd end) {
  switch (end) {
    case AttemptEnd::kFailed:
      return retries.failed;
    case AttemptEnd::kTimeout:
      return retries.timeout;
    case AttemptEnd::kKilled:
      return retries.killed;
    case AttemptEnd::kUnfit:
      return retries.unfit;
    default:
      return 0;
  }
}

bool is_plain_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::strchr("_-./=:,+@%", c) != nullptr;
}

bool is_printable(std::string_view word) {
  return is_utf8(word) && std::none_of(word.begin(), word.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
         });
}

/// $'…' of a shell, which has an escape for every byte.
std::string escaped_word(std::string_view word) {
  std::string out = "$'";
  for (size_t at = 0; at < word.size();) {
    const Character one = character_at(word, at);
    const char c = word[at];
    if (one.valid && one.size > 1) {
      out += word.substr(at, one.size);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\'' || c == '\\') {
      out += std::string("\\") + c;
    } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
    at += one.size;
  }
  return out + "'";
}

std::string word_for_shell(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain_letter)) return std::string(word);
  if (!is_printable(word)) return escaped_word(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

}  // namespace

const char* job_state_name(JobState state) {
  return kJobStates[static_cast<size_t>(state)];
}

std::optional<JobState> job_state_of(std::string_view name) {
  return enum_of<JobState>(kJobStates, name);
}

const char* attempt_end_name(AttemptEnd end) {
  return kAttemptEnds[static_cast<size_t>(end)];
}

std::optional<AttemptEnd> attempt_end_of(std::string_view name) {
  return enum_of<AttemptEnd>(kAttemptEnds, name);
}

Result<void> set_retry(Retries& retries, const std::string& text) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string reason = text.substr(0, equals);
  const char* const begin = text.data() + std::min(equals + 1, text.size());
  const char* const end = text.data() + text.size();
  int64_t number = -1;
  const auto [stopped, failed] = std::from_chars(begin, end, number);
  int64_t* const place = reason == "failed"    ? &retries.failed
                         : reason == "timeout" ? &retries.timeout
                         : reason == "killed"  ? &retries.killed
                         : reason == "unfit"   ? &retries.unfit
                                               : nullptr;
  if (place == nullptr || failed != std::errc() || stopped != end || number < 0 || number > kMostRetries)
    return Error{
        ErrorCode::kBadInput, "not a rule for retries: " + text,
        fmt::format("say how often for which reason: failed=N, timeout=N, killed=N or unfit=N, with N "
                    "from 0 to {}",
                    kMostRetries)};
  *place = number;
  return {};
}

NextState next_state(const Retries& retries, const std::vector<AttemptEnd>& counted, bool cancel_asked) {
  if (counted.empty()) return {};
  const AttemptEnd end = counted.back();
  if (end == AttemptEnd::kRunning) return {JobState::kRunning, ""};
  if (end == AttemptEnd::kDone) return {JobState::kDone, ""};
  if (cancel_asked || end == AttemptEnd::kCancelled) return {JobState::kCancelled, "as a user asked"};
  if (end == AttemptEnd::kStopped || end == AttemptEnd::kNeverStarted) return {};
  const auto times = std::count(counted.begin(), counted.end(), end);
  if (times <= allowed_retries(retries, end)) return {};
  if (times > 1) return {JobState::kFailed, fmt::format("{}, {} times", attempt_end_name(end), times)};
  return {JobState::kFailed, end == AttemptEnd::kFailed ? "" : attempt_end_name(end)};
}

AttemptEnd end_of_exit(int64_t exit_code, int64_t signal) {
  switch (signal) {
    case SIGKILL:
    case SIGTERM:
    case SIGHUP:
    case SIGINT:
      return AttemptEnd::kKilled;
    case 0:
      break;
    default:
      return AttemptEnd::kFailed;
  }
  // So a shell says that its program was killed, by a user or because memory had run out.
  if (exit_code == 128 + SIGKILL) return AttemptEnd::kKilled;
  if (exit_code == kUnfitExit) return AttemptEnd::kUnfit;
  return exit_code == 0 ? AttemptEnd::kDone : AttemptEnd::kFailed;
}

std::string command_line(const JobPlan& plan) {
  if (plan.is_script) return "sh -c " + word_for_shell(plan.command.empty() ? "" : plan.command[0]);
  std::string line;
  for (const std::string& word : plan.command) line += (line.empty() ? "" : " ") + word_for_shell(word);
  return line;
}

Result<void> check_plan(const JobPlan& plan) {
  constexpr size_t kMostBytes = 1 << 20, kMostOfWord = (128 << 10) - 1;  // the kernel takes no more
  size_t bytes = 0, longest = 0;
  for (const std::string& word : plan.command) {
    bytes += word.size() + 1;
    longest = std::max(longest, word.size());
  }
  if (plan.command.empty() || plan.command[0].empty())
    return Error{ErrorCode::kBadInput, "there is no command"};
  if (bytes > kMostBytes || longest > kMostOfWord)
    return Error{
        ErrorCode::kLimit,
        fmt::format("the command is too long: {} bytes, and {} in its longest word", bytes, longest),
        fmt::format("a word can have {} bytes and a command {}: write it into a file, and queue the file",
                    kMostOfWord, kMostBytes)};
  const auto all_fine = [](const std::vector<std::string>& texts) {
    return std::none_of(texts.begin(), texts.end(), has_nul);
  };
  if (!all_fine(plan.command) || !all_fine(plan.environment) || has_nul(plan.folder) || has_nul(plan.name))
    return Error{ErrorCode::kBadInput, "a command holds the byte 0, which no program can be given"};
  const bool is_number = !plan.name.empty() && std::all_of(plan.name.begin(), plan.name.end(), is_digit);
  if (is_number || !is_utf8(plan.name))
    return Error{ErrorCode::kBadInput, "the name of a job must be UTF-8, and no number: " + plan.name};
  if (!is_device_name(plan.device))
    return Error{ErrorCode::kBadInput, "not the name of a device: " + plan.device,
                 "letters, digits, - and _, at most 40"};
  return {};
}

}  // namespace nl::lab
