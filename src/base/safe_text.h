#pragma once
// Names in profiles, labels and files may hold what a terminal obeys (cursor moves, titles, the clipboard,
// text that runs backwards). Text for people and JSON leave through these functions, so nothing of it reaches
// a terminal.

#include <string>
#include <string_view>

namespace nl {

/// Line breaks, tabs and, `with_colors`, our own styles stay. Other control characters, signs that turn the
/// direction of text and bytes that are no UTF-8 become U+FFFD.
std::string text_for_people(std::string_view text, bool with_colors);

/// The same document: what text_for_people would replace is written as \u escapes.
std::string json_for_terminals(std::string json);

}  // namespace nl
