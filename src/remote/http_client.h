#pragma once
// A client of HTTP: asks a server and waits for its answer. One connection, which is made again when it was
// lost between two requests. A call that is cancelled ends at once, also while it waits. Serves one thread.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "remote/address.h"

namespace nl::remote {

struct Question {
  std::string method = "GET";
  std::string path;  ///< behind the base path
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  /// Instead of `body`: gives the next piece, at most as long as the buffer; 0: that was all.
  std::function<Result<size_t>(char* buffer, size_t size)> pieces = {};
  int64_t bytes_of_pieces = 0;
  /// Where the body of a good answer goes; none: into `body` of the answer.
  std::function<Result<void>(std::string_view)> sink = {};
  std::string mark = {};  ///< header, in lower case, that an answer for the sink must have
  int connect_seconds = 30;
  int64_t most_bytes = 0;  ///< of the answer's body; 0: any
};

struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers = {};  ///< names in lower case
  std::string body = {};
};

class HttpClient {
 public:
  HttpClient(Address address, std::string token, const Environment& environment);
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;

  /// unavailable: the server cannot be reached, or left in the middle.
  Result<Answer> ask(const Question& question);
  const Address& address() const { return address_; }

 private:
  class Link;
  Result<std::unique_ptr<Link>> connect(int seconds) const;
  Result<Answer> exchange(Link& link, const Question& question) const;

  Address address_;
  std::string token_;
  std::string authorities_;  ///< file with certificates to believe, besides those of the system
  std::unique_ptr<Link> link_;
};

}  // namespace nl::remote
