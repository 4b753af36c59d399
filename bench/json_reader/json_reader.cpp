// Reads the events of a Chrome trace in two ways and compares their CPU time
// (docs/adr/0002-simdjson-first-stage.md): by JsonIndex and JsonCursor, and by simdjson's public on-demand
// API. Both get the same windows, which are in memory before the clock starts, and fill the same TraceEvent
// with the same tokens. On-demand does not check what it skips, so it is measured twice: as it is, and with
// every nested value walked and every scalar in it checked as ours are. usage: json_reader TRACE ROUNDS
// prints one JSON line per round: CPU nanoseconds of each reader

#include <fmt/core.h>
#include <simdjson.h>
#include <time.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/formats/chrome/trace_event.h"
#include "ingest/json/json_array.h"
#include "ingest/json/json_cursor.h"
#include "ingest/source/byte_source.h"

namespace {

using nl::ingest::JsonWindow;
using nl::ingest::TraceEvent;
namespace ondemand = simdjson::ondemand;

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "json_reader: {}\n", why);
  std::exit(2);
}

std::string_view without_blanks(std::string_view token) {
  while (!token.empty() && nl::ingest::is_blank(token.back())) token.remove_suffix(1);
  return token;
}

std::string_view* member(TraceEvent& event, std::string_view key) {
  if (key == "ph") return &event.phase;
  if (key == "ts") return &event.time;
  if (key == "id") return &event.id;
  if (key == "cat") return &event.category;
  if (key == "pid") return &event.process;
  if (key == "tid") return &event.thread;
  if (key == "dur") return &event.duration;
  return key == "name" ? &event.name : nullptr;
}

/// Equal for equal tokens, whoever read them; cheap, since both readers pay for it.
struct Digest {
  uint64_t value = 0;
  uint64_t events = 0;
  uint64_t bytes = 0;

  void add(std::string_view token) {
    bytes += token.size();
    if (!token.empty()) value += token.size() * static_cast<unsigned char>(token.back());
  }
  void add(const TraceEvent& event) {
    events++;
    for (const auto token : {event.phase, event.category, event.name, event.process, event.thread, event.time,
                             event.duration, event.id})
      add(token);
    for (const auto* members : {&event.args, &event.extras}) {
      for (const auto& [key, raw] : *members) {
        add(key);
        add(raw);
      }
    }
  }
  bool operator==(const Digest&) const = default;
};

// ---- Our reader

class CursorReader {
 public:
  void read(const JsonWindow& window, Digest& digest) {
    auto cursor = index_.index(window);
    if (!cursor || !cursor->take('[')) fail("our reader refuses a window");
    if (cursor->take(']')) return;
    do {
      if (!nl::ingest::read_trace_event(*cursor, event_)) fail("our reader refuses an event");
      digest.add(event_);
    } while (cursor->take(','));
  }

 private:
  nl::ingest::JsonIndex index_;
  TraceEvent event_;
};

// ---- simdjson's

class OnDemandReader {
 public:
  explicit OnDemandReader(bool is_checked) : is_checked_(is_checked) {}

  /// simdjson reports an error at the place where a value is used; all of them end here.
  void read(const JsonWindow& window, Digest& digest) {
    try {
      ondemand::document document =
          parser_.iterate(window.text, window.size, window.size + nl::ingest::kJsonPadding);
      for (ondemand::object object : document.get_array()) {
        read_event(object);
        digest.add(event_);
      }
    } catch (const simdjson::simdjson_error& error) {
      fail(std::string("on-demand refuses a window: ") + error.what());
    }
  }

 private:
  static bool is_nested(ondemand::json_type type) {
    return type == ondemand::json_type::object || type == ondemand::json_type::array;
  }

  void read_event(ondemand::object object) {
    event_.phase = event_.category = event_.name = event_.process = event_.thread = {};
    event_.time = event_.duration = event_.id = {};
    event_.args.clear();
    event_.extras.clear();
    for (ondemand::field field : object) {
      const std::string_view key = field.escaped_key();
      ondemand::value value = field.value();
      const ondemand::json_type type = value.type();
      if (key == "args" && type == ondemand::json_type::object) {
        for (ondemand::field argument : value.get_object())
          event_.args.push_back({argument.escaped_key(), raw(argument.value(), argument.value().type())});
        continue;
      }
      const std::string_view text = raw(value, type);
      std::string_view* const known = is_nested(type) ? nullptr : member(event_, key);
      if (known != nullptr && known->empty()) {
        *known = text;
      } else {
        event_.extras.push_back({key, text});
      }
    }
  }

