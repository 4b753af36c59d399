#include "report/html_page.h"

#include <fmt/core.h>

#include "report/escape.h"
#include "report/html_style.h"

namespace nl::report {
namespace {

constexpr size_t kTitleCharacters = 70;

std::string chart_html(const Section& section) {
  if (section.chart.empty()) return "";
  std::string out = section.chart;
  if (!section.axis.second.empty()) {
    out += fmt::format("<div class=\"axis-ends\"><span>{}</span><span>{}</span></div>",
                       html(section.axis.first), html(section.axis.second));
  }
  return out + legend_html(section.legend);
}

}  // namespace

std::string title_with(const std::string& title, const std::string& hardware) {
  return title.size() + hardware.size() <= kTitleCharacters ? title + hardware : title;
}

std::string page_head(const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'\">\n"
         "<title>" +
         html(title) + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n";
}

std::string notes_html(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += (out.empty() ? "" : " ") + html_name(note, 2000);
  return out.empty() ? "" : "<p class=\"notes\">" + out + "</p>";
}

std::string legend_html(const std::vector<LegendEntry>& legend) {
  if (legend.empty()) return "";
  std::string out = "<ul class=\"legend\">";
  for (const LegendEntry& entry : legend)
    out += fmt::format("<li><span class=\"{}\"></span>{}</li>", entry.css_class, html(entry.text));
  return out + "</ul>";
}

std::string figure_html(const Section& section, const std::string& below) {
  std::string body = chart_html(section) + notes_html(section.notes);
  if (!section.table.empty()) {
    body += section.folded
                ? "<details><summary>Show the table</summary>" + section.table.html() + "</details>"
                : section.table.html();
  }
  return fmt::format("<figure id=\"{}\"><h3>{}</h3>{}{}</figure>\n", section.id, html(section.title), body,
                     below);
}

std::string chapter_html(const Chapter& chapter) {
  std::string out = fmt::format("<section id=\"{}\"><h2>{}</h2>\n", chapter.id, html(chapter.title));
  for (const Section& section : chapter.sections) out += figure_html(section);
  return out + "</section>\n";
}

}  // namespace nl::report
