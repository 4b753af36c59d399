#include "base/live_lines.h"

#include <utility>

namespace nl {
namespace {

thread_local LiveLinesScope* innermost_lines = nullptr;

}  // namespace

LiveLinesScope::LiveLinesScope(LiveLines lines) : lines_(std::move(lines)), around_(innermost_lines) {
  innermost_lines = this;
}

LiveLinesScope::~LiveLinesScope() {
  innermost_lines = around_;
}

void say_line(const std::string& line) {
  if (innermost_lines != nullptr) innermost_lines->lines_.say(line);
}

bool show_picture(const std::vector<std::string>& lines) {
  return innermost_lines != nullptr && innermost_lines->lines_.picture(lines);
}

}  // namespace nl
