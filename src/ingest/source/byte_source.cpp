#include "ingest/source/byte_source.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/sha256.h"
#include "ingest/source/raw_file.h"

namespace nl::ingest {
namespace {

constexpr size_t kRawBytes = 256 << 10;
// A decompression bomb: no profile shrinks this much, and small ones do no harm.
constexpr int64_t kBombBytes = int64_t{1} << 30;
constexpr int64_t kBombRatio = 250;

Error bad_input(std::string message, std::string hint = {}) {
  return Error{ErrorCode::kBadInput, std::move(message), std::move(hint)};
}

/// Bytes as given, hashed.
class RawInput {
 public:
  explicit RawInput(RawFile file) : file_(std::move(file)), buffer_(kRawBytes) {}
  explicit RawInput(std::string_view bytes) : memory_(bytes) {}

  /// The next bytes; empty at the end. Valid until the next call.
  Result<std::string_view> next() {
    std::string_view piece;
    if (file_) {
      NL_TRY(const size_t n, file_->read(buffer_.data(), buffer_.size()));
      piece = {buffer_.data(), n};
    } else {
      piece = memory_.substr(0, kRawBytes);
      memory_.remove_prefix(piece.size());
    }
    hash_.update(piece.data(), piece.size());
    bytes_ += static_cast<int64_t>(piece.size());
    return piece;
  }
  Result<void> unchanged() const { return file_ ? file_->unchanged() : Result<void>(); }
  int regular_fd() const { return file_ ? file_->regular_fd() : -1; }
  int64_t bytes() const { return bytes_; }
  std::string sha256() { return hash_.hex(); }

 private:
  std::optional<RawFile> file_;
  std::vector<char> buffer_;
  std::string_view memory_;
  Sha256 hash_;
  int64_t bytes_ = 0;
};

/// Turns raw pieces into text. read() returns 0 only at a proper end of the input.
class Decoder {
 public:
  explicit Decoder(RawInput& raw, std::string_view first) : raw_(raw), in_(first) {}
  virtual ~Decoder() = default;
  virtual Result<size_t> read(char* out, size_t size) = 0;
  virtual const char* name() const = 0;
  virtual bool is_plain() const { return false; }

 protected:
  /// Makes in_ non-empty unless the input has ended.
  Result<void> refill() {
    if (in_.empty()) {
      NL_TRY(in_, raw_.next());
    }
    return {};
  }
  RawInput& raw_;
  std::string_view in_;
};

class PlainDecoder final : public Decoder {
 public:
  using Decoder::Decoder;
  Result<size_t> read(char* out, size_t size) override {
    NL_CHECK(refill());
    const size_t n = std::min(size, in_.size());
    std::memcpy(out, in_.data(), n);
    in_.remove_prefix(n);
    return n;
  }
  const char* name() const override { return "none"; }
  bool is_plain() const override { return true; }
};

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder(RawInput& raw, std::string_view first) : Decoder(raw, first) { start_member(); }

  Result<size_t> read(char* out, size_t size) override {
    const uint32_t wanted = static_cast<uint32_t>(std::min<size_t>(size, 1u << 30));
    state_.next_out = reinterpret_cast<uint8_t*>(out);
    state_.avail_out = wanted;
    while (state_.avail_out == wanted && !ended_) NL_CHECK(step());
    return wanted - state_.avail_out;
  }
  const char* name() const override { return "gzip"; }

 private:
  void start_member() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
  }

  Result<void> step() {
    NL_CHECK(refill());
    if (state_.block_state == ISAL_BLOCK_FINISH) return next_member();
    if (in_.empty()) {
      return bad_input("the gzip data ends in the middle, after byte " + std::to_string(raw_.bytes()),
                       "the file is truncated: copy it again");
    }
    state_.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(in_.data()));
    state_.avail_in = static_cast<uint32_t>(in_.size());
    const int status = isal_inflate(&state_);
    in_.remove_prefix(in_.size() - state_.avail_in);
    if (status != ISAL_DECOMP_OK) {
      return bad_input("the gzip data is damaged near byte " + std::to_string(raw_.bytes()) + " (ISA-L " +
                       std::to_string(status) + ")");
    }
    return {};
  }

  /// Behind a member comes another one, zero padding, or the end.
  Result<void> next_member() {
    if (in_.empty()) {
      ended_ = true;
    } else if (in_[0] == '\x1f') {
      uint8_t* const out = state_.next_out;
      const uint32_t room = state_.avail_out;
      start_member();
      state_.next_out = out;
      state_.avail_out = room;
    } else if (in_[0] == '\0') {
      in_.remove_prefix(1);
    } else {
      return bad_input("there are other bytes after the gzip data, near byte " +
                       std::to_string(raw_.bytes()));
    }
    return {};
  }

  inflate_state state_;
  bool ended_ = false;
};

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder(RawInput& raw, std::string_view first) : Decoder(raw, first), stream_(ZSTD_createDStream()) {
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, 27);
  }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }

  Result<size_t> read(char* out, size_t size) override {
    ZSTD_outBuffer to{out, size, 0};
    while (to.pos == 0) {
      NL_CHECK(refill());
      if (in_.empty() && frame_done_) return 0;
      if (in_.empty())
        return bad_input("the zstd data ends in the middle", "the file is truncated: copy it again");
      ZSTD_inBuffer from{in_.data(), in_.size(), 0};
      const size_t status = ZSTD_decompressStream(stream_, &to, &from);
      if (ZSTD_isError(status)) {
        return bad_input(std::string("the zstd data is damaged: ") + ZSTD_getErrorName(status));
      }
      in_.remove_prefix(from.pos);
      frame_done_ = status == 0;
    }
    return to.pos;
  }
  const char* name() const override { return "zstd"; }

 private:
  ZSTD_DStream* stream_;
  bool frame_done_ = false;
};

