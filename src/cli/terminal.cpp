#include "cli/terminal.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/safe_text.h"
#include "ops/text/text.h"

namespace nl::cli {
namespace {

bool is_capable_terminal(int fd) {
  const char* term = std::getenv("TERM");
  return ::isatty(fd) != 0 && (term == nullptr || std::strcmp(term, "dumb") != 0);
}

double now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

int terminal_width(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 100;
}

}  // namespace

ops::TextStyle stdout_style(Color color) {
  ops::TextStyle style;
  const char* no_color = std::getenv("NO_COLOR");
  const bool wanted =
      color == Color::kAlways || (color == Color::kAuto && (no_color == nullptr || *no_color == '\0'));
  style.color = color == Color::kAlways || (wanted && is_capable_terminal(STDOUT_FILENO));
  style.breaks_lines = ::isatty(STDOUT_FILENO) != 0;
  if (style.breaks_lines) style.width = std::min(terminal_width(STDOUT_FILENO), 160);
  return style;
}

ProgressBar::ProgressBar() : enabled_(is_capable_terminal(STDERR_FILENO)), started_(now()) {}

ProgressBar::~ProgressBar() {
  clear();
}

void ProgressBar::show(const ops::Progress& progress) {
  const std::lock_guard lock(mutex_);
  const double time = now();
  if (!enabled_ || time - started_ < 0.3 || time - last_shown_ < 0.1) return;
  last_shown_ = time;
  constexpr int kBar = 30;  // a line that is broken in two cannot be wiped
  const auto width = static_cast<size_t>(std::clamp(terminal_width(STDERR_FILENO) - kBar, 10, 40));
  const std::string line =
      fmt::format("{} {:3.0f} % [{:<20}]", ops::shortened(progress.what, width), progress.fraction * 100,
                  std::string(static_cast<size_t>(std::clamp(progress.fraction, 0.0, 1.0) * 20), '='));
  write(line);
}

void ProgressBar::clear() {
  const std::lock_guard lock(mutex_);
  if (shown_columns_ == 0) return;
  write("");
  std::fputs("\r", stderr);
  std::fflush(stderr);
  shown_columns_ = 0;
}

/// Blanks wipe what was there: escapes are not wanted by everybody who has a terminal.
void ProgressBar::write(const std::string& line) {
  const size_t columns = ops::screen_width(line);
  const size_t blanks = shown_columns_ > columns ? shown_columns_ - columns : 0;
  const std::string wiped = "\r" + line + std::string(blanks, ' ');
  std::fwrite(wiped.data(), 1, wiped.size(), stderr);
  std::fflush(stderr);
  shown_columns_ = columns;
}

LivePicture::LivePicture() : enabled_(is_capable_terminal(STDERR_FILENO)) {}

LivePicture::~LivePicture() {
  clear();
}

bool LivePicture::show(const std::vector<std::string>& lines) {
  if (!enabled_) return false;
  clear();
  const auto width = static_cast<size_t>(terminal_width(STDERR_FILENO) - 1);  // a broken line counts as two
  std::string text;
  for (const std::string& line : lines) text += ops::shortened(text_for_people(line, false), width) + "\n";
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  shown_ = lines.size();
  return true;
}

void LivePicture::clear() {
  if (shown_ == 0) return;
  const std::string wipe = fmt::format("\x1b[{}A\x1b[J", shown_);  // up, and all below is wiped
  (void)std::fwrite(wipe.data(), 1, wipe.size(), stderr);
  std::fflush(stderr);
  shown_ = 0;
}

}  // namespace nl::cli
