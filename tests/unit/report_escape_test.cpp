#include <gtest/gtest.h>

#include "report/escape.h"
#include "report/sql.h"
#include "report/svg.h"
#include "report/table.h"

namespace nl::report {
namespace {

TEST(Visible, KeepsOrdinaryText) {
  for (const std::string text : {"void gemm<float, 4>(float const*)", "größe 長さ 🙂", ""}) {
    EXPECT_EQ(visible(text), text);
    EXPECT_TRUE(is_plain(text));
  }
}

TEST(Visible, ShowsWhatHidesOrTurnsText) {
  EXPECT_EQ(visible("a\nb\tc\x7f"), "a⟨U+000A⟩b⟨U+0009⟩c⟨U+007F⟩");
  EXPECT_EQ(visible(std::string("a\0b", 3)), "a⟨U+0000⟩b");
  EXPECT_EQ(visible("evil\u202Egpj\u200B\uFEFF\u2066"), "evil⟨U+202E⟩gpj⟨U+200B⟩⟨U+FEFF⟩⟨U+2066⟩");
  EXPECT_EQ(visible("\u0085\u2028"), "⟨U+0085⟩⟨U+2028⟩");
}

TEST(Visible, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(visible("a\xFF\xC0\xAFz"), "a⟨0xFF⟩⟨0xC0⟩⟨0xAF⟩z");        // never valid, overlong
  EXPECT_EQ(visible("\xED\xA0\x80"), "⟨0xED⟩⟨0xA0⟩⟨0x80⟩");            // surrogate
  EXPECT_EQ(visible("cut\xE2\x82"), "cut⟨0xE2⟩⟨0x82⟩");                // ends too early
  EXPECT_EQ(visible("\xF4\x90\x80\x80"), "⟨0xF4⟩⟨0x90⟩⟨0x80⟩⟨0x80⟩");  // beyond the last code point
}

TEST(Visible, ShortensAndSaysTheLength) {
  const std::string seen = visible(std::string(100'000, 'x') + "end", 40);
  EXPECT_EQ(seen, std::string(30, 'x') + "…" + std::string(7, 'x') + "end (100,003 bytes)");
  EXPECT_EQ(visible("abcdefghij", 8), "abcdef…ij");
  std::string wide;
  for (int i = 0; i < 50; i++) wide += "長";
  EXPECT_EQ(visible(wide, 4), "長長長…長");
}

TEST(Html, EscapesTextAndAttributes) {
  EXPECT_EQ(html("<img src=x onerror=alert(1)> & \"it's\""),
            "&lt;img src=x onerror=alert(1)&gt; &amp; &quot;it&#39;s&quot;");
  EXPECT_EQ(html_name("</style>\n<script>"), "&lt;/style&gt;⟨U+000A⟩&lt;script&gt;");
}

TEST(Markdown, NamesCannotEndTheirCell) {
  EXPECT_EQ(markdown_name("gemm<float>"), "`gemm<float>`");
  EXPECT_EQ(markdown_name("a|b"), "a&#124;b");
  EXPECT_EQ(markdown_name("a`b"), "a&#96;b");
  EXPECT_EQ(markdown_name("](javascript:alert(1))"), "`](javascript:alert(1))`");
  EXPECT_EQ(markdown_name("`](javascript:alert(1))"), "&#96;&#93;(javascript:alert(1))");
  EXPECT_EQ(markdown_name("a\\"), "a&#92;");
  EXPECT_EQ(markdown_name("   "), "   ");
}

TEST(Markdown, TextIsNoMarkup) {
  EXPECT_EQ(markdown("*a* <b> [c] #d"), "&#42;a&#42; &#60;b&#62; &#91;c&#93; &#35;d");
  EXPECT_EQ(markdown("snake_case_name _x_ __y"), "snake_case_name &#95;x&#95; &#95;&#95;y");
  EXPECT_EQ(markdown("https://a.example www.b.example aten::mm"),
            "https&#58;//a.example www&#46;b.example aten::mm");
}

TEST(Svg, WritesTheSameNumbersEverywhere) {
  EXPECT_EQ(coordinate(1.0), "1");
  EXPECT_EQ(coordinate(-0.001), "0");
  EXPECT_EQ(coordinate(12.345), "12.35");
  EXPECT_EQ(coordinate(1e6), "1000000");
}

TEST(Svg, EscapesTexts) {
  const std::string svg = Svg(10, 10, "c", "a \"label\"").text(1, 2, "</svg><script>", "t").str();
  EXPECT_NE(svg.find("aria-label=\"a &quot;label&quot;\""), std::string::npos);
  EXPECT_NE(svg.find("&lt;/svg&gt;&lt;script&gt;</text></svg>"), std::string::npos);
}

TEST(Sql, QuotesNamesAndHashesWhatCannotBeRead) {
  EXPECT_EQ(is_one_of("name", {"a", "it's"}), "name IN ('a', 'it''s')");
  EXPECT_EQ(is_one_of("name", {"a\nb"}),
            "sha256(name) IN ('7e18f737311b2dc3b2f269dd78396b0351f14fb66efa879f768cb23181883c78')");
}

TEST(Table, MillisecondsAreExact) {
  EXPECT_EQ(milliseconds(12'789'918).text, "12.789918");
  EXPECT_EQ(milliseconds(1'234'567'000'001).text, "1,234,567.000001");
  EXPECT_EQ(milliseconds(-5).text, "-0.000005");
  EXPECT_EQ(milliseconds(std::nullopt).text, "-");
}

TEST(Table, MarkdownHasOneLineARow) {
  Table table{{"Name", "", "Calls"}, {}, {}};
  table.rows.push_back({name("a|b\nc"), bar(0.5), number("1,000")});
  EXPECT_EQ(table.markdown(), "| Name | Calls |\n|---|---:|\n| a&#124;b⟨U+000A⟩c | 1,000 |\n");
}

}  // namespace
}  // namespace nl::report
