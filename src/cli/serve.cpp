#include "cli/serve.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "base/environment.h"
#include "base/files.h"
#include "base/host_name.h"
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

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

bool is_everywhere(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

std::string in_address(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

/// Names that clients may know the server by. A socket in the file system has none.
std::vector<std::string> host_names(const ServeCommand& command, uint16_t port) {
  std::vector<std::string> names;
  if (!command.unix_socket.empty()) return names;
  std::vector<std::string> hosts;
  for (const std::string& listed : command.names) {  // a variable of the environment has several in one text
    for (const std::string& name : split(listed, ' ')) {
      if (!name.empty()) hosts.push_back(name);
    }
  }
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

Result<void> check(const ServeCommand& command, const std::string& ledger) {
  const bool is_private = !command.unix_socket.empty() || is_loopback(command.host);
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

/// Two servers would keep the same promises twice. Held until the process ends.
Result<void> be_the_only_one(const std::string& ledger) {
  const std::string path = ledger + "/serve.lock";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno_error("cannot open", path, errno);
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return {};
  ::close(fd);
  return Error{ErrorCode::kConflict, "another server has this ledger already: " + ledger,
               "use that one, or serve another ledger"};
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
  app.add_flag("--check", command.check, "only check the settings and the ledger");
  app.add_option("--config", command.config,
                 "file with these settings, one NAME=VALUE a line, e.g. port=8470")
      ->type_name("FILE")
      ->envname("NEUROLENS_SERVE_CONFIG");
}

Result<void> read_settings(CLI::App& app, const ServeCommand& command) {
  if (command.config.empty()) return {};
  NL_TRY(const std::string text, read_file(command.config));
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
    if (option->count() > 0) continue;
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
                        const std::function<void(const std::string&)>& say) {
  NL_CHECK(check(command, ledger));
  if (command.check) {
    say("the settings are fine");
    return {};
  }
  NL_CHECK(be_the_only_one(ledger));
  NL_CHECK(clear_up(ledger));
  const auto cores = std::max(2u, std::thread::hardware_concurrency());
  const size_t workers = command.workers > 0 ? static_cast<size_t>(command.workers) : cores;
  store::SqlWorkers sql_workers{
      store::SqlWorkersOptions{.ready = 1, .at_once = workers, .threads = 1, .memory_mb = 2048}};
  http::AuditLog audit(ledger + "/audit.jsonl");
  http::Uploads uploads(ledger + "/uploads", {.most_bytes = int64_t{command.upload_gb} << 30,
                                              .most_of_one_owner = int64_t{command.upload_gb} << 30});
  std::shared_ptr<http::Routes> kept;  // until the last job, which works for it, has ended
  http::Jobs jobs(static_cast<size_t>(command.jobs), kWaitingJobs);
  http::ServerOptions options;
  options.host = command.host == "localhost" ? "127.0.0.1" : command.host;
  options.port = static_cast<uint16_t>(command.port);
  options.unix_socket = command.unix_socket;
  options.certificate = command.certificate;
  options.certificate_key = command.certificate_key;
  options.base_path = command.base_path;
  options.behind_proxy = command.behind_proxy;
  options.light_workers = cores;
  options.heavy_workers = workers;
  NL_TRY(options.access_log, access_log(command.access_log));
  const auto served = http::serve(options, [&](uint16_t port) -> Result<std::shared_ptr<http::Routes>> {
    http::GuardOptions guard;
    guard.ledger_folder = ledger;
    guard.needs_token = !command.no_token && command.unix_socket.empty();
    if (guard.needs_token) guard.start_token = hex_of(random_bytes(kTokenBytes));
    guard.owner = principal;
    guard.hosts = host_names(command, port);
    guard.base_path = command.base_path;
    guard.behind_proxy = command.behind_proxy;
    guard.most_per_second = command.rate;
    const std::string token = guard.start_token;
    NL_TRY(auto made, http::Guard::make(std::move(guard)));
    auto routes = std::make_shared<http::Routes>(
        http::Shop{ledger, &sql_workers, &audit, &jobs, &uploads, command.base_path}, std::move(made));
    kept = routes;
    if (command.no_token)
      say("warning: every program and user of this machine may read and change the ledger");
    if (!command.unix_socket.empty()) {
      say(fmt::format("serving {} on {}", ledger, command.unix_socket));
      return routes;
    }
    const std::string scheme = command.certificate.empty() ? "http" : "https";
    say(fmt::format("serving {} at {}://{}:{}{}/{}", ledger, scheme,
                    in_address(is_everywhere(command.host) ? host_name() : command.host), port,
                    command.base_path, token.empty() ? "" : "?token=" + token));
    const std::string tunnel = ops::tunnel_line(Environment::of_process(), port, principal);
    if (!tunnel.empty()) say("from your own machine: " + tunnel + ", then open the address there");
    return routes;
  });
  jobs.close();
  return served;
}

}  // namespace nl::cli
