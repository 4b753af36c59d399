#pragma once
// Answers made smaller for the way: gzip and zstd. Pure functions, any thread.

#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"

namespace nl::http {

enum class Encoding { kNone, kGzip, kZstd };

/// What the client takes, by its Accept-Encoding: zstd rather than gzip.
Encoding encoding_for(std::string_view accept_encoding);
std::string_view encoding_name(Encoding encoding);

/// Compresses piece by piece.
class Encoder {
 public:
  virtual ~Encoder() = default;
  /// What can be sent so far; may be empty. `is_last`: nothing follows.
  virtual std::string encode(std::string_view piece, bool is_last) = 0;
  static std::unique_ptr<Encoder> of(Encoding encoding);
};

/// The same answer in the encoding that the request allows, unless it is short or in one already.
Response encoded(Response response, const Request& request);

}  // namespace nl::http
