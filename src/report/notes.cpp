#include "report/notes.h"

#include <cmark.h>
#include <fmt/core.h>

#include <cstdlib>
#include <ctime>
#include <memory>

#include "base/text.h"
#include "report/escape.h"

namespace nl::report {
namespace {

constexpr size_t kAboutLetters = 300;
constexpr size_t kUserLetters = 100;
constexpr int kMostDepth = 12;
constexpr int kLastLevel = 6;

struct FreeNode {
  void operator()(cmark_node* node) const { cmark_node_free(node); }
};
using Document = std::unique_ptr<cmark_node, FreeNode>;

/// Puts the children where the node is, and takes the node away.
void unwrap(cmark_node* node) {
  while (cmark_node* child = cmark_node_first_child(node)) cmark_node_insert_before(node, child);
  cmark_node_unlink(node);
  cmark_node_free(node);
}

void replace(cmark_node* node, cmark_node* with) {
  cmark_node_replace(node, with);
  cmark_node_free(node);
}

cmark_node* text_node(const char* text) {
  cmark_node* node = cmark_node_new(CMARK_NODE_TEXT);
  cmark_node_set_literal(node, text);
  return node;
}

cmark_node* paragraph_of(const char* text) {
  cmark_node* node = cmark_node_new(CMARK_NODE_PARAGRAPH);
  cmark_node_append_child(node, text_node(text));
  return node;
}

bool leads_to_web(const char* url) {
  const std::string address = lower(url == nullptr ? "" : url);
  for (const char* scheme : {"https://", "http://", "mailto:"}) {
    if (address.starts_with(scheme)) return true;
  }
  return false;
}

bool is_empty(cmark_node* node) {
  return cmark_node_first_child(node) == nullptr;
}

/// Does it have an end of its own in a walk, and others inside?
bool opens(cmark_node* node) {
  switch (cmark_node_get_type(node)) {
    case CMARK_NODE_BLOCK_QUOTE:
    case CMARK_NODE_LIST:
    case CMARK_NODE_EMPH:
    case CMARK_NODE_STRONG:
    case CMARK_NODE_LINK:
    case CMARK_NODE_IMAGE:
      return true;
    default:
      return false;
  }
}

void make_harmless(cmark_node* node) {
  switch (cmark_node_get_type(node)) {
    case CMARK_NODE_HTML_BLOCK:
      replace(node, paragraph_of(cmark_node_get_literal(node)));
      break;
    case CMARK_NODE_HTML_INLINE:
      replace(node, text_node(cmark_node_get_literal(node)));
      break;
    case CMARK_NODE_IMAGE:
      unwrap(node);
      break;
    case CMARK_NODE_LINK:
      if (is_empty(node) || !leads_to_web(cmark_node_get_url(node))) unwrap(node);
      break;
    case CMARK_NODE_HEADING:  // below those of the page
      cmark_node_set_heading_level(node, std::min(cmark_node_get_heading_level(node) + 2, kLastLevel));
      if (is_empty(node)) unwrap(node);
      break;
    default:
      break;
  }
}

/// Marks that turn or hide text are shown; tabs stay blanks.
std::string visible_lines(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    std::string blank;
    for (const char c : line) blank += c == '\t' ? std::string(4, ' ') : std::string(1, c);
    out += visible(blank, text.size() * 4) + "\n";
  }
  return out;
}

/// The text as it was written.
Document unread(const std::string& text) {
  Document document(cmark_node_new(CMARK_NODE_DOCUMENT));
  cmark_node* const block = cmark_node_new(CMARK_NODE_CODE_BLOCK);
  cmark_node_set_literal(block, text.c_str());
  cmark_node_append_child(document.get(), block);
  return document;
}

/// The walk is over before a node goes. What nests deeper than anybody writes is not read as Markdown: as
/// text it would grow with the product of its lines and its depth.
Document harmless(const std::string& given) {
  const std::string text = visible_lines(given);
  Document document(cmark_parse_document(text.data(), text.size(), CMARK_OPT_VALIDATE_UTF8));
  std::vector<cmark_node*> nodes;
  int depth = 0, deepest = 0;
  cmark_iter* const walk = cmark_iter_new(document.get());
  for (cmark_event_type event = cmark_iter_next(walk); event != CMARK_EVENT_DONE;
       event = cmark_iter_next(walk)) {
    cmark_node* const node = cmark_iter_get_node(walk);
    if (event == CMARK_EVENT_ENTER) nodes.push_back(node);
    if (opens(node)) depth += event == CMARK_EVENT_ENTER ? 1 : -1;
    deepest = std::max(deepest, depth);
  }
  cmark_iter_free(walk);
  if (deepest > kMostDepth) return unread(text);
  for (cmark_node* node : nodes) make_harmless(node);
  return document;
}

std::string taken(char* text) {
  std::string out(text);
  std::free(text);  // NOLINT: the library allocated it so
  return out;
}

/// The same everywhere: reports of one run are equal, wherever they are made.
std::string time_words(int64_t unix_ns) {
  if (unix_ns == 0) return "at a time that the file does not say";
  const std::time_t seconds = unix_ns / 1'000'000'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min);
}

/// "kernel gemm", "finding idle", "the comparison with 0123456789ab".
std::pair<std::string, std::string> subject_words(const std::string& about) {
  const size_t colon = about.find(':');
  if (colon == std::string::npos) return {"the run", ""};
  const std::string kind = about.substr(0, colon), name = about.substr(colon + 1);
  if (kind == "compare") return {"the comparison with run", name.substr(0, 12)};
  return {"the " + kind, name};
}

std::string without_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string quoted_lines(const std::string& text) {
  std::string out;
  for (const std::string& line : split(without_end(text), '\n'))
    out += line.empty() ? ">\n" : "> " + line + "\n";
  return out;
}

}  // namespace

