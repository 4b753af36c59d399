#include "ops/capture/flight_dumps.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>

#include "base/files.h"
#include "ops/capture/recordings.h"
#include "ops/operation.h"

namespace nl::ops {
namespace {

using nlohmann::json;

std::string request_path(const std::string& folder) {
  return folder + "/dump.request";
}
std::string answer_path(const std::string& folder) {
  return folder + "/dump.answer";
}

std::string lock_path(const std::string& folder) {
  return folder + "/dump.lock";
}

Error error_of(const json& answer) {
  return {ErrorCode::kUnavailable, "the recorder could not make a run: " + answer.value("error", "")};
}

/// The lock of one that was killed is free.
bool can_dump(const std::string& folder) {
  const int lock = ::open(lock_path(folder).c_str(), O_RDWR | O_CLOEXEC);
  if (lock < 0) return false;
  const bool is_free = ::flock(lock, LOCK_EX | LOCK_NB) == 0;
  ::close(lock);
  return !is_free;
}

Result<json> request_dump(const std::string& folder, const std::function<bool()>& cancelled) {
  constexpr auto kPatience = std::chrono::minutes(5);
  constexpr unsigned kPauseUs = 20'000;
  const Error none{ErrorCode::kUnavailable, "the recorder gave no answer: " + folder};
  ::unlink(answer_path(folder).c_str());
  NL_CHECK(replace_file(request_path(folder), ""));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (path_exists(request_path(folder))) {
    const bool is_cancelled = cancelled();
    if (is_cancelled || std::chrono::steady_clock::now() > end) {
      ::unlink(request_path(folder).c_str());
      return is_cancelled ? cancelled_error() : none;
    }
    ::usleep(kPauseUs);
  }
  const auto text = read_file(answer_path(folder));
  const json answer = text ? json::parse(*text, nullptr, false) : json();
  if (!answer.is_object()) return none;
  if (answer.contains("error")) return error_of(answer);
  return answer;
}

}  // namespace

FlightDumps::FlightDumps(std::string folder, Import import)
    : folder_(std::move(folder)), import_(std::move(import)) {
  lock_ = ::open(lock_path(folder_).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ >= 0) ::flock(lock_, LOCK_EX | LOCK_NB);
}

FlightDumps::~FlightDumps() {
  finish();
  if (lock_ >= 0) ::close(lock_);
}

void FlightDumps::serve(capture::RecorderOptions& recorder, capture::WorkloadOptions& workload) {
  recorder.wants_dump = [this] { return take_request(); };
  recorder.take_dump = [this](Result<capture::RecordingEnd> dumped) { begin(std::move(dumped)); };
  recorder.saw_slow_scope = [this] { want_if_rested(); };
  workload.watch = [this, watch = workload.watch] {
    look();
    return watch();
  };
}

void FlightDumps::look() {
  if (is_importing_.load(std::memory_order_acquire)) return;
  const uint64_t signals = signals_.count();
  if (signals_seen_ == signals && !path_exists(request_path(folder_))) return;
  signals_seen_ = signals;
  is_wanted_.store(true, std::memory_order_release);
}

/// When all is slow, a run now and then is enough.
void FlightDumps::want_if_rested() {
  constexpr auto kRest = std::chrono::seconds(10);
  const bool is_first = last_ == std::chrono::steady_clock::time_point();
  if (is_first || std::chrono::steady_clock::now() - last_ > kRest)
    is_wanted_.store(true, std::memory_order_release);
}

bool FlightDumps::take_request() {
  if (!is_wanted_.load(std::memory_order_acquire) || is_importing_.load(std::memory_order_acquire))
    return false;
  is_wanted_.store(false, std::memory_order_release);
  is_importing_.store(true, std::memory_order_release);
  last_ = std::chrono::steady_clock::now();
  return true;
}

void FlightDumps::begin(Result<capture::RecordingEnd> dumped) {
  // The one before has nothing more to do. What cannot be imported is the answer's to say.
  importer_ = CheckedThread([this, dumped = std::move(dumped)] {
    auto done = without_exceptions([&] { return import_and_answer(dumped); });
    is_importing_.store(false, std::memory_order_release);
    return done;
  });
  if (!importer_.is_started()) is_importing_.store(false, std::memory_order_release);
}

/// The request goes last: who asked looks for that.
Result<void> FlightDumps::import_and_answer(const Result<capture::RecordingEnd>& dumped) {
  const auto run =
      dumped ? without_exceptions([&] { return import_(*dumped); }) : Result<json>(dumped.error());
  const json answer = run ? *run : json{{"error", run.error().message}};
  auto written =
      replace_file(answer_path(folder_), answer.dump());  // without it the other side sees no answer
  ::unlink(request_path(folder_).c_str());
  return written;
}

void FlightDumps::finish() {
  (void)importer_.join();
}

Result<json> dump_recordings(const std::string& ledger_folder, const std::function<bool()>& cancelled) {
  json runs = json::array();
  for (const std::string& name : list_recordings(ledger_folder)) {
    const std::string folder = recordings_folder(ledger_folder) + "/" + name;
    if (!can_dump(folder)) continue;
    NL_TRY(json recording, request_dump(folder, cancelled));
    runs.push_back(std::move(recording));
  }
  if (runs.empty())
    return Error{ErrorCode::kNotFound,
                 "no flight recorder is running on this ledger",
                 "{}",
                 {suggested("record", {{"ring", 64}, {"command", {"python", "serve.py"}}})}};
  return runs;
}

}  // namespace nl::ops
