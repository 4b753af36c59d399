#pragma once
// Guard: who asks, and may they ask at all? Checks the Host (so that no foreign page reaches a server on
// loopback by a name of its own), the Origin (so that no foreign page makes a browser ask), how fast somebody
// asks, and the token: as a bearer, or as the cookie that the address with the token was exchanged for. Any
// thread.

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http/message.h"
#include "ops/operation.h"
#include "store/access.h"

namespace nl::http {

inline constexpr char kCookie[] = "neurolens_token";
inline constexpr char kProjectHeader[] = "neurolens-project";

struct Caller {
  std::string name;
  std::string project;  ///< the one that this request is about
  ops::Effect may = ops::Effect::kRead;
};

struct GuardOptions {
  std::string ledger_folder = {};  ///< whose tokens count
  std::string start_token = {};    ///< of this start, for whoever started it; empty: everybody is that person
  bool needs_token = true;
  std::string owner = {};               ///< who started the server
  std::vector<std::string> hosts = {};  ///< names that the server is reached by, with their ports
  std::string base_path = {};
  bool has_sign_in = false;        ///< people without a token are sent there
  bool behind_proxy = false;       ///< the proxy in front of it answers for TLS and for names
  int64_t most_per_second = 2000;  ///< requests of one caller
};

struct Admission {
  std::optional<Response> refusal = {};
  Caller caller = {};
};

class Guard {
 public:
  static Result<Guard> make(GuardOptions options);

  Admission admit(const Request& request);
  /// "/?token=…" becomes a cookie, and the address loses the token.
  std::optional<Response> exchange(const Request& request);
  /// Is it sent to another name, or by a page of another site?
  std::optional<Response> refuses_sender(const Request& request) const;
  /// Keeps a token for somebody who has signed in; returns the cookie with it.
  Result<std::string> open_session(const Request& request, store::Token session, int hours);
  /// The token of the cookie is good no more.
  Result<Response> sign_out(const Request& request);

 private:
  struct Spent {
    int64_t second = 0;
    int64_t requests = 0;
  };
  struct Shared {
    explicit Shared(store::Access opened) : access(std::move(opened)) {}
    std::mutex mutex;
    store::Access access;
    std::map<std::string, Spent, std::less<>> spent;
  };
  Guard(GuardOptions options, std::unique_ptr<Shared> shared)
      : options_(std::move(options)), shared_(std::move(shared)) {}

  bool is_known_host(std::string_view host) const;
  std::optional<store::Token> holder(std::string_view secret);
  std::optional<store::Token> token_of(const Request& request);
  bool is_too_fast(const std::string& name);

  GuardOptions options_;
  std::unique_ptr<Shared> shared_;
};

/// Is the server there, and can it answer? Anybody may ask, by any name.
bool is_probe(const Request& request);
/// These, and figures of the server itself for whoever is on this machine.
bool needs_no_token(const Request& request);

/// What a token lets its holder do in this project.
ops::Effect right_of(const store::Token& token, std::string_view project);

}  // namespace nl::http
