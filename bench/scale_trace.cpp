// Writes one Kineto trace many times over as one larger trace that is valid: bench/README.md says what for.
// The text of the source stays as it is but for times and ids, which go on from copy to copy, so that digits
// of nanoseconds stay exact. Writes to standard output; memory does not grow with the copies.
//
// usage: gzip -dc TRACE.json.gz | scale_trace COPIES > LARGER.json; the number of events goes to standard
// error

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// Keys whose numbers go on from copy to copy. Flows have the ids of the calls that they start at.
constexpr std::string_view kKeys[] = {"\"ts\": ",         "\"correlation\": ",        "\"id\": ",
                                      "\"Ev Idx\": ",     "\"Record function id\": ", "\"Sequence number\": ",
                                      "\"External id\": "};
constexpr std::string_view kStep = "ProfilerStep#";
constexpr size_t kTime = 0, kCorrelation = 1, kFlow = 2, kSteps = std::size(kKeys);
constexpr int64_t kPauseUs = 5000;  // between two copies

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "scale_trace: %s\n", what);
  std::exit(1);
}

std::string all_of(FILE* file) {
  std::string text;
  char buffer[1 << 16];
  for (size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
  return text;
}

/// Text up to a number, and the number.
struct Piece {
  std::string_view text;
  size_t key;
  int64_t number;
};

/// What the text is cut into, and what is left behind the last number.
struct Pieces {
  std::vector<Piece> list;
  std::string_view rest;
};

Pieces pieces_of(std::string_view text) {
  Pieces pieces;
  size_t from = 0;
  for (size_t at = 0; at < text.size(); at++) {
    if (text[at] != '"' && text[at] != 'P') continue;
    for (size_t key = 0; key <= kSteps; key++) {
      const std::string_view wanted = key == kSteps ? kStep : kKeys[key];
      if (text.substr(at, wanted.size()) != wanted) continue;
      const char* const begin = text.data() + at + wanted.size();
      int64_t number = 0;
      const auto [end, failed] = std::from_chars(begin, text.data() + text.size(), number);
      if (failed != std::errc()) break;
      pieces.list.push_back(
          {text.substr(from, static_cast<size_t>(begin - text.data()) - from), key, number});
      from = static_cast<size_t>(end - text.data());
      at = from - 1;
      break;
    }
  }
  pieces.rest = text.substr(from);
  return pieces;
}

/// How far each number goes on from one copy to the next.
std::vector<int64_t> distances_of(const Pieces& pieces) {
  std::vector<int64_t> least(kSteps + 1, INT64_MAX), most(kSteps + 1, -1), distances(kSteps + 1, 0);
  for (const Piece& piece : pieces.list) {
    least[piece.key] = std::min(least[piece.key], piece.number);
    most[piece.key] = std::max(most[piece.key], piece.number);
  }
  for (size_t key = 0; key <= kSteps; key++) distances[key] = most[key] + 1;
  distances[kTime] = most[kTime] - least[kTime] + kPauseUs;
  distances[kSteps] = most[kSteps] < 0 ? 0 : most[kSteps] - least[kSteps] + 1;
  distances[kCorrelation] = distances[kFlow] = std::max(distances[kCorrelation], distances[kFlow]);
  return distances;
}

/// Metadata, marks and the span of the whole trace come once.
bool comes_once(std::string_view event) {
  const size_t phase = event.find("\"ph\": \"");
  const char kind = phase == std::string_view::npos ? '?' : event[phase + 7];
  return kind == 'M' || kind == 'i' || event.find("\"cat\": \"Trace\"") != std::string_view::npos;
}

/// Adds to the number behind `key` in the event that has `mark`.
void lengthen(std::string& events, std::string_view mark, std::string_view key, int64_t by) {
  const size_t event = events.find(mark);
  const size_t place = event == std::string::npos ? event : events.find(key, event);
  if (place == std::string::npos) return;
  const size_t digits = place + key.size();
  const size_t length = events.find_first_not_of("0123456789", digits) - digits;
  events.replace(digits, length, std::to_string(std::stoll(events.substr(digits, length)) + by));
}

void append_number(std::string& out, int64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void write(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail("cannot write");
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t copies = argc == 2 ? std::atoll(argv[1]) : 0;
  if (copies < 1) fail("usage: scale_trace COPIES < TRACE.json > LARGER.json");
  const std::string text = all_of(stdin);
  constexpr std::string_view kBegin = "\"traceEvents\": [", kEnd = "\n  ],", kBetween = ",\n  {\n";
  const size_t begin = text.find(kBegin), end = text.rfind(kEnd);
  if (begin == std::string::npos || end == std::string::npos) fail("this is no trace as Kineto writes it");
  const size_t first = text.find("  {\n", begin);
  std::string repeated, once;
  int64_t events = 0, single = 0;
  for (size_t at = first; at < end;) {
    const size_t next = std::min(text.find(kBetween, at), end);
    const std::string_view event = std::string_view(text).substr(at, next - at);
    const bool is_once = comes_once(event);
    (is_once ? single : events)++;
    std::string& to = is_once ? once : repeated;
    if (!to.empty()) to += ",\n";
    to += event;
    at = next + 2;
  }
  const Pieces pieces = pieces_of(repeated);
  const std::vector<int64_t> distances = distances_of(pieces);
  write(text.substr(0, begin + kBegin.size()) + "\n");
  std::string out;
  for (int64_t copy = 0; copy < copies; copy++) {
    out.clear();
    for (const Piece& piece : pieces.list) {
      out += piece.text;
      append_number(out, piece.number + copy * distances[piece.key]);
    }
    out += pieces.rest;
    out += ",\n";
    write(out);
  }
  const int64_t later_us = (copies - 1) * distances[kTime];
  lengthen(once, "\"cat\": \"Trace\"", "\"dur\": ", later_us);
  lengthen(once, "Record Window End", "\"ts\": ", later_us);
  write(once + text.substr(end));
  if (std::fflush(stdout) != 0) fail("cannot write");
  std::fprintf(stderr, "%lld\n", static_cast<long long>(events * copies + single));
}
