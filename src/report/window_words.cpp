#include "report/window_words.h"

#include "base/number_text.h"
#include "report/escape.h"

namespace nl::report {
namespace {

constexpr size_t kMostSpanBytes = 120;

std::string gap_words(const analyze::OutsideAnswer& part) {
  if (!part.host_span) return "";
  return " (longest gap " + duration_text(*part.longest_gap_ns) + ", host in " +
         visible(*part.host_span, kMostSpanBytes) + ")";
}

}  // namespace

std::string window_words(const analyze::WindowAnswer& window) {
  std::string out = duration_text(window.total_ns);
  if (!window.outside.empty()) out += " of " + duration_text(window.capture_ns);
  return window.why ? out + ": " + *window.why : out;
}

std::string outside_words(const analyze::WindowAnswer& window) {
  std::string out;
  for (const analyze::OutsideAnswer* part : window.shown_outside())
    out += (out.empty() ? "Outside: " : "; ") + duration_text(part->dur_ns) + ", " + part->why +
           gap_words(*part);
  return out.empty() ? out : out + ".";
}

}  // namespace nl::report
