#include "mcp/stdio/stdio_server.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/checked_thread.h"
#include "mcp/stdio/line_reader.h"

namespace nl::mcp {
namespace {

using nlohmann::json;
using Flag = std::shared_ptr<std::atomic<bool>>;

constexpr int kLookForRoomEveryMs = 500;

/// Lines that several threads write, each in one piece.
class LineWriter {
 public:
  LineWriter(int fd, const std::function<bool()>& must_stop) : fd_(fd), must_stop_(must_stop) {}

  void write(const json& message) {
    const std::string line = line_of(message) + "\n";
    const std::lock_guard lock(mutex_);
    for (std::string_view rest = line; !rest.empty() && has_room();) {
      const ssize_t got = ::write(fd_, rest.data(), std::min<size_t>(rest.size(), PIPE_BUF));
      if (got > 0) rest.remove_prefix(static_cast<size_t>(got));
      if (got < 0 && errno != EINTR && errno != EAGAIN) has_failed_ = true;
    }
  }
  /// Notices a client that has gone, also while no call writes anything.
  void look() {
    pollfd output{fd_, 0, 0};
    if (::poll(&output, 1, 0) > 0) has_failed_ = true;
  }
  /// The client does not read any more.
  bool has_failed() const { return has_failed_; }

 private:
  /// Waits until PIPE_BUF bytes can be written at once: a write that waits would hear no signal, and
  /// O_NONBLOCK would also change the output of others who share it. False: nobody reads any more.
  bool has_room() {
    while (!has_failed_) {
      pollfd output{fd_, POLLOUT, 0};
      const int ready = ::poll(&output, 1, kLookForRoomEveryMs);
      if (ready > 0) return true;  // maybe for an error, which the write then says
      if ((ready == 0 && must_stop_()) || (ready < 0 && errno != EINTR)) has_failed_ = true;
    }
    return false;
  }

  const int fd_;
  const std::function<bool()>& must_stop_;
  std::mutex mutex_;
  std::atomic<bool> has_failed_ = false;
};

/// Requests that run or wait, by the text of their ids.
class Running {
 public:
  /// Null if one of this id is there already.
  Flag begin(const std::string& id) {
    const std::lock_guard lock(mutex_);
    auto flag = std::make_shared<std::atomic<bool>>(false);
    return flags_.emplace(id, flag).second ? flag : nullptr;
  }
  void end(const std::string& id) {
    const std::lock_guard lock(mutex_);
    flags_.erase(id);
  }
  void cancel(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto it = flags_.find(id);
    if (it != flags_.end()) *it->second = true;
  }
  void cancel_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, flag] : flags_) *flag = true;
  }
  size_t size() {
    const std::lock_guard lock(mutex_);
    return flags_.size();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Flag> flags_;
};

/// Takes a request out when it goes.
struct Ending {
  Running& running;
  const std::string& id;
  ~Ending() { running.end(id); }
};

