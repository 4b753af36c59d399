#pragma once
// What a page consists of: chapters of sections, the same for Markdown and HTML.

#include <string>
#include <utility>
#include <vector>

#include "report/table.h"

namespace nl::report {

struct LegendEntry {
  std::string css_class;  ///< colour
  std::string text;
};

struct Section {
  std::string id;
  std::string title;
  std::string chart = {};                         ///< HTML with SVG; empty if there is none
  std::vector<LegendEntry> legend = {};           ///< of the chart
  std::pair<std::string, std::string> axis = {};  ///< left and right end of the time below the chart
  std::vector<std::string> notes = {};            ///< sentences
  Table table = {};
  bool folded = false;  ///< long and seldom read
};

struct Chapter {
  std::string id;
  std::string title;
  std::vector<Section> sections;
};

}  // namespace nl::report
