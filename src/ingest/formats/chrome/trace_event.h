#pragma once
// One event of a Chrome trace ("Trace Event Format") as raw JSON tokens. This layer finds the common keys but
// does not interpret them.

#include <string_view>
#include <vector>

#include "ingest/json/json_cursor.h"

namespace nl::ingest {

/// Tokens are empty where the event has no such key. Views into the window.
struct TraceEvent {
  std::string_view phase, category, name, process, thread, time, duration, id;
  std::vector<JsonMember> args;
  std::vector<JsonMember> extras;  ///< other keys of the event itself
  size_t name_cut = 0;             ///< characters at the end of the name that are not part of it
};

/// Reads the object at the cursor into `event`, whose vectors are reused. False if the JSON is wrong.
bool read_trace_event(JsonCursor& cursor, TraceEvent& event);

}  // namespace nl::ingest
