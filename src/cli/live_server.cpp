#include "cli/live_server.h"

#include <errno.h>
#include <fmt/core.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/environment.h"
#include "base/safe_text.h"
#include "cli/serve.h"
#include "ops/capture/live_pages.h"

namespace nl::cli {
namespace {

constexpr int kSeconds = 60;

int seconds_after_the_end() {
  const std::string given = Environment::of_process().get(ops::kLivePagesSeconds);
  int seconds = kSeconds;
  std::from_chars(given.data(), given.data() + given.size(), seconds);
  return std::max(0, seconds);
}

/// Until the other end of the pipe is closed: by the recorder, or by the system if it was killed.
void wait_for_recorder() {
  char byte;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    if (got == 0 || (got < 0 && errno != EINTR)) return;
  }
}

std::string owner() {
  const passwd* const entry = ::getpwuid(::getuid());
  return entry == nullptr ? std::to_string(::getuid()) : entry->pw_name;
}

void tell(const std::string& line) {
  const std::string text = text_for_people("neurolens: " + line + "\n", false);
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

int serve_live_pages(const std::string& ledger, const std::string& recording) {
  const int seconds = seconds_after_the_end();
  ::signal(SIGPIPE, SIG_IGN);  // nobody may be reading what is said
  std::thread([seconds] {
    wait_for_recorder();
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    ::kill(::getpid(), SIGTERM);  // the server then ends as it does at any other time
  }).detach();
  ServeCommand command;
  command.port = 0;
  command.page = "/live/" + recording;
  command.ending = fmt::format("it ends {} seconds after the program", seconds);
  const auto served = run_server(command, ledger, owner(), tell);
  if (!served) tell("there is no page of the recording: " + served.error().message);
  return served ? 0 : 1;
}

}  // namespace nl::cli
