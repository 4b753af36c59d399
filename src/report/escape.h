#pragma once
// Names come from profiles that anybody may have written. Every name in a report goes through these
// functions: first it is made visible, then it is escaped for the place where it stands.

#include <string>
#include <string_view>

namespace nl::report {

/// Characters of a name that a table shows.
inline constexpr size_t kNameCharacters = 300;

/// Control characters, marks that turn or hide text, and bytes that are no UTF-8 become readable, like
/// ⟨U+202E⟩ and ⟨0xFF⟩. Longer texts lose their middle; of very long ones the length is said.
std::string visible(std::string_view text, size_t most = kNameCharacters);

/// Would visible() change it?
bool is_plain(std::string_view text, size_t most = kNameCharacters);

/// For HTML text and quoted attributes. Escapes only; names must be visible() first.
std::string html(std::string_view text);
/// A name as visible and escaped HTML.
std::string html_name(std::string_view text, size_t most = kNameCharacters);

/// Markdown that shows the text and nothing else, in a line or a cell of a table.
std::string markdown(std::string_view text);
/// A name in Markdown: as code where nothing in it can end the code.
std::string markdown_name(std::string_view text, size_t most = kNameCharacters);

}  // namespace nl::report
