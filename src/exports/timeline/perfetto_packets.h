#pragma once
// PerfettoPackets: writes a trace as Perfetto reads it, packet by packet (perfetto/protos: TracePacket,
// TrackDescriptor, TrackEvent). Texts that repeat are sent once and named by a number from then on; when they
// take too much memory, the numbers begin anew. For one thread.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "exports/protobuf.h"
#include "exports/timeline/trace_rows.h"

namespace nl::exports {

struct ProcessPacket {
  uint64_t uuid;
  std::string_view name;
  std::string_view labels = {};
  std::optional<int32_t> pid = {};  ///< none: a group of tracks that is no process
};

struct TrackPacket {
  uint64_t uuid;
  uint64_t parent;  ///< 0: none
  std::string_view name;
  std::optional<int32_t> pid = {}, tid = {};  ///< both of a thread, else none
};

class PerfettoPackets {
 public:
  using Write = std::function<Result<void>(std::string_view)>;
  explicit PerfettoPackets(const Write& write) : write_(write) {}

  /// Says that times are those of the wall clock.
  Result<void> wall_clock(int64_t time_ns);
  Result<void> process(const ProcessPacket& process);
  Result<void> track(const TrackPacket& track);
  Result<void> counter_track(const TrackPacket& track, std::string_view unit);

  struct Arrows {
    std::span<const uint64_t> from, to;  ///< flows that begin here, and that end here
  };
  Result<void> begin(const TraceRow& row, uint64_t track, const Arrows& arrows);
  Result<void> instant(const TraceRow& row, uint64_t track, const Arrows& arrows);
  Result<void> end(int64_t time_ns, uint64_t track);
  Result<void> counter(int64_t time_ns, uint64_t track, double value);
  Result<void> counter(int64_t time_ns, uint64_t track, int64_t value);
  Result<void> flush();

 private:
  /// An event of a few fields; `rest` adds those that not all have.
  template <class Rest>
  Result<void> short_event(int64_t time_ns, uint64_t track, uint64_t type, Rest&& rest);
  enum Interned : size_t { kCategory, kEventName, kArgName, kArgText, kInternedKinds };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Numbers = std::unordered_map<std::string, uint64_t, TextHash, std::equal_to<>>;

  Result<void> event(uint64_t type, const TraceRow& row, uint64_t track, const Arrows& arrows);
  Result<void> flush_if_large();
  void forget_texts_if_many();
  uint64_t number_of(Interned kind, std::string_view text);
  void event_name(const TraceRow& row);
  void event_category(const TraceRow& row);
  void annotation(const TraceArg& arg);
  void annotation_name(std::string_view key);
  void annotation_text(std::string_view text);
  void write_rest(std::string_view json);

  const Write& write_;
  ProtoWriter out_;
  ProtoWriter new_texts_;  ///< InternedData of the present packet
  std::array<Numbers, kInternedKinds> texts_;
  size_t text_bytes_ = 0;
  bool begins_anew_ = true;
};

}  // namespace nl::exports