/// Threads that do what is put in, in order; the destructor waits for all of it.
class Pool {
 public:
  explicit Pool(size_t threads) {
    for (size_t i = 0; i < threads; i++)
      threads_.emplace_back([this]() -> Result<void> {
        work();
        return {};
      });
  }
  ~Pool() { finish(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Fewer than were wanted are enough; without any, what is put in would wait for ever.
  bool has_threads() const {
    return std::any_of(threads_.begin(), threads_.end(),
                       [](const CheckedThread& thread) { return thread.is_started(); });
  }

  void put(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    changed_.notify_all();
    threads_.clear();  // joins them
  }

 private:
  void work() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return is_closed_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      // Without memory for one answer the others still go on.
      (void)without_exceptions([&]() -> Result<void> {
        task();
        return {};
      });
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool is_closed_ = false;
  std::vector<CheckedThread> threads_;
};

class StdioServer {
 public:
  StdioServer(Core& core, Provider& provider, const StdioOptions& options)
      : core_(core),
        provider_(provider),
        options_(options),
        writer_(options.out, options.must_stop),
        pool_(options.workers) {}

  Result<void> serve() {
    if (!pool_.has_threads())
      return Error{ErrorCode::kUnavailable, "no thread can be started",
                   "allow this user more processes (ulimit -u)"};
    LineReader reader(options_.in, kMostMessageBytes);
    Result<void> ended;
    for (;;) {
      auto line = reader.next([this] { return must_stop(); });
      if (!line) ended = line.error();
      if (!line || !*line) break;
      take(**line);
    }
    if (must_stop()) running_.cancel_all();
    core_.end();
    stop_when_asked();
    pool_.finish();
    if (writer_.has_failed()) return Error{ErrorCode::kIo, "the client does not read any more"};
    return ended;
  }

 private:
  bool must_stop() {
    if (running_.size() > 0) writer_.look();
    return options_.must_stop() || writer_.has_failed();
  }

  /// What still runs after the end of the input can be stopped, too.
  void stop_when_asked() {
    while (running_.size() > 0) {
      if (must_stop()) running_.cancel_all();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  void take(const LineReader::Line& line) {
    if (line.is_too_long) {
      writer_.write(fault_message(nullptr, {kInvalidRequest, "the message has more than 4 MiB"}));
      return;
    }
    if (line.text.find_first_not_of(" \t\r") == std::string::npos) return;
    Messages messages = read_messages(line.text);
    if (messages.is_batch) {
      begin(std::move(messages), nullptr, "batch " + std::to_string(++batches_));
      return;
    }
    if (const auto* const message = std::get_if<Message>(&messages.all.front());
        message != nullptr && !is_quick(*message)) {
      const json id = message->id;
      begin(std::move(messages), id, line_of(id));
      return;
    }
    take_quick(messages.all.front());
  }

  /// In the order of the input: what comes next may depend on it.
  void take_quick(const ReadMessage& message) {
    if (const auto* const read = std::get_if<Message>(&message);
        read != nullptr && read->method == "notifications/cancelled")
      running_.cancel(line_of(read->params.value("requestId", json())));
    Arrival arrival;
    arrival.session = session_;
    arrival.opened = &session_;
    send(core_.answer(message, arrival, provider_));
  }

  /// `name`: no text of an id of somebody else is like that of a batch, since it has quotes or is a number.
  void begin(Messages messages, const json& id, const std::string& name) {
    if (running_.size() >= options_.most_waiting) {
      writer_.write(fault_message(id, {kTooBusy, "too many requests at once; ask again in a moment"}));
      return;
    }
    const Flag cancelled = running_.begin(name);
    if (cancelled == nullptr) {
      writer_.write(fault_message(id, {kInvalidRequest, "a request with this id is being answered"}));
      return;
    }
    pool_.put([this, messages = std::move(messages), name, cancelled, session = session_] {
      const Answer answer = answered(messages, name, cancelled, session);
      // Whoever has cancelled a request wants to hear no more of it.
      if (!*cancelled) send(answer);
    });
  }

  /// The id is free before its answer is out: the client may use it again as soon as it has read that.
  Answer answered(const Messages& messages, const std::string& name, const Flag& cancelled,
                  const Session& session) {
    const Ending ending{running_, name};
    if (*cancelled) return {};  // while it waited
    Arrival arrival;
    arrival.session = session;
    arrival.say = [this](const json& message) { writer_.write(message); };
    arrival.cancelled = [cancelled] { return cancelled->load(); };
    return core_.answer_all(messages, arrival, provider_);
  }

  void send(const Answer& answer) {
    if (!answer.body.is_null()) writer_.write(answer.body);
  }

  Core& core_;
  Provider& provider_;
  const StdioOptions& options_;
  LineWriter writer_;
  Running running_;
  Session session_;  ///< of the reading thread; requests have a copy
  int64_t batches_ = 0;
  Pool pool_;  ///< the last member: its threads use the others
};

}  // namespace

Result<void> serve_stdio(Core& core, Provider& provider, const StdioOptions& options) {
  return StdioServer(core, provider, options).serve();
}

}  // namespace nl::mcp
