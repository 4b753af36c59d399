#include "http/encoding.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <array>
#include <vector>

#include "base/text.h"

namespace nl::http {
namespace {

constexpr size_t kLeastBytes = 1024;  // less is one packet anyway
constexpr int kZstdLevel = 1;
constexpr int kGzipLevel = 1;
constexpr size_t kPiece = 64 << 10;

class Zstd : public Encoder {
 public:
  Zstd() : context_(ZSTD_createCCtx()) {
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, kZstdLevel);
  }
  ~Zstd() override { ZSTD_freeCCtx(context_); }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;

  std::string encode(std::string_view piece, bool is_last) override {
    std::string out;
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    std::vector<char> room(ZSTD_CStreamOutSize());
    for (;;) {
      ZSTD_outBuffer to{room.data(), room.size(), 0};
      const size_t left = ZSTD_compressStream2(context_, &to, &in, is_last ? ZSTD_e_end : ZSTD_e_flush);
      out.append(room.data(), to.pos);
      if (ZSTD_isError(left) != 0 || (left == 0 && in.pos == in.size)) return out;
    }
  }

 private:
  ZSTD_CCtx* context_;
};

class Gzip : public Encoder {
 public:
  Gzip() : level_(ISAL_DEF_LVL1_DEFAULT) {
    isal_deflate_init(&stream_);
    stream_.level = kGzipLevel;
    stream_.level_buf = level_.data();
    stream_.level_buf_size = static_cast<uint32_t>(level_.size());
    stream_.gzip_flag = IGZIP_GZIP;
  }

  std::string encode(std::string_view piece, bool is_last) override {
    std::string out;
    std::vector<uint8_t> room(kPiece);
    stream_.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(piece.data()));  // it is only read
    stream_.avail_in = static_cast<uint32_t>(piece.size());
    stream_.end_of_stream = is_last ? 1 : 0;
    stream_.flush = is_last ? NO_FLUSH : SYNC_FLUSH;
    do {
      stream_.next_out = room.data();
      stream_.avail_out = static_cast<uint32_t>(room.size());
      isal_deflate(&stream_);
      out.append(reinterpret_cast<const char*>(room.data()), room.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
    return out;
  }

 private:
  isal_zstream stream_{};
  std::vector<uint8_t> level_;
};

/// "gzip;q=0" refuses it.
bool takes(std::string_view accepted, std::string_view name) {
  for (const std::string& one : split(accepted, ',')) {
    const std::vector<std::string> parts = split(one, ';');
    if (lower(trimmed(parts[0])) != name) continue;
    const std::string_view quality = parts.size() > 1 ? trimmed(parts[1]) : std::string_view();
    return quality != "q=0" && quality != "q=0.0" && quality != "q=0.00" && quality != "q=0.000";
  }
  return false;
}

bool is_small_already(const Response& response) {
  return response.type.find("parquet") != std::string::npos || response.type == "application/octet-stream";
}

std::function<Result<void>(const Bytes&)> encoded_stream(std::function<Result<void>(const Bytes&)> plain,
                                                         Encoding encoding) {
  return [plain = std::move(plain), encoding](const Bytes& write) -> Result<void> {
    const auto encoder = Encoder::of(encoding);
    NL_CHECK(plain([&](std::string_view piece) -> Result<void> {
      const std::string out = encoder->encode(piece, false);
      return out.empty() ? Result<void>() : write(out);
    }));
    return write(encoder->encode("", true));
  };
}

}  // namespace

std::unique_ptr<Encoder> Encoder::of(Encoding encoding) {
  if (encoding == Encoding::kZstd) return std::make_unique<Zstd>();
  return std::make_unique<Gzip>();
}

Encoding encoding_for(std::string_view accept_encoding) {
  if (takes(accept_encoding, "zstd")) return Encoding::kZstd;
  return takes(accept_encoding, "gzip") ? Encoding::kGzip : Encoding::kNone;
}

std::string_view encoding_name(Encoding encoding) {
  return encoding == Encoding::kZstd ? "zstd" : encoding == Encoding::kGzip ? "gzip" : "identity";
}

Response encoded(Response response, const Request& request) {
  if (response.news || response.talk || is_small_already(response)) return response;
  const bool is_whole = !response.stream;
  if (is_whole && response.body.size() < kLeastBytes) return response;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  const Encoding encoding = encoding_for(request.header("accept-encoding"));
  if (encoding == Encoding::kNone) return response;
  response.headers.emplace_back("Content-Encoding", encoding_name(encoding));
  if (is_whole) {
    response.body = Encoder::of(encoding)->encode(response.body, true);
  } else {
    response.stream = encoded_stream(std::move(response.stream), encoding);
  }
  return response;
}

}  // namespace nl::http
