#pragma once
// A connection: reads requests one after the other, lets a worker answer each, and writes the answer. Runs on
// the thread of the connections except where it says otherwise. g++ 12 compiles a co_await wrongly inside of
// ?:, && and ||, and with temporaries as arguments: neither is written here.

#include <poll.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/text.h"
#include "http/answers.h"
#include "http/encoding.h"
#include "http/target.h"
#include "http/wire/lanes.h"
#include "http/wire/server.h"

namespace nl::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace wire = boost::beast::http;
using Clock = std::chrono::steady_clock;

/// The sockets of all connections, to close them at the end. Any thread may use it.
class OpenSockets {
 public:
  using Socket = asio::generic::stream_protocol::socket;

  void add(Socket& socket) {
    const std::lock_guard lock(mutex_);
    open_.insert(&socket);
  }
  void remove(Socket& socket) {
    const std::lock_guard lock(mutex_);
    open_.erase(&socket);
  }
  /// Whoever waits for a client gets an error then.
  void shut_down() {
    const std::lock_guard lock(mutex_);
    beast::error_code ignored;
    for (Socket* socket : open_) (void)socket->shutdown(asio::socket_base::shutdown_both, ignored);
  }

 private:
  std::mutex mutex_;
  std::set<Socket*> open_;
};

/// What all connections of a server share.
struct ServerParts {
  const ServerOptions& options;
  Routes& routes;
  Lanes& lanes;
  std::atomic<bool> is_ending = false;  ///< no further request of any connection is read
  std::atomic<bool> must_end = false;   ///< what runs must stop
  std::atomic<size_t> requests = 0;     ///< being answered
  std::atomic<size_t> connections = 0;
  /// Shared: connections that nobody asks for anything are removed with the I/O context, after all else.
  std::shared_ptr<OpenSockets> sockets = std::make_shared<OpenSockets>();
};

struct Peer {
  std::string address;
  bool is_near = false;
  bool is_secure = false;
  int fd = -1;
};

inline constexpr size_t kMostHeaderBytes = 16 << 10;
inline constexpr size_t kUploadPiece = 256 << 10;
inline constexpr auto kGoneCheck = std::chrono::milliseconds(50);
inline constexpr auto kNewsEvery = std::chrono::milliseconds(200);
inline constexpr auto kSilence = std::chrono::seconds(15);
inline constexpr auto kSwallowTime = std::chrono::seconds(2);
inline constexpr size_t kSwallowBytes = 64 << 20;

/// Whether the other end has closed the connection; asked often, looked at rarely.
class GoneCheck {
 public:
  GoneCheck(int fd, const std::atomic<bool>& must_end) : fd_(fd), must_end_(&must_end) {}
  bool operator()() {
    if (must_end_->load()) return true;
    const auto now = Clock::now();
    if (is_gone_ || now < next_) return is_gone_;
    next_ = now + kGoneCheck;
    pollfd look{fd_, POLLRDHUP, 0};
    is_gone_ = ::poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
    return is_gone_;
  }

 private:
  int fd_;
  const std::atomic<bool>* must_end_;
  bool is_gone_ = false;
  Clock::time_point next_{};
};

Method method_of(wire::verb verb);
/// What the header says; nothing is believed that comes twice.
Result<Request> request_of(const wire::fields& fields, wire::verb method, std::string_view target,
                           const ServerOptions& options);
void write_access_log(const ServerOptions& options, const Peer& peer, std::string_view route,
                      const Request& request, int status, const std::string& who, int64_t microseconds);

/// The coroutine goes on on a thread of this executor. Bound to it: the coroutine would be brought back at
/// once otherwise.
template <class Executor>
auto move_to(const Executor& executor) {
  return asio::post(asio::bind_executor(executor, asio::use_awaitable));
}

template <class Stream>
class Connection {
 public:
  Connection(Stream stream, Peer peer, ServerParts& parts)
      : stream_(std::move(stream)), peer_(std::move(peer)), parts_(parts) {}

  Stream& stream() { return stream_; }

  asio::awaitable<void> run() {
    struct Listed {
      Listed(std::shared_ptr<OpenSockets> all, OpenSockets::Socket& one)
          : sockets(std::move(all)), socket(one) {
        sockets->add(socket);
      }
      Listed(const Listed&) = delete;
      Listed& operator=(const Listed&) = delete;
      ~Listed() { sockets->remove(socket); }
      const std::shared_ptr<OpenSockets> sockets;
      OpenSockets::Socket& socket;
    };
    const Listed listed(parts_.sockets, socket());
    bool goes_on = true;
    while (goes_on && !parts_.is_ending) goes_on = co_await answer_one();
  }