  std::string_view raw(ondemand::value value, ondemand::json_type type) {
    if (!is_nested(type)) return without_blanks(value.raw_json_token());
    if (!is_checked_) return without_blanks(value.raw_json());
    const std::string_view begin = value.raw_json_token();
    const char* const end = walk(value, type);
    return {begin.data(), static_cast<size_t>(end - begin.data())};
  }

  static void check(std::string_view token) {
    if (!nl::ingest::is_json_scalar(token)) fail("not JSON: " + std::string(token));
  }

  /// Where the value ends.
  const char* walk(ondemand::value value, ondemand::json_type type) {
    if (type == ondemand::json_type::array) {
      ondemand::array array = value.get_array();
      for (ondemand::value element : array) visit(element);
    } else {
      for (ondemand::field field : value.get_object()) {
        if (!nl::ingest::has_valid_escapes(field.escaped_key())) fail("a wrong escape");
        visit(field.value());
      }
    }
    const char* end = nullptr;
    // The token behind a value that was read to its end is the current one: a comma or a bracket.
    if (value.current_location().get(end)) fail("no end");
    while (end[-1] != ']' && end[-1] != '}') end--;
    return end;
  }
  void visit(ondemand::value value) {
    const ondemand::json_type type = value.type();
    if (is_nested(type)) {
      walk(value, type);
    } else {
      check(without_blanks(value.raw_json_token()));
    }
  }

  bool is_checked_;
  ondemand::parser parser_;
  TraceEvent event_;
};

// ---- Measuring

std::vector<JsonWindow> windows_of(const std::string& path) {
  auto source = nl::ingest::open_file(path);
  if (!source) fail(source.error().message);
  nl::ingest::JsonArraySplitter splitter(**source, "traceEvents");
  std::vector<JsonWindow> windows;
  for (;;) {
    JsonWindow window;
    const auto more = splitter.next(window);
    if (!more) fail(more.error().message);
    if (!*more) return windows;
    windows.push_back(std::move(window));
  }
}

int64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// CPU time and tokens of each reader over all windows.
struct Round {
  std::array<int64_t, 3> cpu_ns{};
  std::array<Digest, 3> digests;
};

/// The readers take turns window by window, so that whatever slows the machine down slows all of them; each
/// comes first as often as the others.
class Bench {
 public:
  Round run(const std::vector<JsonWindow>& windows) {
    Round round;
    for (const JsonWindow& window : windows) {
      first_ = (first_ + 1) % 3;
      for (size_t i = 0; i < 3; i++) {
        const size_t reader = (first_ + i) % 3;
        const int64_t begin = cpu_ns();
        read(reader, window, round.digests[reader]);
        round.cpu_ns[reader] += cpu_ns() - begin;
      }
    }
    return round;
  }

 private:
  void read(size_t reader, const JsonWindow& window, Digest& digest) {
    if (reader == 0) return ours_.read(window, digest);
    (reader == 1 ? on_demand_ : checked_).read(window, digest);
  }

  CursorReader ours_;
  OnDemandReader on_demand_{false}, checked_{true};
  size_t first_ = 0;
};

}  // namespace

int main(int count, char** words) {
  if (count != 3) fail("usage: json_reader TRACE ROUNDS");
  const std::vector<JsonWindow> windows = windows_of(words[1]);
  Bench bench;
  bench.run(windows);  // warms up
  for (int i = std::atoi(words[2]); i > 0; i--) {
    const auto [took, digests] = bench.run(windows);
    if (digests[0] != digests[1] || digests[0] != digests[2]) fail("the readers differ in a token");
    fmt::print("{{\"events\":{},\"token_bytes\":{},\"ours\":{},\"on_demand\":{},\"on_demand_checked\":{}}}\n",
               digests[0].events, digests[0].bytes, took[0], took[1], took[2]);
  }
}
