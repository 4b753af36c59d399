#pragma once
// ChromeDialect: how one profiler uses Chrome traces ("Trace Event Format"): what its categories mean, which
// arguments have a column, and what the text around the events says. Plain data and functions without state,
// so any thread may use it.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string_view>

#include "ingest/formats/chrome/trace_event.h"
#include "model/run_info.h"
#include "model/tables.h"

namespace nl::ingest {

/// What an event is: one of the kinds of spans, or something that has a table of its own.
enum class EventClass : uint8_t {
  kOp = static_cast<int>(model::SpanKind::op),
  kRuntime = static_cast<int>(model::SpanKind::runtime),
  kAnnotation = static_cast<int>(model::SpanKind::annotation),
  kDeviceAnnotation = static_cast<int>(model::SpanKind::device_annotation),
  kPython = static_cast<int>(model::SpanKind::python),
  kDevice = static_cast<int>(model::SpanKind::device),
  kOverhead = static_cast<int>(model::SpanKind::overhead),
  kInstant = static_cast<int>(model::SpanKind::instant),
  kOther = static_cast<int>(model::SpanKind::other),
  kKernel,
  kMemcpy,
  kMemset,
  kSync,
  kAllocation,
  kCount
};

using ClassSet = uint32_t;
constexpr ClassSet set_of(EventClass c) {
  return ClassSet{1} << static_cast<int>(c);
}
inline constexpr ClassSet kSpanClasses = (set_of(EventClass::kOther) << 1) - 1;

/// The span kind of a class that has no table of its own; other for the rest.
constexpr model::SpanKind span_kind_of(EventClass c) {
  return c <= EventClass::kOther ? static_cast<model::SpanKind>(c) : model::SpanKind::other;
}

enum class ArgValue : uint8_t {
  kInt,
  kQuotedInt,  ///< an integer, or one written as a string
  kDouble,
  kText,
  kJson,         ///< an array, kept as it is written
  kGrid,         ///< [x, y, z] into three columns
  kTypedShapes,  ///< [{"float":[2,3]}, …] into shapes and dtypes
};

/// An argument that has a column in the table of the classes it belongs to.
struct KnownArg {
  std::string_view key;
  ClassSet of;
  model::TableId table;
  int column;
  ArgValue value = ArgValue::kInt;
};

/// What was seen of the events when the text around them is read.
struct ChromeFacts {
  std::set<int32_t> devices = {};
  int64_t min_start_ns = INT64_MAX;
  bool has_nanoseconds = false;
  int64_t ops_after_last_window = 0;  ///< ops in the source behind the last marked window
};

struct ChromeDialect {
  std::span<const KnownArg> args;
  EventClass (*class_of)(std::string_view category);
  /// The class of one event, if its name tells more than its category; may cut the name.
  EventClass (*refine)(EventClass c, TraceEvent& event);
  /// Kind of the window that an event marks (see model::Window); nullptr if it marks none. `name` is a token.
  const char* (*window_kind)(EventClass c, std::string_view name);
  /// Turns the members around the events and the facts into the run's description.
  void (*describe)(const nlohmann::json& envelope, const ChromeFacts& facts, model::RunInfo& info);
  bool may_be_array;          ///< events may come as an array without an object around it
  bool process_is_device;     ///< a device record's process and thread ids are device and stream
  bool ops_own_next_kernels;  ///< a kernel record belongs to the op before it in the source
};

}  // namespace nl::ingest