 private:
  using Head = wire::request_parser<wire::empty_body>;
  using Whole = wire::request_parser<wire::string_body>;
  using Pieces = wire::request_parser<wire::buffer_body>;

  OpenSockets::Socket& socket() { return beast::get_lowest_layer(stream_).socket(); }
  void expire() {
    beast::get_lowest_layer(stream_).expires_after(std::chrono::seconds(parts_.options.request_seconds));
  }
  void never_expire() { beast::get_lowest_layer(stream_).expires_never(); }

  /// False when the connection must end.
  asio::awaitable<bool> answer_one() {
    Head head;
    head.header_limit(kMostHeaderBytes);
    head.body_limit(boost::none);
    expire();
    beast::error_code error;
    co_await wire::async_read_header(stream_, buffer_, head,
                                     asio::redirect_error(asio::use_awaitable, error));
    if (error) {
      const auto complaint = complaint_about(error);
      if (complaint) co_await write_whole(*complaint, false);
      co_return false;
    }
    began_ = Clock::now();
    version_ = head.get().version();
    keeps_ = head.get().keep_alive();
    is_head_ = head.get().method() == wire::verb::head;
    const Counted counted(parts_.requests);
    const Counted running(parts_.routes.figures().running());
    auto request = request_of(head.get(), head.get().method(),
                              {head.get().target().data(), head.get().target().size()}, parts_.options);
    if (!request) {
      const Request unread;
      const Response wrong = failed("request", request.error());
      co_return co_await refuse(unread, wrong);
    }
    request->address = peer_.address;
    request->is_near = peer_.is_near && !parts_.options.behind_proxy;
    request->is_secure = peer_.is_secure;
    request->is_gone = GoneCheck(peer_.fd, parts_.must_end);
    const bool goes_on = co_await answer(*request, head);
    co_return keeps_ ? goes_on : false;
  }

  /// What to tell a client whose request cannot be read; nothing if it has only left.
  static std::optional<Response> complaint_about(beast::error_code error) {
    if (error == wire::error::header_limit)
      return refused(431, "limit", "the header of the request is too large", "");
    const bool is_nonsense = error.category() == wire::make_error_code(wire::error::bad_method).category() &&
                             error != wire::error::end_of_stream && error != wire::error::partial_message;
    if (is_nonsense) return refused(400, "bad_input", "this is no HTTP request", "");
    return std::nullopt;
  }

  /// A body that was not read stands in the way of the next request.
  asio::awaitable<bool> refuse(const Request& request, const Response& response) {
    co_await write_whole(response, false);
    end(request, response);
    co_await swallow();
    co_return false;
  }

  /// A client that still sends would be cut off before it has read why it is refused.
  asio::awaitable<void> swallow() {
    beast::error_code error;
    auto& lowest = beast::get_lowest_layer(stream_);
    (void)lowest.socket().shutdown(asio::socket_base::shutdown_send, error);
    lowest.expires_after(kSwallowTime);
    std::vector<char> piece(kUploadPiece);
    for (size_t all = 0; !error && all < kSwallowBytes;)
      all += co_await lowest.async_read_some(asio::buffer(piece),
                                             asio::redirect_error(asio::use_awaitable, error));
  }

  asio::awaitable<bool> answer(Request& request, Head& head) {
    const auto io = co_await asio::this_coro::executor;
    if (request.method == Method::kPut) co_return co_await take_file(request, head, io);
    Whole whole(std::move(head));
    whole.body_limit(static_cast<uint64_t>(parts_.options.most_body_bytes));
    if (whole.content_length() && std::cmp_greater(*whole.content_length(), parts_.options.most_body_bytes)) {
      const Response large = too_large();
      co_return co_await refuse(request, large);
    }
    co_await say_continue(request);
    beast::error_code error;
    expire();
    co_await wire::async_read(stream_, buffer_, whole, asio::redirect_error(asio::use_awaitable, error));
    if (error == wire::error::body_limit) {
      const Response large = too_large();
      co_return co_await refuse(request, large);
    }
    if (error) {
      end(request, Response{.status = 408});
      co_return false;
    }
    never_expire();
    request.body = std::move(whole.get().body());
    Lane& lane =
        parts_.routes.cost_of(request) == ops::Cost::kLight ? parts_.lanes.light : parts_.lanes.heavy;
    const Lane::Place place(lane);
    if (!place.is_inside()) {
      const Response busy = too_busy();
      co_return co_await refuse(request, busy);
    }
    co_await move_to(lane.pool().get_executor());  // from here on on a worker
    Response response = encoded(parts_.routes.answer(request), request);
    bool goes_on = true;
    if (response.stream) goes_on = stream(response, io);
    if (response.talk) goes_on = talk(response, request, io);
    co_await move_to(io);
    if (response.news)
      goes_on = co_await write_news(response);
    else if (!response.stream && !response.talk)
      goes_on = co_await write_whole(response, keeps_);
    end(request, response);
    co_return goes_on;
  }

