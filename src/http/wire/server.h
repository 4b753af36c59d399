#pragma once
// The server: connections in, answers out. One thread reads and writes, others work; the library that does it
// (Boost.Beast) stays in this room.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/api/routes.h"

namespace nl::http {

struct ServerOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 0;             ///< 0: any that is free
  std::string unix_socket = {};  ///< a path instead of host and port; only its owner may connect
  std::string certificate = {};  ///< PEM file, with its chain; empty: no TLS
  std::string certificate_key = {};
  std::string base_path = {};
  bool behind_proxy = false;
  size_t light_workers = 2;
  size_t heavy_workers = 2;
  size_t most_waiting = 256;  ///< heavy requests that wait for a worker; more are sent away
  size_t most_connections = 4096;
  int64_t most_body_bytes = 8 << 20;
  int request_seconds = 20;  ///< for a client to send a whole request, or to take a piece of an answer
  int ending_seconds = 10;   ///< for what runs when the server is told to end
  std::function<void(const std::string& line)> access_log = {};
};

/// bad_input unless the files are a certificate and its key.
Result<void> check_certificate(const std::string& certificate, const std::string& key);

/// Answers until a signal comes (SIGINT, SIGTERM): then it takes nothing new, and waits for what runs.
/// `ready` gets the port once it listens, and makes the routes: the names that it is reached by depend on it.
Result<void> serve(const ServerOptions& options,
                   const std::function<Result<std::shared_ptr<Routes>>(uint16_t port)>& ready);

}  // namespace nl::http
