#include "exports/timeline/perfetto_packets.h"

#include "exports/safe_utf8.h"
#include "exports/timeline/json_annotations.h"

namespace nl::exports {
namespace {

// Numbers of the fields, as in protos/perfetto/trace.
namespace trace {
constexpr uint32_t kPacket = 1;
}
namespace packet {
constexpr uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kInternedData = 12,
                   kSequenceFlags = 13, kTrackDescriptor = 60;
constexpr uint64_t kStateCleared = 1, kNeedsState = 2;
}  // namespace packet
namespace clocks {
constexpr uint32_t kClocks = 1, kClockId = 1, kTimestamp = 2;
constexpr uint64_t kRealtime = 1, kBoottime = 6;
}  // namespace clocks
namespace descriptor {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8,
                   kMergeBehaviour = 15;
constexpr uint64_t kNeverMerge = 2;
}  // namespace descriptor
namespace process_descriptor {
constexpr uint32_t kPid = 1, kName = 6, kLabels = 8;
}
namespace thread_descriptor {
constexpr uint32_t kPid = 1, kTid = 2, kName = 5;
}
namespace counter_descriptor {
constexpr uint32_t kUnit = 3, kUnitName = 6;
constexpr uint64_t kTimeNs = 1, kBytes = 3;
}  // namespace counter_descriptor
namespace track_event {
constexpr uint32_t kCategoryIids = 3, kAnnotations = 4, kType = 9, kNameIid = 10, kTrackUuid = 11, kName = 23,
                   kCounterValue = 30, kDoubleCounterValue = 44, kFlowIds = 47, kTerminatingFlowIds = 48;
constexpr uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;
}  // namespace track_event
namespace annotations {
constexpr uint32_t kNameIid = 1, kInt = 4, kReal = 5, kText = 6, kName = 10, kTextIid = 17;
}
namespace interned {
constexpr uint32_t kFieldOfKind[] = {1, 2, 3, 29};  // categories, event names, names and texts of annotations
constexpr uint32_t kIid = 1, kText = 2;
}  // namespace interned

constexpr uint64_t kOurSequence = 1;
constexpr size_t kPieceBytes = 1 << 16;
constexpr size_t kMaxTextBytes = 16 << 20;
/// Longer texts hardly repeat; they stand in their event.
constexpr size_t kMaxInternedText = 4096;

}  // namespace

Result<void> PerfettoPackets::wall_clock(int64_t time_ns) {
  out_.message(trace::kPacket, [&] {
    out_.varint(packet::kSequenceId, kOurSequence);
    out_.message(packet::kClockSnapshot, [&] {
      for (const uint64_t clock : {clocks::kBoottime, clocks::kRealtime}) {
        out_.message(clocks::kClocks, [&] {
          out_.varint(clocks::kClockId, clock);
          out_.signed_varint(clocks::kTimestamp, time_ns);
        });
      }
    });
  });
  return flush_if_large();
}

Result<void> PerfettoPackets::process(const ProcessPacket& process) {
  out_.message(trace::kPacket, [&] {
    out_.varint(packet::kSequenceId, kOurSequence);
    out_.message(packet::kTrackDescriptor, [&] {
      out_.varint(descriptor::kUuid, process.uuid);
      out_.text(descriptor::kName, process.name);
      if (!process.pid) return;
      out_.message(descriptor::kProcess, [&] {
        out_.signed_varint(process_descriptor::kPid, *process.pid);
        out_.text(process_descriptor::kName, process.name);
        if (!process.labels.empty()) out_.text(process_descriptor::kLabels, process.labels);
      });
    });
  });
  return flush_if_large();
}

Result<void> PerfettoPackets::track(const TrackPacket& track) {
  out_.message(trace::kPacket, [&] {
    out_.varint(packet::kSequenceId, kOurSequence);
    out_.message(packet::kTrackDescriptor, [&] {
      out_.varint(descriptor::kUuid, track.uuid);
      if (track.parent != 0) out_.varint(descriptor::kParent, track.parent);
      out_.text(descriptor::kName, track.name);
      out_.varint(descriptor::kMergeBehaviour, descriptor::kNeverMerge);
      if (!track.pid || !track.tid) return;
      out_.message(descriptor::kThread, [&] {
        out_.signed_varint(thread_descriptor::kPid, *track.pid);
        out_.signed_varint(thread_descriptor::kTid, *track.tid);
        out_.text(thread_descriptor::kName, track.name);
      });
    });
  });
  return flush_if_large();
}

Result<void> PerfettoPackets::counter_track(const TrackPacket& track, std::string_view unit) {
  out_.message(trace::kPacket, [&] {
    out_.varint(packet::kSequenceId, kOurSequence);
    out_.message(packet::kTrackDescriptor, [&] {
      out_.varint(descriptor::kUuid, track.uuid);
      if (track.parent != 0) out_.varint(descriptor::kParent, track.parent);
      out_.text(descriptor::kName, track.name);
      out_.varint(descriptor::kMergeBehaviour, descriptor::kNeverMerge);
      out_.message(descriptor::kCounter, [&] {
        if (unit == "B") {
          out_.varint(counter_descriptor::kUnit, counter_descriptor::kBytes);
        } else if (unit == "ns") {
          out_.varint(counter_descriptor::kUnit, counter_descriptor::kTimeNs);
        } else if (!unit.empty()) {
          out_.text(counter_descriptor::kUnitName, unit);
        }
      });
    });
  });
  return flush_if_large();
}

Result<void> PerfettoPackets::begin(const TraceRow& row, uint64_t track, const Arrows& arrows) {
  return event(track_event::kBegin, row, track, arrows);
}

Result<void> PerfettoPackets::instant(const TraceRow& row, uint64_t track, const Arrows& arrows) {
  return event(track_event::kInstant, row, track, arrows);
}

Result<void> PerfettoPackets::event(uint64_t type, const TraceRow& row, uint64_t track,
                                    const Arrows& arrows) {
  forget_texts_if_many();
  new_texts_.clear();
  out_.message(trace::kPacket, [&] {
    out_.signed_varint(packet::kTimestamp, row.start_ns);
    out_.varint(packet::kSequenceId, kOurSequence);
    out_.varint(packet::kSequenceFlags, packet::kNeedsState | (begins_anew_ ? packet::kStateCleared : 0));
    out_.message(packet::kTrackEvent, [&] {
      out_.varint(track_event::kType, type);
      out_.varint(track_event::kTrackUuid, track);
      event_category(row);
      event_name(row);
      for (const TraceArg& arg : row.args) annotation(arg);
      for (const uint64_t flow : arrows.from) out_.fixed64(track_event::kFlowIds, flow);
      for (const uint64_t flow : arrows.to) out_.fixed64(track_event::kTerminatingFlowIds, flow);
    });
    if (new_texts_.size() > 0) out_.bytes(packet::kInternedData, new_texts_.view());
  });
  begins_anew_ = false;
  return flush_if_large();
}

void PerfettoPackets::event_category(const TraceRow& row) {
  const std::string_view category = row.category.empty() ? row.kind : row.category;
  if (!category.empty()) out_.varint(track_event::kCategoryIids, number_of(kCategory, category));
}

void PerfettoPackets::event_name(const TraceRow& row) {
  if (!row.name) return;
  if (row.name->size() <= kMaxInternedText) {
    out_.varint(track_event::kNameIid, number_of(kEventName, *row.name));
  } else {
    std::string scratch;
    out_.text(track_event::kName, safe_utf8(*row.name, scratch));
  }
}

template <class Rest>
Result<void> PerfettoPackets::short_event(int64_t time_ns, uint64_t track, uint64_t type, Rest&& rest) {
  out_.message(trace::kPacket, [&] {
    out_.signed_varint(packet::kTimestamp, time_ns);
    out_.varint(packet::kSequenceId, kOurSequence);
    out_.message(packet::kTrackEvent, [&] {
      out_.varint(track_event::kType, type);
      out_.varint(track_event::kTrackUuid, track);
      rest();
    });
  });
  return flush_if_large();
}

Result<void> PerfettoPackets::end(int64_t time_ns, uint64_t track) {
  return short_event(time_ns, track, track_event::kEnd, [] {});
}

Result<void> PerfettoPackets::counter(int64_t time_ns, uint64_t track, double value) {
  return short_event(time_ns, track, track_event::kCounter,
                     [&] { out_.real(track_event::kDoubleCounterValue, value); });
}

Result<void> PerfettoPackets::counter(int64_t time_ns, uint64_t track, int64_t value) {
  return short_event(time_ns, track, track_event::kCounter,
                     [&] { out_.signed_varint(track_event::kCounterValue, value); });
}

void PerfettoPackets::annotation(const TraceArg& arg) {
  if (arg.kind == ArgKind::kRest) return write_rest(arg.text);
  out_.message(track_event::kAnnotations, [&] {
    annotation_name(arg.key);
    switch (arg.kind) {
      case ArgKind::kInt:
        return out_.signed_varint(annotations::kInt, arg.number);
      case ArgKind::kReal:
        return out_.real(annotations::kReal, arg.real);
      case ArgKind::kTriple:
        return annotation_text(triple_text(arg));
      case ArgKind::kText:
      case ArgKind::kJson:
      case ArgKind::kRest:
        return annotation_text(arg.text);
    }
  });
}

void PerfettoPackets::write_rest(std::string_view json) {
  const auto name = [&](std::string_view key) { annotation_name(key); };
  if (write_json_annotations(out_, track_event::kAnnotations, json, name)) return;
  out_.message(track_event::kAnnotations, [&] {
    annotation_name("args");
    annotation_text(json);
  });
}

void PerfettoPackets::annotation_name(std::string_view key) {
  if (key.size() <= kMaxInternedText) {
    out_.varint(annotations::kNameIid, number_of(kArgName, key));
  } else {
    std::string scratch;
    out_.text(annotations::kName, safe_utf8(key, scratch));
  }
}

void PerfettoPackets::annotation_text(std::string_view text) {
  if (text.size() <= kMaxInternedText) {
    out_.varint(annotations::kTextIid, number_of(kArgText, text));
  } else {
    std::string scratch;
    out_.text(annotations::kText, safe_utf8(text, scratch));
  }
}

uint64_t PerfettoPackets::number_of(Interned kind, std::string_view text) {
  Numbers& numbers = texts_[kind];
  if (const auto known = numbers.find(text); known != numbers.end()) return known->second;
  const uint64_t number = numbers.size() + 1;
  numbers.emplace(text, number);
  constexpr size_t kOverhead = 96;  // of the map
  text_bytes_ += text.size() + kOverhead;
  std::string scratch;
  new_texts_.message(interned::kFieldOfKind[kind], [&] {
    new_texts_.varint(interned::kIid, number);
    new_texts_.text(interned::kText, safe_utf8(text, scratch));
  });
  return number;
}

void PerfettoPackets::forget_texts_if_many() {
  if (text_bytes_ <= kMaxTextBytes) return;
  for (Numbers& numbers : texts_) numbers.clear();
  text_bytes_ = 0;
  begins_anew_ = true;
}

Result<void> PerfettoPackets::flush_if_large() {
  return out_.size() < kPieceBytes ? Result<void>() : flush();
}

Result<void> PerfettoPackets::flush() {
  NL_CHECK(write_(out_.view()));
  out_.clear();
  return {};
}

}  // namespace nl::exports
