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
constexpr char kMark[] = "neurolens-version";  // every answer of a server has it
constexpr auto kBetweenLooks = std::chrono::milliseconds(200);

/// A newer server may have kinds of errors that are not known here: the status says the rest.
ErrorCode code_of(const std::string& name, int status) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); i++) {
    if (name == error_code_name(static_cast<ErrorCode>(i))) return static_cast<ErrorCode>(i);
  }
  switch (status) {
    case 401:
    case 403:
      return ErrorCode::kPermission;
    case 404:
      return ErrorCode::kNotFound;
    case 409:
      return ErrorCode::kConflict;
    case 429:
      return ErrorCode::kLimit;
    default:
      return status < 500 ? ErrorCode::kBadInput : ErrorCode::kUnavailable;
  }
}

Error no_neurolens(const std::string& what) {
  return Error{ErrorCode::kUnavailable, "the server does not answer as NeuroLens does: " + what,
               "is the address right? a proxy before it may want you to log in"};
}

std::string text_in(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

Error error_in(const Answer& answer) {
  const json envelope = json::parse(answer.body, nullptr, false);
  const json error = envelope.is_object() ? envelope.value("error", json()) : json();
  if (!error.is_object() || text_in(error, "message").empty())
    return no_neurolens("status " + std::to_string(answer.status) + " and no reason");
  return Error{code_of(text_in(error, "code"), answer.status), text_in(error, "message"),
               text_in(error, "hint")};
}

/// A server of an older version does not know all that we can ask. `asked`: what stands behind /api/v1/.
bool is_unknown_there(const Answer& answer) {
  const json envelope = json::parse(answer.body, nullptr, false);
  return answer.status == 404 && envelope.is_object() &&
         text_in(envelope, "schema").starts_with("neurolens.request/");
}

Error not_known_there(const std::string& what) {
  return Error{ErrorCode::kBadInput, "the server does not know " + what,
               "it is of an older version than this neurolens"};
}

/// Parameters were checked here already: one that the server refuses is one that it does not know.
Error in_view_of(const json& parameters, Error error) {
  const bool has_member = error.message.find("no such member") != std::string::npos;
  const bool has_value = error.message.find("expected one of") != std::string::npos;
  if (!has_member && !has_value) return error;
  for (const auto& [name, value] : parameters.items()) {
    if (error.message.find("/" + name) == std::string::npos) continue;
    if (has_member) return not_known_there("the parameter " + name);
    return not_known_there((value.is_string() ? value.get<std::string>() : value.dump()) + " as " + name);
  }
  return error;
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
  const std::string path = question.path.substr(0, question.path.find('?'));
  if (question.method == "POST" && is_unknown_there(answer))
    return not_known_there(path.substr(path.rfind('/') + 1));
  if (answer.status >= 400) return error_in(answer);
  if (answer.status >= 300 || !answer.headers.contains(kMark))
    return no_neurolens("something else is at this address");
  exit_code_ = answer.headers.contains("neurolens-exit-code") ? 1 : 0;
  return answer;
}

Result<json> Server::ask_json(Question question) {
  NL_TRY(const Answer answer, ask(std::move(question)));
  json body = json::parse(answer.body, nullptr, false);
  if (!body.is_object()) return no_neurolens("its answer is no JSON object");
  return body;
}

Result<json> Server::call(const std::string& operation, const json& parameters) {
  auto envelope =
      ask_json({"POST", "/api/v1/" + operation, {{"Content-Type", "application/json"}}, dumped(parameters)});
  if (!envelope) return in_view_of(parameters, envelope.error());
  return envelope;
}

Result<void> Server::stream(const std::string& operation, const json& parameters, const std::string& accept,
                            const std::function<Result<void>(std::string_view)>& sink) {
  const auto answer = ask({"POST",
                           "/api/v1/" + operation,
                           {{"Content-Type", "application/json"}, {"Accept", accept}},
                           dumped(parameters),
                           {},
                           0,
                           sink,
                           kMark});
  if (!answer) return in_view_of(parameters, answer.error());
  return {};
}

/// Goes on where the server has got to, also after the connection was lost.
Result<void> Server::send_file(const std::string& upload, size_t number, const std::string& path,
                               int64_t bytes) {
  for (int attempt = 1;; attempt++) {
    NL_TRY(const json state, ask_json({"GET", "/api/v1/uploads/" + upload}));
    const int64_t offset = state.at("files").at(number).value("received", int64_t{0});
    if (offset < 0 || offset > bytes) return no_neurolens("it has more of the file than there is");
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

/// Whatever the server says, it is no fault of ours.
Result<json> Server::send_files(const std::vector<std::string>& paths, const json& parameters) {
  try {
    NL_TRY(json envelope, sent_files(paths, parameters));
    const json& data = envelope.at("data");
    for (const json& run : data.contains("runs") ? data["runs"] : json::array({data})) {
      if (text_in(run, "run_id").empty()) return no_neurolens("it names no run");
    }
    return envelope;
  } catch (const json::exception&) {
    return no_neurolens("its answer has another form");
  }
}

Result<json> Server::sent_files(const std::vector<std::string>& paths, const json& parameters) {
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
