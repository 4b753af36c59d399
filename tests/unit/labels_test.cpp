#include "store/labels.h"

#include <gtest/gtest.h>

#include "model/labels.h"
#include "ops/runs/sidecar.h"

namespace nl {
namespace {

using store::LabelOrigin;
using store::LabelValue;

std::string counting(const std::map<std::string, std::string>& source, const std::vector<LabelValue>& kept) {
  const auto labels = store::merge_labels(source, kept);
  return labels.size() == 1 ? store::origin_name(labels[0].effective().origin) : "";
}

TEST(Labels, TheSourceCountsUnlessForced) {
  const LabelValue sidecar{"k", LabelOrigin::kSidecar, "1", false, 90, "a"};
  const LabelValue set{"k", LabelOrigin::kImport, "2", false, 10, "a"};
  const LabelValue user{"k", LabelOrigin::kUser, "3", false, 20, "a"};
  const LabelValue later_set{"k", LabelOrigin::kImport, "2", false, 30, "a"};
  const LabelValue forced{"k", LabelOrigin::kUser, "3", true, 5, "a"};
  EXPECT_EQ(counting({}, {sidecar}), "sidecar");
  EXPECT_EQ(counting({}, {sidecar, set}), "import");
  EXPECT_EQ(counting({}, {sidecar, set, user}), "user");
  EXPECT_EQ(counting({}, {sidecar, later_set, user}), "import");
  EXPECT_EQ(counting({{"k", "0"}}, {sidecar, later_set, user}), "source");
  EXPECT_EQ(counting({{"k", "0"}}, {sidecar, later_set, forced}), "user");
}

TEST(Labels, ValuesAreUtf8WithoutControlCharacters) {
  for (const char* fine : {"x", "größe", "日本", "\xF0\x9F\x98\x80", "a b"}) {
    EXPECT_TRUE(model::check_label_value("k", fine)) << fine;
  }
  for (const char* bad :
       {"", "\n", "\x7f", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x82", "\xf5\x80\x80\x80"}) {
    EXPECT_EQ(model::check_label_value("k", bad).error().code, ErrorCode::kBadInput) << bad;
  }
}

TEST(Labels, OnlyWholeTextsAreNumbers) {
  double number = 0;
  EXPECT_TRUE(model::label_number("8", number) && number == 8);
  EXPECT_TRUE(model::label_number("-0.5e1", number) && number == -5);
  for (const char* text : {"", "8x", " 8", "inf", "nan", "0x10"})
    EXPECT_FALSE(model::label_number(text, number)) << text;
}

TEST(Sidecar, TakesLabelsTagsAndNote) {
  const auto sidecar =
      ops::parse_sidecar("labels: {batch: 8, model: 'a: b'}\ntags: [x, y]\nnote: hi\n", "s").value();
  EXPECT_EQ(sidecar.labels, (std::map<std::string, std::string>{{"batch", "8"}, {"model", "a: b"}}));
  EXPECT_EQ(sidecar.tags, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(sidecar.notes, std::vector<std::string>{"hi"});
  EXPECT_TRUE(ops::parse_sidecar("", "s").value().labels.empty());
}

TEST(Sidecar, SurvivesEveryTruncationAndFlippedByte) {
  const std::string text =
      "labels:\n  model: \"x\\u00e4\"\n  batch: 8\ntags: [a, 'b']\nnote: |\n  one\n  two\n";
  const auto survives = [](const std::string& changed) {
    const auto read = ops::parse_sidecar(changed, "s");
    if (read) return;
    EXPECT_TRUE(read.error().code == ErrorCode::kBadInput || read.error().code == ErrorCode::kLimit)
        << changed;
  };
  for (size_t end = 0; end <= text.size(); end++) survives(text.substr(0, end));
  for (size_t at = 0; at < text.size(); at++) {
    for (const char c : {'\0', '\xff', '[', '{', '&', '*', '!', '?', '-', ':', '\t', '"'}) {
      std::string changed = text;
      changed[at] = c;
      survives(changed);
    }
  }
}

}  // namespace
}  // namespace nl
