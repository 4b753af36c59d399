#include "cli/mcp.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "base/files.h"
#include "cli/spelling.h"
#include "mcp/operations/operation_provider.h"
#include "mcp/stdio/stdio_server.h"
#include "ops/text/text.h"
#include "remote/address.h"
#include "store/sql_workers.h"

namespace nl::cli {
namespace {

using nlohmann::json;

constexpr size_t kLeastWorkers = 4;  // so that a list of runs does not wait behind an analysis

mcp::Rights rights_of(const McpCommand& command) {
  return {command.allow_exec ? ops::Effect::kExec : ops::Effect::kWrite, true};
}

/// A descriptor of our own for a standard stream, which gets something harmless instead: programs that we
/// start, and libraries that print, must neither read messages nor write between them.
class TakenStream {
 public:
  static Result<TakenStream> take(int stream, int instead) {
    const int own = ::fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (own < 0 || instead < 0 || ::dup2(instead, stream) < 0) {
      if (own >= 0) ::close(own);
      return Error{ErrorCode::kIo,
                   std::string("cannot use standard input and output: ") + std::strerror(errno)};
    }
    return TakenStream(own);
  }
  TakenStream(TakenStream&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  TakenStream& operator=(TakenStream&&) = delete;
  ~TakenStream() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

 private:
  explicit TakenStream(int fd) : fd_(fd) {}
  int fd_;
};

Result<TakenStream> take_input() {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  auto taken = TakenStream::take(STDIN_FILENO, nothing);
  if (nothing >= 0) ::close(nothing);
  return taken;
}

}  // namespace

json mcp_tools(const McpCommand& command) {
  return mcp::tools_for(rights_of(command));
}

std::string mcp_tools_text(const McpCommand& command) {
  ops::TextTable table({ops::TextTable::Align::kLeft, ops::TextTable::Align::kLeft});
  for (const json& tool : mcp_tools(command)) {
    const std::string name = tool["name"];
    table.add({name, std::string(ops::find_operation(name)->summary)});
  }
  return table.text("", false, {});
}

Result<void> run_mcp(const McpCommand& command, const std::string& ledger, const std::string& principal,
                     const std::function<bool()>& must_stop) {
  if (remote::is_address(ledger))
    return Error{ErrorCode::kUnsupported, "the ledger of a server is offered by the server itself",
                 "give your client its address with /mcp behind it, and the token as a bearer"};
  // A write to a client that has left must fail, not end us: what was started is ended first. This is a
  // handler, since programs that we start would inherit SIG_IGN.
  std::signal(SIGPIPE, [](int) {});
  NL_TRY(const TakenStream in, take_input());
  NL_TRY(const TakenStream out, TakenStream::take(STDOUT_FILENO, STDERR_FILENO));
  const size_t workers = std::max<size_t>(kLeastWorkers, std::thread::hardware_concurrency());
  store::SqlWorkers sql_workers{store::SqlWorkersOptions{.ready = 0, .at_once = workers, .threads = 1}};
  mcp::Offer offer;
  offer.rights = rights_of(command);
  offer.context = [&](const ops::Operation&) {
    ops::Context context;
    context.ledger_folder = ledger;
    context.principal = principal;
    context.page_files = {make_folders, replace_file};
    context.sql_workers = &sql_workers;
    return context;
  };
  mcp::OperationProvider provider(std::move(offer));
  mcp::Core core;
  return mcp::serve_stdio(core, provider,
                          {.in = in.fd(), .out = out.fd(), .workers = workers, .must_stop = must_stop});
}

}  // namespace nl::cli
