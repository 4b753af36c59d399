#pragma once
// Incremental SHA-256 (OpenSSL). One object hashes one stream; not for use from several threads at once.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nl {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(const void* data, size_t size);
  /// Lower-case hex digest; ends the stream.
  std::string hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_hex(std::string_view text);
/// The same as 32 bytes.
std::string sha256_bytes(std::string_view text);
/// Two lower-case digits a byte.
std::string hex_of(std::string_view bytes);
/// HMAC-SHA-256 (RFC 2104), 32 bytes: nobody without the key can tell what text it is of.
std::string hmac_sha256(std::string_view key, std::string_view text);
/// Stops when the call is cancelled.
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace nl
