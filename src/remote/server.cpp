#include "remote/server.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/call_control.h"
#include "base/files.h"
#include "base/path_text.h"
#include "base/sha256.h"

namespace nl::remote {
namespace {

using nlohmann::json;

constexpr int kAttempts = 5;
constexpr auto kBetweenLooks = std::chrono::milliseconds(200);

ErrorCode code_of_name(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); i++) {
    if (name == error_code_name(static_cast<ErrorCode>(i))) return static_cast<ErrorCode>(i);
  }
  return ErrorCode::kInternal;
}

Error error_in(const Answer& answer) {
  const json envelope = json::parse(answer.body, nullptr, false);
  if (!envelope.is_object() || !envelope.contains("error") || !envelope["error"].is_object())
    return Error{ErrorCode::kUnavailable,
                 "the server answered with status " + std::to_string(answer.status) + " and no reason",
                 "is it a NeuroLens server?"};
  const json& error = envelope["error"];
  return Error{code_of_name(error.value("code", "")), error.value("message", ""), error.value("hint", "")};
}

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

Result<Server> Server::at(const std::string& address, const Environment& environment) {
  NL_TRY(Address parsed, parse_address(address));
  return Server(HttpClient(std::move(parsed), environment.get("NEUROLENS_TOKEN"), environment),
                environment.get("NEUROLENS_PROJECT"));
}

Result<Answer> Server::ask(Question question) {
  if (!project_.empty()) question.headers.emplace_back("NeuroLens-Project", project_);
  NL_TRY(Answer answer, client_.ask(question));
  if (answer.status >= 400) return error_in(answer);
  return answer;
}

Result<json> Server::ask_json(Question question) {
  NL_TRY(const Answer answer, ask(std::move(question)));
  json body = json::parse(answer.body, nullptr, false);
  if (!body.is_object())
    return Error{ErrorCode::kUnavailable, "the answer of the server is no JSON object",
                 "is it a NeuroLens server?"};
  return body;
}

Result<json> Server::call(const std::string& operation, const json& parameters) {
  return ask_json(
      {"POST", "/api/v1/" + operation, {{"Content-Type", "application/json"}}, dumped(parameters)});
}

Result<void> Server::stream(const std::string& operation, const json& parameters, const std::string& accept,
                            const std::function<Result<void>(std::string_view)>& sink) {
  NL_CHECK(ask({"POST",
                "/api/v1/" + operation,
                {{"Content-Type", "application/json"}, {"Accept", accept}},
                dumped(parameters),
                {},
                0,
                sink}));
  return {};
}

/// Goes on where the server has got to, also after the connection was lost.
Result<void> Server::send_file(const std::string& upload, size_t number, const std::string& path,
                               int64_t bytes) {
  for (int attempt = 1;; attempt++) {
    NL_TRY(const json state, ask_json({"GET", "/api/v1/uploads/" + upload}));
    int64_t offset = state["files"][number].value("received", int64_t{0});
    if (offset == bytes && attempt > 1) return {};
    NL_TRY(File file, File::open_to_read(path));
    if (::lseek(file.fd(), offset, SEEK_SET) < 0) return errno_error("cannot read", path, errno);
    Question question{
        "PUT",
        "/api/v1/uploads/" + upload + "/" + std::to_string(number) + "?offset=" + std::to_string(offset),
        {}};
    question.bytes_of_pieces = bytes - offset;
    int64_t sent = offset;
    question.pieces = [&](char* buffer, size_t size) -> Result<size_t> {
      NL_TRY(const size_t got, file.read(buffer, std::min<size_t>(size, static_cast<size_t>(bytes - sent))));
      sent += static_cast<int64_t>(got);
      report_progress("sending " + base_name(path),
                      bytes == 0 ? 1 : static_cast<double>(sent) / static_cast<double>(bytes));
      return got;
    };
    const auto answer = ask(std::move(question));
    if (answer) return {};
    if (answer.error().code != ErrorCode::kUnavailable || attempt == kAttempts) return answer.error();
    std::this_thread::sleep_for(kBetweenLooks * attempt);
  }
}

Result<json> Server::wait_for(const std::string& job) {
  for (int lost = 0;;) {
    NL_CHECK(check_cancelled());
    auto state = ask_json({"GET", "/api/v1/jobs/" + job});
    if (!state && state.error().code == ErrorCode::kUnavailable && ++lost < kAttempts) {
      std::this_thread::sleep_for(kBetweenLooks * 5);
      continue;
    }
    if (!state) return state.error();
    lost = 0;
    if (state->contains("status")) {
      const Answer answer{state->value("status", 500), {}, dumped((*state)["answer"])};
      if (answer.status >= 400) return error_in(answer);
      return (*state)["answer"];
    }
    const json progress = state->value("progress", json::object());
    report_progress("server: " + progress.value("what", "waiting"), progress.value("fraction", 0.0));
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

Result<json> Server::send_files(const std::vector<std::string>& paths, const json& parameters) {
  json files = json::array();
  for (const std::string& path : paths) {
    NL_TRY(const int64_t bytes, file_size(path));
    NL_TRY(const std::string sha256, sha256_of_file(path));
    files.push_back({{"name", base_name(path)}, {"bytes", bytes}, {"sha256", sha256}});
  }
  NL_TRY(
      const json begun,
      ask_json(
          {"POST", "/api/v1/uploads", {{"Content-Type", "application/json"}}, dumped({{"files", files}})}));
  const std::string upload = begun.value("upload_id", "");
  for (size_t i = 0; i < paths.size(); i++) NL_CHECK(send_file(upload, i, paths[i], files[i]["bytes"]));
  json call_parameters = parameters;
  call_parameters["upload"] = upload;
  NL_TRY(const json job, call("import", call_parameters));
  return wait_for(job.value("job_id", ""));
}

}  // namespace nl::remote
