#pragma once
// LiveLines: what people who watch a long call are shown while it runs, besides its progress: a line whenever
// something happens, and a picture of how things stand. A face that can show them enters a LiveLinesScope on
// the thread that does the work; elsewhere nothing is shown. See CallScope for why no signature has them.

#include <functional>
#include <string>
#include <vector>

namespace nl {

struct LiveLines {
  std::function<void(const std::string& line)> say;
  /// Lines that take the place of those before; false where nobody can see that.
  std::function<bool(const std::vector<std::string>& lines)> picture;
};

class LiveLinesScope {
 public:
  explicit LiveLinesScope(LiveLines lines);
  ~LiveLinesScope();
  LiveLinesScope(const LiveLinesScope&) = delete;
  LiveLinesScope& operator=(const LiveLinesScope&) = delete;

 private:
  friend void say_line(const std::string& line);
  friend bool show_picture(const std::vector<std::string>& lines);

  LiveLines lines_;
  LiveLinesScope* around_;
};

void say_line(const std::string& line);
bool show_picture(const std::vector<std::string>& lines);

}  // namespace nl
