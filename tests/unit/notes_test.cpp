// Notes are Markdown of people who may mean harm: what reports make of it.

#include "report/notes.h"

#include <gtest/gtest.h>

namespace nl::report {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Notes, KeepTheirForm) {
  const std::string html =
      html_of_markdown("**Fused** in `gemm`, see [the change](https://example.com/1)\n\n- one\n- two\n");
  EXPECT_TRUE(has(html, "<strong>Fused</strong>")) << html;
  EXPECT_TRUE(has(html, "<code>gemm</code>")) << html;
  EXPECT_TRUE(has(html, "<a href=\"https://example.com/1\">the change</a>")) << html;
  EXPECT_TRUE(has(html, "<li>two</li>")) << html;
}

TEST(Notes, HaveNoTagsNoPicturesAndNoOtherLinks) {
  const char* const kHarm[] = {
      "<script>alert(1)</script>",
      "a <img src=x onerror=alert(1)> b",
      "![seen](https://example.com/pixel.png)",
      "[x](javascript:alert(1))",
      "[x](JaVaScRiPt:alert(1))",
      "[x](data:text/html,hello)",
      "[x](file:///etc/passwd)",
      "[![seen](https://example.com/p.png)](vbscript:x)",
      "<a href=\"javascript:alert(1)\">x</a>",
      "<https://example.com/\"onmouseover=\"x>",
      "[x]: javascript:alert(1)\n\n[x]",
  };
  for (const char* text : kHarm) {
    const std::string html = html_of_markdown(text), again = html_of_markdown(safe_markdown(text));
    for (const std::string& page : {html, again}) {
      for (const char* wrong :
           {"<script", "<img", "href=\"javascript", "href=\"JaVa",
            "href=\"data:", "href=\"file:", "href=\"vbscript", "<a href=\"javascript", "\"onmouseover=\"x\""})
        EXPECT_FALSE(has(page, wrong)) << text << "\n" << page;
    }
  }
  EXPECT_TRUE(has(html_of_markdown("![seen](https://example.com/pixel.png)"), "seen"));
}

TEST(Notes, SayWhoWroteThemAndAboutWhat) {
  const std::vector<ReportedNote> notes = {
      {1, "kernel:gemm<float>", "ann", 1'700'000'000'000'000'000, "slow\n\nsince May"},
      {2, "compare:0123456789abcdef", "bob", 0, "# loud"}};
  const std::string html = notes_html(notes), text = notes_markdown(notes);
  EXPECT_TRUE(has(html, "ann, 2023-11-14 22:13 UTC, on the kernel <code>gemm&lt;float&gt;</code>")) << html;
  EXPECT_TRUE(has(html, "on the comparison with run <code>0123456789ab</code>")) << html;
  EXPECT_TRUE(has(text, "> slow\n>\n> since May\n")) << text;
  EXPECT_EQ(notes_html({}), "");
}

}  // namespace
}  // namespace nl::report
