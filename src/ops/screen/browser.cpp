#include "ops/screen/browser.h"

#include <algorithm>

#include "base/host_name.h"
#include "base/path_text.h"
#include "base/process.h"
#include "base/text.h"
#include "ops/text/text.h"

namespace nl::ops {
namespace {

/// Without empty ones.
std::vector<std::string> words_of(const std::string& text, char separator) {
  std::vector<std::string> words = split(text, separator);
  std::erase(words, "");
  return words;
}

// ---- A browser of this machine

/// The page in the place of %s, or behind the other arguments.
std::vector<std::string> with_page(std::vector<std::string> command, const std::string& page) {
  const auto place = std::find(command.begin() + 1, command.end(), "%s");
  if (place != command.end()) {
    *place = page;
  } else {
    command.push_back(page);
  }
  return command;
}

/// $BROWSER: programs with their arguments, a colon between; the first that is there counts. Never a shell.
Result<std::vector<std::string>> browser_of_variable(const Environment& around, const std::string& variable,
                                                     const std::string& page) {
  std::vector<std::string> choices = words_of(variable, ':');
  choices.insert(choices.begin(), variable);
  for (const std::string& choice : choices) {
    if (const std::string program = find_in_path(around, choice); !program.empty())
      return with_page({program}, page);
    std::vector<std::string> command = words_of(choice, ' ');
    if (command.empty()) continue;
    command[0] = find_in_path(around, command[0]);
    if (!command[0].empty()) return with_page(std::move(command), page);
  }
  return Error{ErrorCode::kUnavailable, "$BROWSER names a program that does not exist: " + variable,
               "the page is " + page};
}

/// What opens files where there is a screen; empty where there is none.
std::string system_opener(const Environment& around) {
  if (!around.get("SSH_CONNECTION").empty()) return "";
#ifdef __APPLE__
  return "open";
#else
  const bool windows_host = !around.get("WSL_DISTRO_NAME").empty() || !around.get("WSL_INTEROP").empty();
  if (windows_host && !find_in_path(around, "wslview").empty()) return "wslview";
  const bool screen = !around.get("DISPLAY").empty() || !around.get("WAYLAND_DISPLAY").empty();
  return screen ? "xdg-open" : "";
#endif
}

// ---- Another machine

struct Address {
  std::string host;
  std::string port = "22";
};

bool made_of(const std::string& text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string::npos;
}

std::string typed_host_name() {
  const std::string name = host_name();
  return made_of(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") ? name : "HOST";
}

/// SSH_CONNECTION holds address and port of the client, then ours. An address with a zone means nothing to
/// another machine.
Address own_address(const Environment& around) {
  const auto fields = words_of(around.get("SSH_CONNECTION"), ' ');
  const bool known = fields.size() == 4 && made_of(fields[2], "0123456789abcdefABCDEF.:") &&
                     made_of(fields[3], "0123456789");
  return known ? Address{fields[2], fields[3]} : Address{typed_host_name()};
}

}  // namespace

Result<std::vector<std::string>> browser_command(const Environment& around, const std::string& page) {
  if (const std::string variable = around.get("BROWSER"); !variable.empty())
    return browser_of_variable(around, variable, page);
  const std::string opener = system_opener(around);
  if (opener.empty()) return std::vector<std::string>();
  const std::string program = find_in_path(around, opener);
  if (!program.empty()) return std::vector<std::string>{program, page};
  return Error{ErrorCode::kUnavailable, "there is a screen, but no " + opener + " to open pages with",
               "name a browser with BROWSER=PROGRAM; the page is " + page};
}

std::string tunnel_line(const Environment& around, int port, const std::string& user) {
  if (around.get("SSH_CONNECTION").empty()) return {};
  const Address address = own_address(around);
  const std::string other_port = address.port == "22" ? "" : "-p " + address.port + " ";
  const std::string number = std::to_string(port);
  return "ssh -L " + number + ":127.0.0.1:" + number + " " + other_port +
         shell_word(user + "@" + address.host);
}

/// scp of different ages reads a path with blanks differently; ssh always gives it to a shell.
std::string fetch_line(const Environment& around, const std::string& page, const std::string& user) {
  const Address address = own_address(around);
  const bool standard = address.port == "22";
  if (shell_word(page) != page) {
    return "ssh " + (standard ? "" : "-p " + address.port + " ") + shell_word(user + "@" + address.host) +
           " " + shell_word("cat " + shell_word(page)) + " > " + shell_word(base_name(page));
  }
  const bool colons = address.host.find(':') != std::string::npos;
  const std::string host = colons ? "[" + address.host + "]" : address.host;
  return "scp " + (standard ? "" : "-P " + address.port + " ") + shell_word(user + "@" + host + ":" + page) +
         " .";
}

}  // namespace nl::ops