std::string html_of_markdown(const std::string& text) {
  std::string out = taken(cmark_render_html(harmless(text).get(), CMARK_OPT_DEFAULT));
  for (const std::string_view tag : {"<br />", "<hr />"}) {  // the text itself has no < any more
    for (size_t at = out.find(tag); at != std::string::npos; at = out.find(tag, at)) out.erase(at + 3, 2);
  }
  return out;
}

std::string safe_markdown(const std::string& text) {
  return taken(cmark_render_commonmark(harmless(text).get(), CMARK_OPT_DEFAULT, 0));
}

std::string notes_html(const std::vector<ReportedNote>& notes) {
  if (notes.empty()) return "";
  std::string out = "<section id=\"notes\"><h2>Notes</h2>";
  for (const ReportedNote& note : notes) {
    const auto [kind, name] = subject_words(note.about);
    out += fmt::format("<article class=\"note\"><p class=\"stake\">{}, {}, on {}{}</p>{}</article>\n",
                       note.user.empty() ? "somebody" : html_name(note.user, kUserLetters),
                       time_words(note.written_at_ns), html(kind),
                       name.empty() ? "" : " <code>" + html_name(name, kAboutLetters) + "</code>",
                       html_of_markdown(note.text));
  }
  return out + "</section>\n";
}

std::string notes_markdown(const std::vector<ReportedNote>& notes) {
  if (notes.empty()) return "";
  std::string out = "<a id=\"notes\"></a>\n\n## Notes\n\n";
  for (const ReportedNote& note : notes) {
    const auto [kind, name] = subject_words(note.about);
    out += fmt::format("{}, {}, on {}{}:\n\n{}\n",
                       note.user.empty() ? "somebody" : markdown(visible(note.user, kUserLetters)),
                       time_words(note.written_at_ns), kind,
                       name.empty() ? "" : " " + markdown_name(name, kAboutLetters),
                       quoted_lines(safe_markdown(note.text)));
  }
  return out;
}

}  // namespace nl::report
