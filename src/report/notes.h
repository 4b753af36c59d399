#pragma once
// Notes of people in reports. They are Markdown that anybody with the right to write may have sent: tags of
// HTML become text, pictures their description, and links lead nowhere but to the web and to mail.

#include <cstdint>
#include <string>
#include <vector>

#include "base/described.h"

namespace nl::report {

struct ReportedNote {
  int64_t note = 0;
  std::string about = {};  ///< "kernel:NAME" and so on; empty: the run
  std::string user = {};
  int64_t written_at_ns = 0;
  std::string text = {};

  static constexpr auto fields() {
    using R = ReportedNote;
    return std::tuple{field("note", &R::note), field("about", &R::about), field("user", &R::user),
                      field("written_at_ns", &R::written_at_ns), field("text", &R::text)};
  }
};

/// Nothing if there is no note.
std::string notes_html(const std::vector<ReportedNote>& notes);
std::string notes_markdown(const std::vector<ReportedNote>& notes);

/// The Markdown of one note as HTML.
std::string html_of_markdown(const std::string& text);
/// The same as Markdown that does no more than the HTML.
std::string safe_markdown(const std::string& text);

}  // namespace nl::report
