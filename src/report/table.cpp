#include "report/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "report/escape.h"
#include "report/svg.h"

namespace nl::report {
namespace {

using Kind = Cell::Kind;

Kind kind_of_column(const Table& table, size_t column) {
  return table.rows.empty() ? Kind::kText : table.rows[0][column].kind;
}

std::string markdown_cell(const Cell& cell) {
  switch (cell.kind) {
    case Kind::kName:
      return cell.text.empty() ? "(no name)" : markdown_name(cell.text);
    case Kind::kNumber:
      return cell.text;
    default:
      return markdown(cell.text);
  }
}

bool is_for_the_eye(Kind kind) {
  return kind == Kind::kBar || kind == Kind::kPicture;
}

std::string below_html(const Cell& cell) {
  std::string out;
  for (const std::string& line : cell.below)
    out += "<span class=\"full\">" + html_name(line, 200) + "</span>";
  return out;
}

/// The short name, and the full one below it where that says more.
std::string html_of_name(const Cell& cell) {
  if (cell.text.empty()) return "(no name)";
  if (cell.short_name.empty() || cell.short_name == cell.text) return html_name(cell.text);
  return html_name(cell.short_name, 120) + "<span class=\"full\">" + html_name(cell.text, 200) + "</span>";
}

std::string html_of_text(const Cell& cell) {
  const std::string text = html_name(cell.text, 2000);
  return cell.link.empty() ? text : "<a href=\"" + nl::report::html(cell.link) + "\">" + text + "</a>";
}

std::string html_cell(const Cell& cell) {
  switch (cell.kind) {
    case Kind::kName:
      return "<td class=\"name\">" + html_of_name(cell) + below_html(cell) + "</td>";
    case Kind::kNumber:
      return "<td class=\"n\">" + nl::report::html(cell.text) + below_html(cell) + "</td>";
    case Kind::kPicture:
      return "<td class=\"picture\">" + cell.text + "</td>";
    case Kind::kBar:
      return "<td class=\"bar\">" +
             Svg(100, 8, "bar", percent_text(cell.share), true)
                 .rect(0, 0, std::clamp(cell.share, 0.0, 1.0) * 100, 8, "bar-fill")
                 .str() +
             "</td>";
    default:
      return "<td>" + html_of_text(cell) + below_html(cell) + "</td>";
  }
}

std::string scaled(double value, std::string_view unit) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t i = 0;
  for (; i + 1 < std::size(kPrefixes) && std::fabs(value) >= 1000; i++) value /= 1000;
  return fmt::format("{:.{}f} {}{}", value, i == 0 ? 0 : 2, kPrefixes[i], unit);
}

}  // namespace

Cell count(std::optional<int64_t> value) {
  return number(value ? grouped(*value) : "-");
}

Cell duration(std::optional<int64_t> ns) {
  return number(ns ? duration_text(*ns) : "-");
}

Cell signed_duration(std::optional<int64_t> ns) {
  return number(ns ? signed_duration_text(*ns) : "-");
}

Cell share(std::optional<double> ratio) {
  return number(ratio ? percent_text(*ratio) : "-");
}

Cell share_bar(std::optional<double> ratio) {
  return bar(ratio.value_or(0));
}

Cell milliseconds(int64_t ns) {
  const auto size = static_cast<int64_t>(std::llabs(ns));
  return number(fmt::format("{}{}.{:06}", ns < 0 ? "-" : "", grouped(size / 1'000'000), size % 1'000'000));
}

Cell milliseconds(std::optional<double> ns) {
  return ns ? milliseconds(static_cast<int64_t>(std::llround(*ns))) : number("-");
}

Cell signed_milliseconds(int64_t ns) {
  Cell cell = milliseconds(ns);
  if (ns > 0) cell.text = "+" + cell.text;
  return cell;
}

std::string value_text(double value, std::string_view unit) {
  if (unit == "ratio") return percent_text(value);
  if (unit == "ns") return duration_text(static_cast<int64_t>(std::llround(value)));
  if (unit == "B" && std::fabs(value) < 9e18) return bytes_text(static_cast<int64_t>(value));
  if (unit == "count") return grouped(static_cast<int64_t>(value));
  return scaled(value, unit);
}

Cell value_cell(const Known<double>& value, std::string_view unit) {
  return value_cell(value.optional(), unit);
}

Cell value_cell(const std::optional<double>& value, std::string_view unit) {
  return number(value ? value_text(*value, unit) : "-");
}

std::string Table::markdown() const {
  std::string head = "|", line = "|", body;
  for (size_t c = 0; c < columns.size(); c++) {
    const Kind kind = kind_of_column(*this, c);
    if (is_for_the_eye(kind)) continue;
    head += " " + columns[c] + " |";
    line += kind == Kind::kNumber ? "---:|" : "---|";
  }
  for (const auto& row : rows) {
    body += "|";
    for (const Cell& cell : row) {
      if (!is_for_the_eye(cell.kind)) body += " " + markdown_cell(cell) + " |";
    }
    body += "\n";
  }
  return head + "\n" + line + "\n" + body + (more.empty() ? "" : "\n" + more + "\n");
}

std::string Table::html() const {
  std::string out = "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>";
  for (size_t c = 0; c < columns.size(); c++) {
    const Kind kind = kind_of_column(*this, c);
    if (is_for_the_eye(kind) && columns[c].empty()) {
      out += "<td class=\"bar\"></td>";
      continue;
    }
    out += fmt::format("<th scope=\"col\"{}>{}</th>", kind == Kind::kNumber ? " class=\"n\"" : "",
                       nl::report::html(columns[c]));
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (const Cell& cell : row) out += html_cell(cell);
    out += "</tr>\n";
  }
  out += "</tbody></table></div>";
  return more.empty() ? out : out + "<p class=\"more\">" + nl::report::html(more) + "</p>";
}

}  // namespace nl::report
