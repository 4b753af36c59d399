#pragma once
// Shows a page to the user: in a browser of this machine or, where there is no screen, by printing the
// command that fetches the page to a machine that has one.

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"

namespace nl::ops {

/// The program and its arguments that show the page: $BROWSER, else what the system opens files with. Empty
/// where there is no screen, as over ssh; `unavailable` where there should be such a program and is none.
Result<std::vector<std::string>> browser_command(const Environment& surroundings, const std::string& page);

/// What makes a port of this machine one of the caller's own; empty where the caller is not here by ssh.
std::string tunnel_line(const Environment& surroundings, int port, const std::string& user);

/// What brings the page from here to another machine, as far as this one knows how it is reached.
std::string fetch_line(const Environment& surroundings, const std::string& page, const std::string& user);

}  // namespace nl::ops
