#include "ingest/formats/chrome/trace_event.h"

#include <cstring>

namespace nl::ingest {
namespace {

std::string_view* member(TraceEvent& event, std::string_view key) {
  const auto is = [&](const char* name) { return std::memcmp(key.data(), name, key.size()) == 0; };
  switch (key.size()) {
    case 2:
      return is("ph") ? &event.phase : is("ts") ? &event.time : is("id") ? &event.id : nullptr;
    case 3:
      switch (key[0]) {
        case 'c':
          return is("cat") ? &event.category : nullptr;
        case 'p':
          return is("pid") ? &event.process : nullptr;
        case 't':
          return is("tid") ? &event.thread : nullptr;
        case 'd':
          return is("dur") ? &event.duration : nullptr;
        default:
          return nullptr;
      }
    case 4:
      return is("name") ? &event.name : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

bool read_trace_event(JsonCursor& cursor, TraceEvent& event) {
  event.phase = event.category = event.name = event.process = event.thread = {};
  event.time = event.duration = event.id = {};
  event.name_cut = 0;
  event.args.clear();
  event.extras.clear();
  if (!cursor.take('{')) return false;
  if (cursor.take('}')) return true;
  for (;;) {
    std::string_view key;
    if (!cursor.take_key(key)) return false;
    if (key == "args" && cursor.peek() == '{') {
      if (!read_members(cursor, event.args)) return false;
    } else {
      std::string_view raw;
      const bool scalar = cursor.peek() != '{' && cursor.peek() != '[';
      if (!cursor.take_raw(raw)) return false;
      std::string_view* const known = scalar ? member(event, key) : nullptr;
      if (known != nullptr && known->empty()) {
        *known = raw;
      } else {
        event.extras.push_back({key, raw});
      }
    }
    if (cursor.take('}')) return true;
    if (!cursor.take(',')) return false;
  }
}

}  // namespace nl::ingest