  static Response too_large() {
    return refused(413, "limit", "the body of the request is too large", "send files to /api/v1/uploads");
  }

  static Response too_busy() {
    Response response = refused(503, "unavailable", "the server has too much to do", "ask again in a moment");
    response.headers.emplace_back("Retry-After", "1");
    return response;
  }

  /// curl asks before it sends much.
  asio::awaitable<void> say_continue(const Request& request) {
    if (lower(request.header("expect")) != "100-continue") co_return;
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    expire();
    beast::error_code error;  // reading finds it again
    co_await asio::async_write(stream_, asio::buffer(kContinue.data(), kContinue.size()),
                               asio::redirect_error(asio::use_awaitable, error));
  }

  /// The body of a PUT goes to a file, piece by piece; the file is written by a worker.
  asio::awaitable<bool> take_file(Request& request, Head& head, const asio::any_io_executor& io) {
    co_await move_to(parts_.lanes.disk.pool().get_executor());
    Reception reception = parts_.routes.receive(request);
    co_await move_to(io);
    if (reception.refusal) co_return co_await refuse(request, *reception.refusal);
    if (reception.sink == nullptr) {
      const Response nothing = refused(405, "bad_input", "nothing can be put here", "");
      co_return co_await refuse(request, nothing);
    }
    co_await say_continue(request);
    Pieces pieces(std::move(head));
    pieces.body_limit(boost::none);
    std::vector<char> piece(kUploadPiece);
    while (!pieces.is_done()) {
      pieces.get().body().data = piece.data();
      pieces.get().body().size = piece.size();
      beast::error_code error;
      expire();
      co_await wire::async_read(stream_, buffer_, pieces, asio::redirect_error(asio::use_awaitable, error));
      if (error && error != wire::error::need_buffer) {
        end(request, Response{.status = 408});
        co_return false;
      }
      const std::string_view got(piece.data(), piece.size() - pieces.get().body().size);
      co_await move_to(parts_.lanes.disk.pool().get_executor());
      const auto written = reception.sink->write(got);
      co_await move_to(io);
      if (!written) {
        const Response wrong = failed("uploads", written.error());
        co_return co_await refuse(request, wrong);
      }
    }
    co_await move_to(parts_.lanes.disk.pool().get_executor());
    const Response response = reception.sink->finish();
    co_await move_to(io);
    const bool goes_on = co_await write_whole(response, keeps_);
    end(request, response);
    co_return goes_on;
  }

