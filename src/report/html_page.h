#pragma once
// What all HTML reports have in common: the head of a self-contained page, and sections shown as figures.

#include <string>
#include <vector>

#include "report/sections.h"

namespace nl::report {

/// Everything up to the begin of the body.
std::string page_head(const std::string& title);
/// A title with words about the hardware behind it, where both fit what browsers and search lists show.
std::string title_with(const std::string& title, const std::string& hardware);
std::string notes_html(const std::vector<std::string>& notes);
std::string legend_html(const std::vector<LegendEntry>& legend);
/// `below` is HTML for the end of the figure.
std::string figure_html(const Section& section, const std::string& below = "");
/// The sections of a chapter, each as a figure.
std::string chapter_html(const Chapter& chapter);

}  // namespace nl::report
