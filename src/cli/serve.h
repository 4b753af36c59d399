#pragma once
// `neurolens serve`: the operations over HTTP, from this process, until it is told to stop.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace nl::cli {

struct ServeCommand {
  std::string host = "127.0.0.1";
  int port = 8470;
  std::string unix_socket = {};
  bool no_token = false;
  std::string certificate = {};
  std::string certificate_key = {};
  bool behind_proxy = false;
  std::string base_path = {};
  std::vector<std::string> names = {};
  std::string access_log = {};
  int workers = 0;
  int jobs = 1;
  int rate = 2000;
  int upload_gb = 64;
  std::string sign_in_issuer = {};
  std::string sign_in_client = {};
  std::string sign_in_secret_file = {};
  std::vector<std::string> sign_in_groups = {};
  std::string sign_in_groups_claim = "groups";
  int sign_in_hours = 12;
  bool check = false;
  std::string config = {};
  std::string page = {};                  ///< that is opened in the browser, e.g. /runs/ID
  std::string ending = "Ctrl+C ends it";  ///< said to whoever opens the page
};

void add_serve_options(CLI::App& app, ServeCommand& command);
/// Settings of the file that --config names; options and variables of the environment go before it.
Result<void> read_settings(CLI::App& app, const ServeCommand& command);

/// Prints a line to standard error.
using Say = std::function<void(const std::string& line)>;

/// Until it is told to stop. If another server has the ledger, only the page is opened there, if there is
/// one.
Result<void> run_server(const ServeCommand& command, const std::string& ledger, const std::string& principal,
                        const Say& say);

}  // namespace nl::cli
