#include "mcp/stdio/stdio_server.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/checked_thread.h"
#include "mcp/stdio/line_reader.h"

namespace nl::mcp {
namespace {

using nlohmann::json;
using Flag = std::shared_ptr<std::atomic<bool>>;

/// Lines that several threads write, each in one piece.
class LineWriter {
 public:
  explicit LineWriter(int fd) : fd_(fd) {}

  void write(const json& message) {
    const std::string line = line_of(message) + "\n";
    const std::lock_guard lock(mutex_);
    for (size_t done = 0; done < line.size() && !has_failed_;) {
      const ssize_t got = ::write(fd_, line.data() + done, line.size() - done);
      if (got > 0) done += static_cast<size_t>(got);
      has_failed_ = got < 0 && errno != EINTR;
    }
  }
  /// The client does not read any more.
  bool has_failed() const { return has_failed_; }

 private:
  const int fd_;
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
      : core_(core), provider_(provider), options_(options), writer_(options.out), pool_(options.workers) {}

  Result<void> serve() {
    LineReader reader(options_.in, kMostMessageBytes);
    const auto must_stop = [&] { return options_.must_stop() || writer_.has_failed(); };
    Result<void> ended;
    for (;;) {
      auto line = reader.next(must_stop);
      if (!line) ended = line.error();
      if (!line || !*line) break;
      take(**line);
    }
    core_.end();
    if (must_stop()) running_.cancel_all();
    stop_when_asked();
    pool_.finish();
    if (writer_.has_failed()) return Error{ErrorCode::kIo, "the client does not read any more"};
    return ended;
  }

 private:
  /// What still runs after the end of the input can be stopped, too.
  void stop_when_asked() {
    while (running_.size() > 0) {
      if (options_.must_stop() || writer_.has_failed()) running_.cancel_all();
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