  void end(const Request& request, const Response& response) {
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_).count();
    const std::string_view route = parts_.routes.route_of(request);
    parts_.routes.figures().ended(route, response.status, took);
    write_access_log(parts_.options, peer_, route, request, response.status, response.who, took);
  }

  template <class Message>
  static void set_headers(const Response& response, Message& message) {
    message.set(wire::field::server, "neurolens");
    message.set("NeuroLens-Version", NEUROLENS_VERSION);
    if (!response.type.empty()) message.set(wire::field::content_type, response.type);
    message.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : response.headers) message.insert(name, value);
  }

  asio::awaitable<bool> write_whole(const Response& response, bool keeps) {
    wire::response<wire::string_body> message(static_cast<wire::status>(response.status), version_);
    set_headers(response, message);
    message.keep_alive(keeps && !parts_.is_ending);
    const bool has_body = !is_head_ && response.status != 304;
    if (has_body) message.body() = response.body;
    message.prepare_payload();
    if (is_head_) message.content_length(response.body.size());
    expire();
    beast::error_code error;
    wire::response_serializer<wire::string_body> serializer(message);
    if (has_body)
      co_await wire::async_write(stream_, serializer, asio::redirect_error(asio::use_awaitable, error));
    else
      co_await wire::async_write_header(stream_, serializer,
                                        asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }

  /// HTTP/1.0 has none: there the end of the connection is the end of the answer.
  bool has_chunks() const { return version_ >= 11; }

  wire::response<wire::empty_body> chunked_head(const Response& response) const {
    wire::response<wire::empty_body> head(static_cast<wire::status>(response.status), version_);
    set_headers(response, head);
    head.chunked(has_chunks());
    head.keep_alive(keeps_ && has_chunks());
    return head;
  }

  /// Writes pieces of the response, the head before the first one; its worker waits for each.
  Bytes writer(const Response& response, const asio::any_io_executor& io, bool& has_begun) {
    return [this, &response, &has_begun, io](std::string_view piece) -> Result<void> {
      try {
        if (!has_begun) asio::co_spawn(io, write_head(chunked_head(response)), asio::use_future).get();
        has_begun = true;
        if (!piece.empty() && !is_head_) asio::co_spawn(io, write_chunk(piece), asio::use_future).get();
        return {};
      } catch (const std::exception&) {
        return Error{ErrorCode::kCancelled, "the client has left"};
      }
    };
  }

  bool end_of_pieces(const asio::any_io_executor& io) {
    try {
      if (!is_head_) asio::co_spawn(io, write_last(), asio::use_future).get();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  /// The same as stream(), for an answer that may turn out to be whole: it becomes the response then.
  bool talk(Response& response, const Request& request, const asio::any_io_executor& io) {
    bool has_begun = false;
    const Bytes write = writer(response, io, has_begun);
    auto whole = response.talk(write);
    if (has_begun) return end_of_pieces(io);
    if (!whole) return false;
    whole->who = response.who;
    response = encoded(*std::move(whole), request);
    return true;
  }

  /// On a worker, which waits for each piece to be written. In chunks: an error in the middle ends the
  /// connection before the last chunk, so that the client knows. An error before the first piece becomes the
  /// response, which has no stream then and is still to be written.
  bool stream(Response& response, const asio::any_io_executor& io) {
    bool has_begun = false;
    const Bytes write = writer(response, io, has_begun);
    const auto done = response.stream(write);
    if (!done && !has_begun) {
      const std::string who = response.who;
      response = failed("stream", done.error());
      response.who = who;
      return true;  // whoever called writes it, as any other answer
    }
    return done && write("") ? end_of_pieces(io) : false;
  }

  asio::awaitable<bool> write_news(Response& response) {
    try {
      auto head = chunked_head(response);
      co_await write_head(std::move(head));
      asio::steady_timer timer(co_await asio::this_coro::executor);
      auto last = Clock::now();
      for (;;) {
        const auto text = response.news();
        if (!text) break;
        const bool is_silent = text->empty() && Clock::now() - last > kSilence;
        if (is_silent) co_await write_chunk(": still there\n\n");
        if (!text->empty()) co_await write_chunk(*text);
        if (is_silent || !text->empty()) last = Clock::now();
        if (parts_.is_ending || GoneCheck(peer_.fd, parts_.must_end)()) co_return false;
        timer.expires_after(kNewsEvery);
        co_await timer.async_wait(asio::use_awaitable);
      }
      co_await write_last();
      co_return true;
    } catch (const std::exception&) {
      co_return false;
    }
  }

  asio::awaitable<void> write_head(wire::response<wire::empty_body> head) {
    expire();
    wire::response_serializer<wire::empty_body> serializer(head);
    co_await wire::async_write_header(stream_, serializer, asio::use_awaitable);
  }
  asio::awaitable<void> write_chunk(std::string_view piece) {
    expire();
    const asio::const_buffer bytes(piece.data(), piece.size());
    if (has_chunks()) {
      co_await asio::async_write(stream_, wire::make_chunk(bytes), asio::use_awaitable);
    } else {
      co_await asio::async_write(stream_, bytes, asio::use_awaitable);
    }
  }
  asio::awaitable<void> write_last() {
    if (!has_chunks()) {
      keeps_ = false;
      co_return;
    }
    expire();
    co_await asio::async_write(stream_, wire::make_chunk_last(), asio::use_awaitable);
  }

  /// Counts while it lives.
  template <class Count>
  class Counted {
   public:
    explicit Counted(Count& count) : count_(count) { count_++; }
    ~Counted() { count_--; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

   private:
    Count& count_;
  };

  Stream stream_;
  const Peer peer_;
  ServerParts& parts_;
  beast::flat_buffer buffer_{64 << 10};
  unsigned version_ = 11;
  bool keeps_ = true;
  bool is_head_ = false;
  Clock::time_point began_{};
};

/// By generic sockets, one type serves TCP and sockets in the file system.
using Socket = beast::basic_stream<asio::generic::stream_protocol>;

asio::awaitable<void> run_plain(Socket socket, Peer peer, ServerParts& parts);

/// Certificates that are read again when their files change.
class Certificates {
 public:
  static Result<std::unique_ptr<Certificates>> read(const std::string& certificate, const std::string& key);
  virtual ~Certificates() = default;
  virtual asio::awaitable<void> run(Socket socket, Peer peer, ServerParts& parts) = 0;
};

}  // namespace nl::http