class DecodedSource final : public ByteSource {
 public:
  explicit DecodedSource(RawInput raw) : raw_(std::move(raw)) {}

  Result<void> start() {
    NL_TRY(const std::string_view first, raw_.next());
    if (first.empty()) {
      return bad_input("the input is empty",
                       "an empty profile means that the profiler failed: record it again");
    }
    if (first.starts_with("\x1f\x8b")) {
      decoder_ = std::make_unique<GzipDecoder>(raw_, first);
    } else if (first.starts_with("\x28\xb5\x2f\xfd")) {
      decoder_ = std::make_unique<ZstdDecoder>(raw_, first);
    } else {
      decoder_ = std::make_unique<PlainDecoder>(raw_, first);
    }
    head_.resize(kHeadBytes);
    NL_TRY(const size_t n, read_fully(head_.data(), head_.size()));
    head_.resize(n);
    if (n == 0) return bad_input("the input is empty once decompressed");
    return {};
  }

  Result<size_t> read(char* out, size_t size) override {
    const size_t from_head = std::min(size, head_.size() - head_used_);
    std::memcpy(out, head_.data() + head_used_, from_head);
    head_used_ += from_head;
    NL_TRY(const size_t n, read_fully(out + from_head, size - from_head));
    return from_head + n;
  }

  Result<void> drain() override {
    for (;;) {
      NL_TRY(const std::string_view piece, raw_.next());
      if (piece.empty()) break;
    }
    if (decoder_->is_plain()) text_bytes_ = raw_.bytes();
    return {};
  }

  Result<void> unchanged() const override { return raw_.unchanged(); }
  std::string_view head() const override { return head_; }
  std::string sha256() override { return raw_.sha256(); }
  int64_t raw_bytes() const override { return raw_.bytes(); }
  int64_t text_bytes() const override { return text_bytes_; }
  const char* compression() const override { return decoder_->name(); }
  int plain_fd() const override { return decoder_->is_plain() ? raw_.regular_fd() : -1; }

 private:
  Result<size_t> read_fully(char* out, size_t size) {
    size_t done = 0;
    while (done < size && !ended_) {
      NL_TRY(const size_t n, decoder_->read(out + done, size - done));
      ended_ = n == 0;
      done += n;
      text_bytes_ += static_cast<int64_t>(n);
    }
    if (text_bytes_ > kBombBytes && text_bytes_ / kBombRatio > raw_.bytes()) {
      return Error{ErrorCode::kLimit,
                   "the input grows more than " + std::to_string(kBombRatio) + " times when decompressed",
                   "decompress it yourself if you trust it, and import the plain file"};
    }
    return done;
  }

  RawInput raw_;
  std::unique_ptr<Decoder> decoder_;
  std::string head_;
  size_t head_used_ = 0;
  int64_t text_bytes_ = 0;
  bool ended_ = false;
};

Result<std::unique_ptr<ByteSource>> start_source(RawInput raw) {
  auto source = std::make_unique<DecodedSource>(std::move(raw));
  NL_CHECK(source->start());
  return std::unique_ptr<ByteSource>(std::move(source));
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_file(const std::string& path, PipeWait wait) {
  NL_TRY(RawFile file, RawFile::open(path, std::move(wait)));
  return start_source(RawInput(std::move(file)));
}

Result<std::unique_ptr<ByteSource>> open_memory(std::string_view bytes) {
  return start_source(RawInput(bytes));
}

}  // namespace nl::ingest
