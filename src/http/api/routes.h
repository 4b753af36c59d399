#pragma once
// Routes: from a request to its answer. Everything that a client sends comes through here, after the
// connection has read it and before anything else looks at it. Any thread.

#include <memory>
#include <mutex>
#include <string>

#include "http/api/api.h"
#include "http/api/figures.h"
#include "http/api/mcp_endpoint.h"
#include "http/message.h"
#include "http/people/guard.h"
#include "http/people/sign_in.h"

namespace nl::http {

/// Where a body goes that is too large for memory, or why it is not wanted; neither: it is read into memory.
struct Reception {
  std::optional<Response> refusal = {};
  std::unique_ptr<BodySink> sink = {};
};

class Routes {
 public:
  /// `sign_in`: null if people have tokens alone.
  Routes(Shop shop, Guard guard, std::unique_ptr<SignIn> sign_in);

  Response answer(const Request& request);
  /// Asked before the body is read.
  Reception receive(const Request& request);
  /// How long the answer will take.
  ops::Cost cost_of(const Request& request) const;
  /// What figures and logs call the request: never text that a client made up.
  std::string_view route_of(const Request& request) const;
  Figures& figures() { return figures_; }

 private:
  Response answer_admitted(const Request& request);
  std::optional<Response> at_the_entrance(const Request& request);
  Response signed_in(const Request& request);
  Response signed_out(const Request& request);
  Response admitted(const Request& request, const Caller& caller);
  Response plain_page(const Request& request);
  void note_refusal(const Request& request, const std::string& who, int status);

  Shop shop_;
  Guard guard_;
  std::unique_ptr<SignIn> sign_in_;
  Api api_;
  McpEndpoint mcp_;
  std::string openapi_;
  Figures figures_;
  std::mutex refusals_mutex_;
  int64_t refusals_second_ = 0, refusals_noted_ = 0;
};

}  // namespace nl::http
