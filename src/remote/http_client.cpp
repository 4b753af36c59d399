#include "remote/http_client.h"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "base/call_control.h"
#include "base/files.h"
#include "base/text.h"

namespace nl::remote {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace wire = beast::http;
using tcp = asio::ip::tcp;

constexpr size_t kPiece = 256 << 10;

// Where distributions keep the certificates that they believe.
constexpr const char* kAuthorities[] = {"/etc/ssl/certs/ca-certificates.crt",
                                        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"};

Error unreachable(const Address& address, const std::string& why) {
  const std::string name = address.socket.empty() ? address.host + ":" + address.port : address.socket;
  return Error{ErrorCode::kUnavailable, "cannot ask the server " + name + ": " + why,
               "is it running? neurolens serve prints its address"};
}

/// A machine that is gone says nothing. One that thinks may say nothing for minutes, too, but its system
/// answers.
void notice_death(tcp::socket& socket) {
  const int yes = 1, idle_seconds = 60, pause_seconds = 10, questions = 6;
  const int fd = socket.native_handle();
  (void)::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &pause_seconds, sizeof pause_seconds);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &questions, sizeof questions);
}

/// The first of its addresses that answers, each within the time: the system's own patience is minutes long.
void connect_within(tcp::socket& socket, const tcp::resolver::results_type& addresses, int seconds) {
  beast::error_code failure = asio::error::host_not_found;
  for (const auto& address : addresses) {
    try {
      if (socket.is_open()) socket.close();
      socket.open(address.endpoint().protocol());
      const unsigned milliseconds = static_cast<unsigned>(seconds) * 1000;
      (void)::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds,
                         sizeof milliseconds);
      socket.connect(address.endpoint());
      return;
    } catch (const boost::system::system_error& e) {
      failure = e.code();
    }
  }
  throw boost::system::system_error(failure);
}

}  // namespace

/// Bytes to and from the server, whatever carries them. The library reads and writes through it.
class HttpClient::Link {
 public:
  virtual ~Link() = default;
  virtual size_t read(asio::mutable_buffer to, beast::error_code& error) = 0;
  virtual size_t write(asio::const_buffer from, beast::error_code& error) = 0;
  virtual int fd() = 0;

  template <class Buffers>
  size_t read_some(const Buffers& buffers, beast::error_code& error) {
    for (const asio::mutable_buffer one : beast::buffers_range_ref(buffers)) {
      if (one.size() > 0) return read(one, error);
    }
    return 0;
  }
  template <class Buffers>
  size_t write_some(const Buffers& buffers, beast::error_code& error) {
    for (const asio::const_buffer one : beast::buffers_range_ref(buffers)) {
      if (one.size() > 0) return write(one, error);
    }
    error = {};
    return 0;
  }
  // The library names these, too, but only calls those above.
  template <class Buffers>
  size_t read_some(const Buffers& buffers) {
    beast::error_code error;
    const size_t got = read_some(buffers, error);
    if (error) throw beast::system_error(error);
    return got;
  }
  template <class Buffers>
  size_t write_some(const Buffers& buffers) {
    beast::error_code error;
    const size_t sent = write_some(buffers, error);
    if (error) throw beast::system_error(error);
    return sent;
  }

  beast::flat_buffer buffer;
  bool is_used = false;  ///< it has carried an answer already

  template <class Stream>
  class Over;
};

template <class Stream>
class HttpClient::Link::Over : public Link {
 public:
  template <class... Arguments>
  explicit Over(Arguments&&... arguments) : stream(io, std::forward<Arguments>(arguments)...) {}
  size_t read(asio::mutable_buffer to, beast::error_code& error) override {
    return stream.read_some(to, error);
  }
  size_t write(asio::const_buffer from, beast::error_code& error) override {
    return stream.write_some(from, error);
  }
  int fd() override { return stream.native_handle(); }

  asio::io_context io;
  Stream stream;
};

namespace {

class Secured {
 public:
  explicit Secured(asio::io_context& io) : context(asio::ssl::context::tls_client), stream(io, context) {}
  template <class Buffer>
  size_t read_some(const Buffer& to, beast::error_code& error) {
    return stream.read_some(to, error);
  }
  template <class Buffer>
  size_t write_some(const Buffer& from, beast::error_code& error) {
    return stream.write_some(from, error);
  }

  int native_handle() { return stream.next_layer().native_handle(); }

  asio::ssl::context context;
  asio::ssl::stream<tcp::socket> stream;
};

/// What the system believes, and `more`. Throws if a file is damaged.
void believe(asio::ssl::context& context, const std::string& more) {
  context.set_default_verify_paths();
  for (const char* file : kAuthorities) {
    if (path_exists(file)) context.load_verify_file(file);
  }
  if (!more.empty()) context.load_verify_file(more);
  context.set_verify_mode(asio::ssl::verify_peer);
}

}  // namespace

HttpClient::HttpClient(Address address, std::string token, const Environment& environment)
    : address_(std::move(address)),
      token_(std::move(token)),
      authorities_(environment.get("NEUROLENS_CA_FILE")) {
  if (!address_.token.empty()) token_ = address_.token;
}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;

