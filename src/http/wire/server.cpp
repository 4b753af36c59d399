#include "http/wire/server.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/signal_set.hpp>

#include "http/wire/connection.h"

namespace nl::http {
namespace {

using tcp = asio::ip::tcp;
using local = asio::local::stream_protocol;

constexpr size_t kFilesBesides = 256;  // of ledgers, uploads and workers

/// A connection is a file.
size_t connections_that_fit(size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  return std::min<size_t>(
      wanted, limit.rlim_cur > 2 * kFilesBesides ? limit.rlim_cur - kFilesBesides : kFilesBesides);
}

/// A process of SQL that outlives a killed server for a moment would else keep its port and its clients.
template <class Socket>
void keep_from_programs(Socket& socket) {
  (void)::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
}

class Listener {
 public:
  Listener(asio::io_context& io, ServerParts& parts, Certificates* certificates, size_t most)
      : io_(io), parts_(parts), certificates_(certificates), most_(most) {}

  template <class Acceptor>
  asio::awaitable<void> listen(Acceptor& acceptor) {
    for (;;) {
      beast::error_code error;
      typename Acceptor::protocol_type::socket socket(io_);
      co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
      if (!acceptor.is_open()) co_return;
      if (error) {  // too many files: others may close some
        asio::steady_timer timer(io_, std::chrono::milliseconds(50));
        co_await timer.async_wait(asio::use_awaitable);
        continue;
      }
      keep_from_programs(socket);
      if (parts_.connections >= most_) continue;
      begin(std::move(socket));
    }
  }

 private:
  void begin(tcp::socket socket) {
    beast::error_code ignored;
    (void)socket.set_option(tcp::no_delay(true), ignored);
    const auto address = socket.remote_endpoint(ignored).address();
    const bool is_near = address.is_loopback();
    begin(Socket(asio::generic::stream_protocol::socket(std::move(socket))),
          {address.to_string(ignored), is_near, certificates_ != nullptr, -1});
  }
  void begin(local::socket socket) {
    begin(Socket(asio::generic::stream_protocol::socket(std::move(socket))), {"unix", true, false, -1});
  }
  void begin(Socket socket, Peer peer) {
    peer.fd = socket.socket().native_handle();
    parts_.connections++;
    auto work = certificates_ == nullptr ? run_plain(std::move(socket), std::move(peer), parts_)
                                         : certificates_->run(std::move(socket), std::move(peer), parts_);
    asio::co_spawn(io_, std::move(work), [this](const std::exception_ptr&) { parts_.connections--; });
  }

  asio::io_context& io_;
  ServerParts& parts_;
  Certificates* certificates_;
  const size_t most_;
};

/// Waits until nothing is being answered, at most until then.
asio::awaitable<void> wait_for_quiet(asio::io_context& io, const ServerParts& parts,
                                     Clock::time_point until) {
  asio::steady_timer timer(io);
  while (parts.requests > 0 && Clock::now() < until) {
    timer.expires_after(std::chrono::milliseconds(20));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

/// Lets what runs come to its end; after a while it is cancelled, then clients that neither read nor write
/// are left. A worker may still wait for one of them, so the end is not before it has heard of it.
asio::awaitable<void> end_gently(asio::io_context& io, ServerParts& parts) {
  parts.is_ending = true;
  const auto cancel_at = Clock::now() + std::chrono::seconds(parts.options.ending_seconds);
  co_await wait_for_quiet(io, parts, cancel_at);
  parts.must_end = true;
  const auto leave_at = Clock::now() + std::chrono::seconds(2);
  co_await wait_for_quiet(io, parts, leave_at);
  parts.sockets->shut_down();
  co_await wait_for_quiet(io, parts, Clock::time_point::max());
  io.stop();
}

template <class Acceptor>
Result<void> serve_on(asio::io_context& io, Acceptor& acceptor, uint16_t port, const ServerOptions& options,
                      const std::function<Result<std::shared_ptr<Routes>>(uint16_t)>& ready) {
  std::unique_ptr<Certificates> certificates;
  if (!options.certificate.empty()) {
    NL_TRY(certificates, Certificates::read(options.certificate, options.certificate_key));
  }
  keep_from_programs(acceptor);
  NL_TRY(const auto routes, ready(port));
  Lanes lanes{Lane(options.light_workers, options.most_connections),
              Lane(options.heavy_workers, options.most_waiting), Lane(2, options.most_connections)};
  ServerParts parts{options, *routes, lanes};
  Listener listener(io, parts, certificates.get(), connections_that_fit(options.most_connections));
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](beast::error_code error, int) {
    if (error) return;
    acceptor.close();
    asio::co_spawn(io, end_gently(io, parts), asio::detached);
    signals.async_wait([](beast::error_code again, int) {
      if (!again) std::_Exit(130);
    });
  });
  asio::co_spawn(io, listener.listen(acceptor), asio::detached);
  io.run();
  parts.must_end = true;
  lanes.light.pool().join();
  lanes.heavy.pool().join();
  lanes.disk.pool().join();
  return {};
}

Result<void> serve_file(const ServerOptions& options,
                        const std::function<Result<std::shared_ptr<Routes>>(uint16_t)>& ready) {
  struct stat info {};
  asio::io_context io(1);
  if (::lstat(options.unix_socket.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) {
    beast::error_code nobody_there;
    (void)local::socket(io).connect(local::endpoint(options.unix_socket), nobody_there);
    if (!nobody_there) return Error{ErrorCode::kConflict, "another server listens on " + options.unix_socket};
    ::unlink(options.unix_socket.c_str());
  }

  beast::error_code error;
  local::acceptor acceptor(io);
  (void)acceptor.open(local(), error);
  if (!error) (void)acceptor.bind(local::endpoint(options.unix_socket), error);
  // Only its owner may connect; nobody can before it listens.
  if (!error) (void)::chmod(options.unix_socket.c_str(), 0600);
  if (!error) (void)acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return Error{ErrorCode::kIo, "cannot listen on " + options.unix_socket + ": " + error.message()};
  const auto done = serve_on(io, acceptor, 0, options, ready);
  ::unlink(options.unix_socket.c_str());
  return done;
}

}  // namespace

Result<void> serve(const ServerOptions& options,
                   const std::function<Result<std::shared_ptr<Routes>>(uint16_t port)>& ready) {
  try {
    if (!options.unix_socket.empty()) return serve_file(options, ready);
    asio::io_context io(1);
    tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::make_address(options.host), options.port));
    return serve_on(io, acceptor, acceptor.local_endpoint().port(), options, ready);
  } catch (const boost::system::system_error& e) {
    return Error{
        ErrorCode::kIo,
        "cannot listen on " + options.host + ":" + std::to_string(options.port) + ": " + e.code().message(),
        "choose another --port"};
  }
}

}  // namespace nl::http
