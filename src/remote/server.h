#pragma once
// Another NeuroLens, asked over HTTP: operations, files that are sent to it, runs that come from it. Serves
// one thread.

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "remote/http_client.h"

namespace nl::remote {

class Server {
 public:
  /// `address` as is_address() takes it. The token is that of the address, or $NEUROLENS_TOKEN; the project
  /// is $NEUROLENS_PROJECT, or the one of the token.
  static Result<Server> at(const std::string& address, const Environment& environment);

  /// The envelope of the operation. An error that the server tells is this call's error.
  Result<nlohmann::json> call(const std::string& operation, const nlohmann::json& parameters);
  /// The bytes that it gives instead of an envelope; `accept` says which, e.g. text/plain.
  Result<void> stream(const std::string& operation, const nlohmann::json& parameters,
                      const std::string& accept, const std::function<Result<void>(std::string_view)>& sink);
  /// Sends the files, has them imported, and waits. The envelope of `import`.
  Result<nlohmann::json> send_files(const std::vector<std::string>& paths, const nlohmann::json& parameters);
  /// What the command line there would have ended with: 1 if the last answer is a gate that failed.
  int exit_code() const { return exit_code_; }

 private:
  explicit Server(HttpClient client, std::string project)
      : client_(std::move(client)), project_(std::move(project)) {}
  Result<Answer> ask(Question question);
  Result<nlohmann::json> ask_json(Question question);
  Result<nlohmann::json> sent_files(const std::vector<std::string>& paths, const nlohmann::json& parameters);
  Result<void> send_file(const std::string& upload, size_t number, const std::string& path, int64_t bytes);
  Result<nlohmann::json> wait_for(const std::string& job);

  HttpClient client_;
  std::string project_;
  int exit_code_ = 0;
};

}  // namespace nl::remote
