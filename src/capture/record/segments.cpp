#include "capture/record/segments.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/files.h"

namespace nl::capture {
namespace {

constexpr std::string_view kSegmentStart = "flight-", kSegmentEnd = ".nlr";
constexpr int64_t kEndingBytes = 64 << 10;  ///< of the limit, for losses and the end

/// The chunks of a file that is a recording itself.
Result<void> append_file(const std::string& path, RecordingFile& out) {
  NL_TRY(File file, File::open_to_read(path));
  std::string piece(1 << 20, '\0');
  for (size_t skip = sizeof(wire::FileHeader);;) {
    NL_TRY(const size_t bytes, file.read(piece.data(), piece.size()));
    if (bytes == 0) return {};
    const size_t skipped = std::min(skip, bytes);
    skip -= skipped;
    out.add(std::string_view(piece).substr(skipped, bytes - skipped));
    NL_TRY(const bool is_written, out.flush());
    if (!is_written) return Error{ErrorCode::kIo, "the disk is full: " + out.path()};
  }
}

Result<void> write_ending(RecordingFile& file, const std::string& chunks, uint64_t records) {
  std::string facts;
  wire::append_bytes(facts, wire::EndFacts{records});
  file.add(chunks);
  file.add({.kind = wire::ChunkKind::kEnd}, facts);
  NL_TRY(const bool is_written, file.flush());
  if (!is_written) return Error{ErrorCode::kIo, "the disk is full: " + file.path()};
  return file.sync();
}

}  // namespace

std::string segment_name(int number) {
  return std::string(kSegmentStart) + std::to_string(number) + std::string(kSegmentEnd);
}

std::optional<int> segment_number(std::string_view name) {
  if (!name.starts_with(kSegmentStart) || !name.ends_with(kSegmentEnd)) return std::nullopt;
  int number = 0;
  const char* const end = name.data() + name.size() - kSegmentEnd.size();
  const auto parsed = std::from_chars(name.data() + kSegmentStart.size(), end, number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == end && number >= 0;
  return is_number ? std::optional(number) : std::nullopt;
}

Result<Segments> Segments::create(const SegmentOptions& options) {
  Segments segments(options);
  NL_CHECK(segments.start_file());
  return segments;
}

Result<void> Segments::start_file() {
  const std::string name = options_.is_flight_recorder ? segment_name(next_++) : kRecordingName;
  NL_TRY(RecordingFile file, RecordingFile::create(options_.folder + "/" + name));
  files_.push_back({std::move(file)});
  for (const auto& [process, chunks] : definitions_) files_.back().file.add(chunks);
  return {};
}

Result<Segments> Segments::reopen(const std::string& folder, const RecordingFile::Visit& visit) {
  std::map<int, std::string> parts;  // in the order of their numbers
  for (const auto& name : list_folder(folder)) {
    if (const auto number = segment_number(name)) parts[*number] = name;
  }
  Segments segments({folder, INT64_MAX, !parts.empty()});
  if (parts.empty()) parts[0] = kRecordingName;
  for (const auto& [number, name] : parts) {
    uint64_t records = 0;
    const auto count = [&](const wire::ChunkHeader& header, std::string_view payload) {
      records += header.records;
      visit(header, payload);
    };
    NL_TRY(RecordingFile file, RecordingFile::reopen(folder + "/" + name, count));
    segments.files_.push_back({std::move(file), records});
    segments.next_ = number + 1;
  }
  if (segments.options_.is_flight_recorder) ::unlink((folder + "/" + kRecordingName).c_str());
  return segments;
}

void Segments::define(uint32_t process, const std::string& chunks) {
  if (chunks.empty() || is_full_) return;
  files_.back().file.add(chunks);
  if (options_.is_flight_recorder) definitions_[process] += chunks;
}

void Segments::add(const wire::ChunkHeader& header, std::string_view payload) {
  Segment& segment = files_.back();
  const auto bytes = static_cast<int64_t>(sizeof header + payload.size());
  if (!options_.is_flight_recorder)
    is_full_ = is_full_ || bytes > options_.limit_bytes - kEndingBytes - segment.file.bytes();
  if (is_full_) {
    given_up_.disk_limit += header.records;
    return;
  }
  segment.file.add(header, payload);
  segment.waiting += header.records;
}

void Segments::add_losses(const wire::ChunkHeader& header, std::string_view payload) {
  if (!is_full_) files_.back().file.add(header, payload);
}

Result<GivenUp> Segments::flush() {
  Segment& segment = files_.back();
  NL_TRY(const bool is_written, segment.file.flush());
  if (is_written) {
    segment.records += segment.waiting;
  } else {
    is_full_ = true;
    given_up_.disk_limit += segment.waiting;
    segment.file.forget_waiting();
  }
  segment.waiting = 0;
  // With room for the markers of one more flush, so that two files stay below the limit.
  const int64_t half = options_.limit_bytes / 2;
  const bool is_long = segment.file.bytes() > std::max(half - kEndingBytes, half / 2);
  if (options_.is_flight_recorder && is_long) NL_CHECK(rotate());
  return std::exchange(given_up_, {});
}

Result<void> Segments::rotate() {
  if (files_.size() == 2) {
    given_up_.overwritten += files_[0].records;
    ::unlink(files_[0].file.path().c_str());
    files_.erase(files_.begin());
  }
  return start_file();
}

Result<Segments::Ending> Segments::dump(const std::string& name, const std::string& chunks) {
  const std::string path = options_.folder + "/" + name;
  const std::string aside = path + ".new";
  ::unlink(aside.c_str());
  NL_TRY(RecordingFile file, RecordingFile::create(aside));
  Ending ending{path};
  for (const Segment& segment : files_) {
    NL_CHECK(append_file(segment.file.path(), file));
    ending.records += segment.records;
  }
  NL_CHECK(write_ending(file, chunks, ending.records));
  if (::rename(aside.c_str(), path.c_str()) != 0) return errno_error("cannot rename", aside, errno);
  return ending;
}

Result<Segments::Ending> Segments::finish(const std::string& chunks) {
  if (options_.is_flight_recorder) {
    NL_TRY(Ending ending, dump(kRecordingName, chunks));
    for (const Segment& segment : files_) ::unlink(segment.file.path().c_str());
    return ending;
  }
  Segment& segment = files_.back();
  NL_CHECK(write_ending(segment.file, chunks, segment.records));
  return Ending{segment.file.path(), segment.records};
}

}  // namespace nl::capture
