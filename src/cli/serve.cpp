#include "cli/serve.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <variant>

#include "base/environment.h"
#include "base/files.h"
#include "base/host_name.h"
#include "base/process.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "http/wire/server.h"
#include "ops/screen/browser.h"
#include "store/ledger.h"
#include "store/projects.h"
#include "store/sql_workers.h"

namespace nl::cli {
namespace {

constexpr size_t kTokenBytes = 24;
constexpr size_t kWaitingJobs = 1000;

bool is_everywhere(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

std::string in_address(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

/// A variable of the environment has several values in one text.
std::vector<std::string> each_of(const std::vector<std::string>& given, char between) {
  std::vector<std::string> out;
  for (const std::string& listed : given) {
    for (const std::string& one : split(listed, between)) {
      if (!one.empty()) out.push_back(one);
    }
  }
  return out;
}

/// Names of groups may have blanks.
std::vector<std::string> groups_given(const ServeCommand& command) {
  return each_of(command.sign_in_groups, ';');
}

/// Names that clients may know the server by. A socket in the file system has none.
std::vector<std::string> host_names(const ServeCommand& command, uint16_t port) {
  std::vector<std::string> names;
  if (!command.unix_socket.empty()) return names;
  std::vector<std::string> hosts = each_of(command.names, ' ');
  const std::vector<std::string> given = hosts;
  const auto is_given = [&](const std::string& host) {
    return std::find(given.begin(), given.end(), host) != given.end();
  };
  if (is_everywhere(command.host)) hosts.push_back(host_name());
  for (const std::string& host :
       {command.host, std::string("127.0.0.1"), std::string("localhost"), std::string("::1")})
    hosts.push_back(in_address(host));
  for (const std::string& host : hosts) {
    names.push_back(lower(fmt::format("{}:{}", host, port)));
    const bool is_usual =
        port == 80 || port == 443 || command.behind_proxy;  // of the scheme, or of the proxy
    if (is_usual || is_given(host)) names.push_back(lower(host));
  }
  return names;
}

/// Null if people have tokens alone.
Result<std::unique_ptr<http::SignIn>> sign_in_of(const ServeCommand& command) {
  const bool has_rest = !command.sign_in_client.empty() || !command.sign_in_secret_file.empty() ||
                        !command.sign_in_groups.empty();
  if (command.sign_in_issuer.empty() && !has_rest) return std::unique_ptr<http::SignIn>();
  if (command.sign_in_issuer.empty() || command.sign_in_client.empty() || groups_given(command).empty())
    return Error{ErrorCode::kBadInput,
                 "--sign-in-issuer, --sign-in-client and --sign-in-group belong together",
                 "e.g. --sign-in-issuer https://id.example.com --sign-in-client neurolens --sign-in-group "
                 "perf=write:main"};
  if (command.no_token || !command.unix_socket.empty())
    return Error{ErrorCode::kBadInput, "nobody needs to sign in with --no-token or on a socket"};
  NL_CHECK(http::check_issuer(command.sign_in_issuer));
  http::SignInOptions options;
  options.provider = {command.sign_in_issuer, command.sign_in_client, {}};
  if (!command.sign_in_secret_file.empty()) {
    NL_TRY(const std::string secret, read_file(command.sign_in_secret_file));
    options.provider.secret = std::string(trimmed(secret));
    if (options.provider.secret.empty())
      return Error{ErrorCode::kBadInput, "there is no secret in " + command.sign_in_secret_file};
  }
  for (const std::string& group : groups_given(command)) NL_CHECK(http::add_group(group, options.groups));
  options.groups_claim = command.sign_in_groups_claim;
  options.hours = command.sign_in_hours;
  options.base_path = command.base_path;
  options.behind_proxy = command.behind_proxy;
  return std::make_unique<http::SignIn>(std::move(options));
}

/// Projects that people come to by their groups are there before them.
Result<void> make_projects(const ServeCommand& command, const std::string& ledger) {
  std::map<std::string, std::vector<store::Grant>> groups;
  for (const std::string& group : groups_given(command)) NL_CHECK(http::add_group(group, groups));
  for (const auto& [group, grants] : groups) {
    for (const store::Grant& grant : grants) {
      if (grant.project != store::kAllProjects)
        NL_CHECK(store::Ledger::open(store::project_folder(ledger, grant.project)));
    }
  }
  return {};
}

Result<void> check(const ServeCommand& command, const std::string& ledger) {
  const bool is_private = !command.unix_socket.empty() || is_this_machine(command.host);
  if (!is_private && command.certificate.empty() && !command.behind_proxy)
    return Error{ErrorCode::kPermission, "other machines are served only with TLS or behind a proxy",
                 "give --certificate and --certificate-key, or --behind-proxy; or serve on 127.0.0.1, and "
                 "reach it with: ssh -L 8470:127.0.0.1:8470 HOST"};
  if (!is_private && command.no_token)
    return Error{ErrorCode::kPermission, "--no-token is for this machine alone",
                 "make tokens with: neurolens token add NAME"};
  if (command.certificate.empty() != command.certificate_key.empty())
    return Error{ErrorCode::kBadInput, "--certificate and --certificate-key belong together"};
  if (!command.base_path.empty() && (!command.base_path.starts_with('/') || command.base_path.ends_with('/')))
    return Error{ErrorCode::kBadInput, "--base-path begins with / and does not end with it, e.g. /lens"};
  if (!command.certificate.empty())
    NL_CHECK(http::check_certificate(command.certificate, command.certificate_key));
  if (command.check && !path_exists(ledger))
    return Error{ErrorCode::kNotFound, "there is no ledger yet: " + ledger, "neurolens serve makes it"};
  NL_CHECK(store::Ledger::open(ledger));
  NL_TRY(const auto sign_in, sign_in_of(command));
  if (command.check && sign_in) NL_CHECK(sign_in->provider().check());
  return {};
}

/// Lines that are appended whole.
Result<std::function<void(const std::string&)>> access_log(const std::string& path) {
  if (path.empty()) return std::function<void(const std::string&)>();
  const int fd =
      path == "-" ? STDERR_FILENO : ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return errno_error("cannot open", path, errno);
  return std::function<void(const std::string&)>([fd](const std::string& line) {
    const std::string whole = line + "\n";
    (void)!::write(fd, whole.data(), whole.size());
  });
}

/// What an earlier server left when it was killed: halves of imports go, halves of deletions come back.
Result<void> clear_up(const std::string& ledger) {
  for (const std::string& project : store::list_projects(ledger)) {
    NL_TRY(auto opened, store::Ledger::open(store::project_folder(ledger, project)));
    NL_CHECK(opened.collect_garbage(false));
  }
  return {};
}

/// Two servers would keep the same promises twice. Held until the process ends; the file says where the
/// server is, to its owner alone, since the token is in the address.
class OnlyServer {
 public:
  /// The address of the other one if there is one; empty if that says none.
  static Result<std::variant<OnlyServer, std::string>> be(const std::string& ledger) {
    const std::string path = ledger + "/serve.lock";
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return errno_error("cannot open", path, errno);
    OnlyServer one(fd);
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
      one.tell("");
      return std::variant<OnlyServer, std::string>(std::move(one));
    }
    NL_TRY(const std::string address, read_file(path));
    return std::variant<OnlyServer, std::string>(std::string(trimmed(address)));
  }
  OnlyServer(OnlyServer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OnlyServer& operator=(OnlyServer&&) = delete;
  ~OnlyServer() {
    if (fd_ >= 0) ::close(fd_);
  }

  void tell(const std::string& address) {
    if (::ftruncate(fd_, 0) == 0) (void)!::pwrite(fd_, address.data(), address.size(), 0);
  }

 private:
  explicit OnlyServer(int fd) : fd_(fd) {}
  int fd_;
};

Result<http::ServerOptions> server_options(const ServeCommand& command, size_t light_workers,
                                           size_t heavy_workers) {
  http::ServerOptions options;
  options.host = command.host == "localhost" ? "127.0.0.1" : command.host;
  options.port = static_cast<uint16_t>(command.port);
  options.unix_socket = command.unix_socket;
  options.certificate = command.certificate;
  options.certificate_key = command.certificate_key;
  options.base_path = command.base_path;
  options.behind_proxy = command.behind_proxy;
  options.light_workers = light_workers;
  options.heavy_workers = heavy_workers;
  NL_TRY(options.access_log, access_log(command.access_log));
  return options;
}

http::GuardOptions guard_options(const ServeCommand& command, const std::string& ledger,
                                 const std::string& principal, uint16_t port) {
  http::GuardOptions guard;
  guard.ledger_folder = ledger;
  guard.needs_token = !command.no_token && command.unix_socket.empty();
  if (guard.needs_token) guard.start_token = hex_of(random_bytes(kTokenBytes));
  guard.owner = principal;
  guard.hosts = host_names(command, port);
  guard.base_path = command.base_path;
  guard.has_sign_in = !command.sign_in_issuer.empty();
  guard.behind_proxy = command.behind_proxy;
  guard.most_per_second = command.rate;
  return guard;
}

/// With the token of its owner; empty for a socket file.
std::string address_of(const ServeCommand& command, uint16_t port, const std::string& token) {
  if (!command.unix_socket.empty()) return "";
  return fmt::format("{}://{}:{}{}/{}", command.certificate.empty() ? "http" : "https",
                     in_address(is_everywhere(command.host) ? host_name() : command.host), port,
                     command.base_path, token.empty() ? "" : "?token=" + token);
}

/// How to come from another machine.
void say_tunnel(uint16_t port, const std::string& principal, const Say& say) {
  const std::string tunnel = ops::tunnel_line(Environment::of_process(), port, principal);
  if (!tunnel.empty()) say("from your own machine: " + tunnel + ", then open the address there");
}

/// The ready line.
void say_where(const ServeCommand& command, const std::string& ledger, const std::string& address,
               const Say& say) {
  if (command.no_token) say("warning: every program and user of this machine may read and change the ledger");
  say(command.unix_socket.empty() ? fmt::format("serving {} at {}", ledger, address)
                                  : fmt::format("serving {} on {}", ledger, command.unix_socket));
}

/// A page of the server in the browser, if there is one here.
void open_page(const std::string& address, const std::string& page, const Say& say) {
  const size_t query = std::min(address.find('?'), address.size());
  std::string url = address.substr(0, query) + page.substr(1);
  if (query < address.size())
    url += (page.find('?') == std::string::npos ? "?" : "&") + address.substr(query + 1);
  say("the page: " + url);
  const Environment around = Environment::of_process();
  const auto command = ops::browser_command(around, url);
  if (!command) return say("warning: " + command.error().message);
  if (command->empty()) return;  // there is no screen here
  const auto started = start_detached(around, *command);
  say(started ? "opened with " + command->front() : "warning: " + started.error().message);
}

}  // namespace

void add_serve_options(CLI::App& app, ServeCommand& command) {
  app.add_option("--host", command.host, "address to listen on")
      ->type_name("HOST")
      ->envname("NEUROLENS_SERVE_HOST")
      ->capture_default_str();
  app.add_option("--port", command.port, "port to listen on; 0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->type_name("N")
      ->envname("NEUROLENS_SERVE_PORT")
      ->capture_default_str();
  app.add_option("--unix-socket", command.unix_socket,
                 "listen on this socket file instead; only you may connect")
      ->type_name("FILE")
      ->envname("NEUROLENS_SERVE_UNIX_SOCKET");
  app.add_flag("--no-token", command.no_token, "let every program and user of this machine in")
      ->envname("NEUROLENS_SERVE_NO_TOKEN");
  app.add_option("--certificate", command.certificate,
                 "certificate with its chain (PEM); read again when it changes")
      ->type_name("FILE")
      ->envname("NEUROLENS_SERVE_CERTIFICATE");
  app.add_option("--certificate-key", command.certificate_key, "its key (PEM)")
      ->type_name("FILE")
      ->envname("NEUROLENS_SERVE_CERTIFICATE_KEY");
  app.add_flag("--behind-proxy", command.behind_proxy, "a proxy in front of this server does TLS")
      ->envname("NEUROLENS_SERVE_BEHIND_PROXY");
  app.add_option("--base-path", command.base_path, "path that a proxy puts before ours, e.g. /lens")
      ->type_name("PATH")
      ->envname("NEUROLENS_SERVE_BASE_PATH");
  app.add_option("--name", command.names, "another name that clients know this server by; may be repeated")
      ->type_name("HOST")
      ->envname("NEUROLENS_SERVE_NAME");
  app.add_option("--access-log", command.access_log,
                 "append a line of JSON for each request; -: to standard error")
      ->type_name("FILE")
      ->envname("NEUROLENS_SERVE_ACCESS_LOG");
  app.add_option("--workers", command.workers, "analyses at once (default: the machine's cores)")
      ->check(CLI::Range(1, 256))
      ->type_name("N")
      ->envname("NEUROLENS_SERVE_WORKERS");
  app.add_option("--jobs", command.jobs, "imports and other jobs at once")
      ->check(CLI::Range(1, 64))
      ->type_name("N")
      ->envname("NEUROLENS_SERVE_JOBS")
      ->capture_default_str();
  app.add_option("--rate", command.rate, "requests of one caller in a second")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N")
      ->envname("NEUROLENS_SERVE_RATE")
      ->capture_default_str();
  app.add_option("--upload-gb", command.upload_gb, "gigabytes of files on their way at once")
      ->check(CLI::Range(1, 100000))
      ->type_name("N")
      ->envname("NEUROLENS_SERVE_UPLOAD_GB")
      ->capture_default_str();
  app.add_option("--sign-in-issuer", command.sign_in_issuer,
                 "let people sign in by OpenID Connect: address of the provider")
      ->type_name("URL")
      ->envname("NEUROLENS_SERVE_SIGN_IN_ISSUER");
  app.add_option("--sign-in-client", command.sign_in_client, "what the provider calls this server")
      ->type_name("ID")
      ->envname("NEUROLENS_SERVE_SIGN_IN_CLIENT");
  app.add_option("--sign-in-secret-file", command.sign_in_secret_file,
                 "file with the secret that the provider gave this server")
      ->type_name("FILE")
      ->envname("NEUROLENS_SERVE_SIGN_IN_SECRET_FILE");
  app.add_option("--sign-in-group", command.sign_in_groups,
                 "what people of a group may do, e.g. perf=write:main, leads=admin:*; may be repeated")
      ->type_name("GROUP=ROLE:PROJECT")
      ->envname("NEUROLENS_SERVE_SIGN_IN_GROUP");
  app.add_option("--sign-in-groups-claim", command.sign_in_groups_claim,
                 "where the provider says which groups somebody is in")
      ->type_name("NAME")
      ->envname("NEUROLENS_SERVE_SIGN_IN_GROUPS_CLAIM")
      ->capture_default_str();
  app.add_option("--sign-in-hours", command.sign_in_hours, "hours until people must sign in again")
      ->check(CLI::Range(1, 720))
      ->type_name("N")
      ->envname("NEUROLENS_SERVE_SIGN_IN_HOURS")
      ->capture_default_str();
  app.add_flag("--check", command.check, "only check the settings and the ledger");
  app.add_option("--config", command.config,
                 "file with these settings, one NAME=VALUE a line, e.g. port=8470")
      ->type_name("FILE")
      ->envname("NEUROLENS_SERVE_CONFIG");
}

Result<void> read_settings(CLI::App& app, const ServeCommand& command) {
  if (command.config.empty()) return {};
  NL_TRY(const std::string text, read_file(command.config));
  std::set<const CLI::Option*> given;  // by flags and variables, which go before the file
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0) given.insert(option);
  }
  for (const std::string& line : split(text, '\n')) {
    const std::string_view setting = trimmed(line);
    if (setting.empty() || setting.starts_with('#')) continue;
    const size_t equals = setting.find('=');
    const std::string name(trimmed(setting.substr(0, equals)));
    const std::string value(equals == std::string_view::npos ? "true" : trimmed(setting.substr(equals + 1)));
    CLI::Option* const option =
        name == "config" || name == "check" ? nullptr : app.get_option_no_throw("--" + name);
    if (option == nullptr)
      return Error{ErrorCode::kBadInput, "there is no such setting: " + name,
                   "neurolens serve --help lists them, without --"};
    if (given.contains(option)) continue;
    try {
      option->add_result(value);
      option->run_callback();
    } catch (const CLI::Error& e) {
      return Error{ErrorCode::kBadInput, "the setting " + name + " is wrong: " + e.what()};
    }
  }
  return {};
}

Result<void> run_server(const ServeCommand& command, const std::string& ledger, const std::string& principal,
                        const Say& say) {
  NL_CHECK(check(command, ledger));
  if (command.check) {
    say("the settings are fine");
    return {};
  }
  NL_TRY(auto only, OnlyServer::be(ledger));
  if (const auto* other = std::get_if<std::string>(&only)) {
    if (command.page.empty() || other->empty())
      return Error{ErrorCode::kConflict, "another server has this ledger already: " + ledger,
                   "use that one, or serve another ledger"};
    open_page(*other, command.page, say);
    say("a server of this ledger is running already; the page is there as long as it runs");
    return {};
  }
  NL_CHECK(clear_up(ledger));
  NL_CHECK(make_projects(command, ledger));
  // With one connection open, SQLite does not make and remove its shared memory for every request.
  NL_TRY(const store::Ledger open_meanwhile, store::Ledger::open(ledger));
  const auto cores = std::max(2u, std::thread::hardware_concurrency());
  const size_t workers = command.workers > 0 ? static_cast<size_t>(command.workers) : cores;
  store::SqlWorkers sql_workers{
      store::SqlWorkersOptions{.ready = 1, .at_once = workers, .threads = 1, .memory_mb = 2048}};
  http::AuditLog audit(ledger + "/audit.jsonl");
  http::Uploads uploads(ledger + "/uploads", {.most_bytes = int64_t{command.upload_gb} << 30,
                                              .most_of_one_owner = int64_t{command.upload_gb} << 30});
  std::shared_ptr<http::Routes> kept;  // until the last job, which works for it, has ended
  http::Jobs jobs(static_cast<size_t>(command.jobs), kWaitingJobs);
  NL_TRY(const http::ServerOptions options, server_options(command, cores, workers));
  const auto served = http::serve(options, [&](uint16_t port) -> Result<std::shared_ptr<http::Routes>> {
    http::GuardOptions guard = guard_options(command, ledger, principal, port);
    const std::string token = guard.start_token;
    NL_TRY(auto made, http::Guard::make(std::move(guard)));
    NL_TRY(auto sign_in, sign_in_of(command));
    auto routes = std::make_shared<http::Routes>(
        http::Shop{ledger, &sql_workers, &audit, &jobs, &uploads, command.base_path, sign_in != nullptr},
        std::move(made), std::move(sign_in));
    kept = routes;
    const std::string address = address_of(command, port, token);
    std::get<OnlyServer>(only).tell(address);
    const bool is_view = !command.page.empty();
    is_view ? open_page(address, command.page, say) : say_where(command, ledger, address, say);
    if (!address.empty()) say_tunnel(port, principal, say);
    if (is_view) say(command.ending);
    return routes;
  });
  jobs.close();
  return served;
}

}  // namespace nl::cli
