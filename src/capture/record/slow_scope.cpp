#include "capture/record/slow_scope.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace nl::capture {

Result<SlowScope> SlowScope::parse(const std::string& text) {
  constexpr uint64_t kMostMs = 1'000'000'000;
  const size_t equals = text.rfind('=');
  const char* const end = text.data() + text.size();
  uint64_t limit_ms = 0;
  if (equals == std::string::npos || equals == 0 ||
      std::from_chars(text.data() + equals + 1, end, limit_ms).ptr != end || limit_ms < 1 ||
      limit_ms > kMostMs)
    return Error{ErrorCode::kBadInput, "NAME=MS is expected, a scope and its milliseconds, not: " + text,
                 "decode=50"};
  return SlowScope(text.substr(0, equals), limit_ms * 1'000'000);
}

void SlowScope::define(std::string_view chunks) {
  wire::ChunkHeader header;
  while (chunks.size() >= sizeof header) {
    std::memcpy(&header, chunks.data(), sizeof header);
    std::string_view payload = chunks.substr(sizeof header, header.bytes);
    chunks.remove_prefix(std::min(chunks.size(), sizeof header + header.bytes));
    wire::NameHead head;
    while (header.kind == wire::ChunkKind::kNames && payload.size() >= sizeof head) {
      std::memcpy(&head, payload.data(), sizeof head);
      const size_t bytes = wire::padded(sizeof head + head.domain_bytes + size_t{head.name_bytes});
      if (payload.substr(sizeof head + head.domain_bytes, head.name_bytes) == name_)
        numbers_.insert({header.process, head.name});
      payload.remove_prefix(std::min(payload.size(), bytes));
    }
  }
}

bool SlowScope::take(const wire::ChunkHeader& header, std::string_view payload) {
  if (numbers_.empty() || header.kind != wire::ChunkKind::kRecords) return false;
  bool is_slow = false;
  wire::Word words[wire::kLaneWords] = {};
  for (size_t size = 0; payload.size() >= sizeof(wire::Word) * wire::kScopeWords;
       payload.remove_prefix(size)) {
    std::memcpy(words, payload.data(), std::min(payload.size(), sizeof words));
    size = std::min(payload.size(), std::max<size_t>(wire::words_of(words[0]), 1) * sizeof(wire::Word));
    if (!numbers_.contains({header.process, wire::name_of(words[0])})) continue;
    const auto kind = static_cast<wire::RecordKind>(wire::kind_of(words[0]));
    const bool is_lane = kind == wire::RecordKind::kLaneBegin || kind == wire::RecordKind::kLaneEnd;
    const Line line{header.process, header.thread, is_lane ? words[2] + 1 : 0};
    auto& open = begins_[line];
    if (kind == wire::RecordKind::kBegin || kind == wire::RecordKind::kLaneBegin) open.push_back(words[1]);
    if ((kind == wire::RecordKind::kEnd || kind == wire::RecordKind::kLaneEnd) && !open.empty()) {
      is_slow = is_slow || words[1] - open.back() > limit_ns_;
      open.pop_back();
    }
    if (open.empty()) begins_.erase(line);
  }
  return is_slow;
}

}  // namespace nl::capture
