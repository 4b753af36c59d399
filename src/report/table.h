#pragma once
// A table in a report, built once and shown in both Markdown and HTML.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/known.h"

namespace nl::report {

struct Cell {
  enum class Kind { kText, kNumber, kName, kBar, kPicture };
  Kind kind;
  std::string text;
  double share = 0;                     ///< of a bar, 0 to 1
  std::string short_name = {};          ///< of a name; HTML shows it first
  std::vector<std::string> below = {};  ///< lines in small letters under it, in HTML only
  std::string link = {};                ///< of a text: to a page of ours, in HTML only
};

inline Cell words(std::string text) {
  return {Cell::Kind::kText, std::move(text)};
}
/// A name of the profile: anything may be in it.
inline Cell name(std::string text) {
  return {Cell::Kind::kName, std::move(text)};
}
inline Cell name(std::string text, std::string short_name) {
  return {Cell::Kind::kName, std::move(text), 0, std::move(short_name)};
}
inline Cell number(std::string text) {
  return {Cell::Kind::kNumber, std::move(text)};
}
/// Only for the eye: HTML draws it, Markdown leaves its column out.
inline Cell bar(double share) {
  return {Cell::Kind::kBar, "", share};
}
/// SVG of ours, only for the eye like a bar.
inline Cell picture(std::string svg) {
  return {Cell::Kind::kPicture, std::move(svg)};
}
inline Cell with_below(Cell cell, std::vector<std::string> lines) {
  cell.below = std::move(lines);
  return cell;
}

inline Cell linked(std::string text, std::string page) {
  Cell cell = words(std::move(text));
  cell.link = std::move(page);
  return cell;
}

/// "-" for none.
Cell count(std::optional<int64_t> value);
Cell duration(std::optional<int64_t> ns);
Cell signed_duration(std::optional<int64_t> ns);
Cell share(std::optional<double> ratio);
Cell share_bar(std::optional<double> ratio);
/// Whole and thousandth ms are exact: 12.789918.
Cell milliseconds(int64_t ns);
Cell milliseconds(std::optional<double> ns);
/// The same with its sign: +12.789918.
Cell signed_milliseconds(int64_t ns);
/// A value in its unit of metrics.def: ns, B, count, ratio, FLOP, FLOP/s, B/s.
std::string value_text(double value, std::string_view unit);
/// The same; "-" if it is absent.
Cell value_cell(const Known<double>& value, std::string_view unit);
Cell value_cell(const std::optional<double>& value, std::string_view unit);

struct Table {
  std::vector<std::string> columns;  ///< titles
  std::vector<std::vector<Cell>> rows;
  std::string more;  ///< what the table leaves out; empty if nothing

  bool empty() const { return rows.empty(); }
  std::string markdown() const;
  std::string html() const;
};

}  // namespace nl::report