Result<std::unique_ptr<HttpClient::Link>> HttpClient::connect(int seconds) const {
  try {
    if (!address_.socket.empty()) {
      auto link = std::make_unique<Link::Over<asio::local::stream_protocol::socket>>();
      link->stream.connect(asio::local::stream_protocol::endpoint(address_.socket));
      return std::unique_ptr<Link>(std::move(link));
    }
    std::string host = address_.host;
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (!address_.is_secure) {
      auto link = std::make_unique<Link::Over<tcp::socket>>();
      connect_within(link->stream, tcp::resolver(link->io).resolve(host, address_.port), seconds);
      link->stream.set_option(tcp::no_delay(true));
      notice_death(link->stream);
      return std::unique_ptr<Link>(std::move(link));
    }
    auto link = std::make_unique<Link::Over<Secured>>();
    believe(link->stream.context, authorities_);
    auto& stream = link->stream.stream;
    stream.set_verify_mode(asio::ssl::verify_peer);
    stream.set_verify_callback(asio::ssl::host_name_verification(host));
    (void)SSL_set_tlsext_host_name(stream.native_handle(), host.c_str());
    connect_within(stream.next_layer(), tcp::resolver(link->io).resolve(host, address_.port), seconds);
    notice_death(stream.next_layer());
    stream.handshake(asio::ssl::stream_base::client);
    return std::unique_ptr<Link>(std::move(link));
  } catch (const boost::system::system_error& e) {
    return unreachable(address_, e.code().message());
  }
}

Result<Answer> HttpClient::exchange(Link& link, const Question& question) const {
  const CancelHook hang_up([fd = link.fd()] { (void)::shutdown(fd, SHUT_RDWR); });
  wire::request<wire::buffer_body> request;
  request.version(11);
  request.method_string(question.method);
  request.target(address_.base_path + question.path);
  const bool usual_port = address_.port.empty() || address_.port == (address_.is_secure ? "443" : "80");
  request.set(wire::field::host, usual_port ? address_.host : address_.host + ":" + address_.port);
  request.set(wire::field::user_agent, "neurolens/" NEUROLENS_VERSION);
  if (!token_.empty()) request.set(wire::field::authorization, "Bearer " + token_);
  for (const auto& [name, value] : question.headers) request.set(name, value);
  request.content_length(question.pieces ? static_cast<uint64_t>(question.bytes_of_pieces)
                                         : question.body.size());
  request.body().data = const_cast<char*>(question.body.data());  // it is only read
  request.body().size = question.body.size();
  request.body().more = static_cast<bool>(question.pieces);

  beast::error_code error;
  wire::request_serializer<wire::buffer_body> serializer(request);
  wire::write_header(link, serializer, error);
  if (error) return unreachable(address_, error.message());
  std::vector<char> piece(kPiece);
  for (bool more = static_cast<bool>(question.pieces); more;) {
    NL_CHECK(check_cancelled());
    NL_TRY(const size_t got, question.pieces(piece.data(), piece.size()));
    more = got > 0;
    request.body().data = more ? piece.data() : nullptr;
    request.body().size = got;
    request.body().more = more;
    wire::write(link, serializer, error);
    if (error == wire::error::need_buffer) error = {};
    if (error) break;  // the server may have refused it: its answer says why
  }
  if (!question.pieces) wire::write(link, serializer, error);

  wire::response_parser<wire::buffer_body> parser;
  parser.body_limit(question.most_bytes > 0
                        ? boost::optional<uint64_t>(static_cast<uint64_t>(question.most_bytes))
                        : boost::none);
  parser.skip(question.method == "HEAD");
  wire::read_header(link, link.buffer, parser, error);
  if (error)
    return unreachable(address_,
                       error == wire::error::end_of_stream ? "it closed the connection" : error.message());
  Answer answer;
  answer.status = static_cast<int>(parser.get().result_int());
  for (const auto& field : parser.get())
    answer.headers[lower({field.name_string().data(), field.name_string().size()})] =
        std::string(field.value().data(), field.value().size());
  const bool is_marked = question.mark.empty() || answer.headers.contains(question.mark);
  const bool to_sink = question.sink && answer.status < 300 && is_marked;
  while (!parser.is_done()) {
    NL_CHECK(check_cancelled());
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    wire::read(link, link.buffer, parser, error);
    if (error == wire::error::need_buffer) error = {};
    if (error) return unreachable(address_, "it closed the connection in the middle of its answer");
    const std::string_view got(piece.data(), piece.size() - parser.get().body().size);
    if (to_sink) NL_CHECK(question.sink(got));
    if (!to_sink) answer.body += got;
  }
  link.is_used = parser.keep_alive();
  return answer;
}

Result<Answer> HttpClient::ask(const Question& question) {
  const bool is_old = link_ != nullptr;
  if (!is_old) {
    NL_TRY(link_, connect(question.connect_seconds));
  }
  auto answer = exchange(*link_, question);
  const bool was_lost = !answer && answer.error().code == ErrorCode::kUnavailable && is_old &&
                        !question.pieces && !question.sink;
  if (was_lost) {  // a server closes connections that nobody has used for long
    NL_TRY(link_, connect(question.connect_seconds));
    answer = exchange(*link_, question);
  }
  if (!answer || !link_->is_used) link_ = nullptr;
  return answer;
}

}  // namespace nl::remote
