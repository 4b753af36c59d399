#pragma once
// One event of a Chrome trace ("Trace Event Format") as raw JSON tokens. Knows the common keys, not what they
// mean.

#include <string_view>
#include <vector>

#include "ingest/json_cursor.h"

namespace nl::ingest {

struct TraceArg {
  std::string_view key;  ///< without quotes, escapes as in the source
  std::string_view raw;  ///< text of the value; scalars are not checked yet
};

/// Tokens are empty where the event has no such key. Views into the window.
struct TraceEvent {
  std::string_view phase, category, name, process, thread, time, duration, id;
  std::vector<TraceArg> args;
  std::vector<TraceArg> extras;  ///< other keys of the event itself
};

/// Reads the object at the cursor into `event`, whose vectors are reused. False if the JSON is wrong.
bool read_trace_event(JsonCursor& cursor, TraceEvent& event);

/// A token without its quotes, if it has any.
inline std::string_view unquoted(std::string_view token) {
  return token.size() >= 2 && token[0] == '"' ? token.substr(1, token.size() - 2) : token;
}

}  // namespace nl::ingest
