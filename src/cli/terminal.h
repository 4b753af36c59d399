#pragma once
// What the terminal supports, and a progress bar. The bar goes to stderr, so it never mixes with data.

#include <mutex>
#include <string>
#include <vector>

#include "ops/operation.h"

namespace nl::cli {

enum class Color { kAuto, kAlways, kNever };

/// For text on stdout; auto means a terminal without NO_COLOR and not TERM=dumb.
ops::TextStyle stdout_style(Color color);

class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(const ops::Progress& progress);
  /// Wipes the bar; called before anything else is written.
  void clear();

 private:
  void write(const std::string& line);
  bool enabled_;
  size_t shown_columns_ = 0;
  double started_;
  double last_shown_ = 0;
  std::mutex mutex_;
};

/// A few lines at the end of a terminal's screen, each time drawn over those before. Nothing elsewhere.
class LivePicture {
 public:
  LivePicture();
  ~LivePicture();
  LivePicture(const LivePicture&) = delete;
  LivePicture& operator=(const LivePicture&) = delete;

  /// False where nobody can see it.
  bool show(const std::vector<std::string>& lines);
  /// Wipes the lines; called before anything else is written.
  void clear();

 private:
  bool enabled_;
  size_t shown_ = 0;
};

}  // namespace nl::cli
