#include "ingest/formats/recording/recording_reader.h"

#include <algorithm>
#include <cstring>

namespace nl::ingest {
namespace {

constexpr size_t kPieceBytes = 256 << 10;

/// What a header says of a payload that cannot be read; a record takes two words at least.
int64_t records_of(const wire::ChunkHeader& header) {
  return std::min(header.records, header.bytes / static_cast<uint32_t>(2 * sizeof(wire::Word)));
}

}  // namespace

bool is_recording(std::string_view head) {
  return head.starts_with(std::string_view(wire::kRecordingMagic, sizeof wire::kRecordingMagic));
}

bool is_of_samples(std::string_view head) {
  wire::ChunkHeader first;
  if (!is_recording(head) || head.size() < sizeof(wire::FileHeader) + sizeof first) return false;
  std::memcpy(&first, head.data() + sizeof(wire::FileHeader), sizeof first);
  return wire::is_sound(first) && first.kind == wire::ChunkKind::kSampling;
}

Result<bool> RecordingReader::fill(size_t bytes) {
  if (rest().size() >= bytes) return true;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t had = buffer_.size();
  const size_t wanted = std::max(bytes - had, kPieceBytes);
  buffer_.resize(had + wanted);
  NL_TRY(const size_t got, source_.read(buffer_.data() + had, wanted));
  buffer_.resize(had + got);
  return buffer_.size() >= bytes;
}

Result<void> RecordingReader::start() {
  wire::FileHeader header{};
  NL_TRY(const bool is_whole, fill(sizeof header));
  if (!is_whole || !is_recording(rest())) return Error{ErrorCode::kBadInput, "not a recording"};
  std::memcpy(&header, rest().data(), sizeof header);
  if (header.version != wire::kRecordingVersion)
    return Error{ErrorCode::kUnsupported, "a recording of another version: " + std::to_string(header.version),
                 "use the neurolens that recorded it, or a newer one"};
  boot_id_.assign(header.boot_id, strnlen(header.boot_id, sizeof header.boot_id));
  begin_ += sizeof header;
  return {};
}

Result<bool> RecordingReader::next(wire::ChunkHeader& header, std::string_view& payload) {
  for (;;) {
    NL_TRY(const bool has_header, fill(sizeof header));
    if (!has_header) {
      is_cut_off_ = !rest().empty();
      return false;
    }
    std::memcpy(&header, rest().data(), sizeof header);
    if (!wire::is_sound(header)) {
      begin_ += sizeof(wire::Word);
      skipped_bytes_ += sizeof(wire::Word);
      continue;
    }
    NL_TRY(const bool has_payload, fill(sizeof header + header.bytes));
    if (!has_payload) {
      is_cut_off_ = true;
      cut_off_records_ += records_of(header);
      return false;
    }
    payload = rest().substr(sizeof header, header.bytes);
    begin_ += sizeof header + header.bytes;
    if (wire::is_sound(header, payload)) return true;
    damaged_chunks_++;
    damaged_records_ += records_of(header);
  }
}

}  // namespace nl::ingest
