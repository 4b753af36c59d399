// The hand-labelled names of tests/data/taxonomy_labels.tsv. Patterns were tuned on the split train and
// frozen before held_out was measured: 276 of 277 right. But its names had been read when they were labelled,
// and come from the same traces. Of 95 kernel names from elsewhere, unseen until the patterns were frozen, 75
// were right; of 53 further ones, after the patterns were widened, 45. So this test guards what is known; it
// does not promise 97 % for names from elsewhere.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "analyze/names/taxonomy.h"
#include "source_folder.h"

namespace nl::analyze {
namespace {

struct Label {
  std::string kind;
  std::string split;
  std::string op_class;
  std::string name;
};

char unescaped(char c) {
  return c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
}

std::string unescape(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '\\' && text.compare(i, 2, "\\x") == 0) {
      out += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else {
      out += text[i] == '\\' ? unescaped(text[++i]) : text[i];
    }
  }
  return out;
}

std::vector<Label> read_labels() {
  std::ifstream file(source_folder() + "/tests/data/taxonomy_labels.tsv");
  std::vector<Label> labels;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == '\t') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    if (fields.size() == 4) labels.push_back({fields[0], fields[1], fields[2], unescape(fields[3])});
  }
  return labels;
}

OpClass classify(const Taxonomy& taxonomy, const Label& label) {
  if (label.kind == "kernel") return taxonomy.kernel(label.name).op_class;
  if (label.kind == "op") return taxonomy.op(label.name);
  return taxonomy.layer("", label.name);
}

/// The share of a split that is right; what is wrong goes into `faults`.
double share_right(const Taxonomy& taxonomy, const std::string& split, std::string& faults) {
  int all = 0;
  int right = 0;
  for (const Label& label : read_labels()) {
    if (label.split != split) continue;
    all++;
    const auto found = op_class_name(classify(taxonomy, label));
    if (found == label.op_class) {
      right++;
    } else {
      faults += label.kind + " is " + label.op_class + ", found " + std::string(found) + ": " +
                label.name.substr(0, 300) + "\n";
    }
  }
  return all == 0 ? 0 : static_cast<double>(right) / all;
}

TEST(TaxonomyLabels, EveryTrainNameIsRight) {
  auto taxonomy = Taxonomy::built_in();
  ASSERT_TRUE(taxonomy) << taxonomy.error().message;
  std::string faults;
  const double share = share_right(*taxonomy, "train", faults);
  EXPECT_GE(share, 0.99) << faults;
}

TEST(TaxonomyLabels, HeldOutNamesAreRight) {
  auto taxonomy = Taxonomy::built_in();
  ASSERT_TRUE(taxonomy) << taxonomy.error().message;
  std::string faults;
  const double share = share_right(*taxonomy, "held_out", faults);
  RecordProperty("share_right", std::to_string(share));
  EXPECT_GE(share, 0.97) << share << "\n" << faults;
}

TEST(TaxonomyLabels, TheSetIsLargeAndDistinct) {
  const auto labels = read_labels();
  int kernels = 0;
  int held_out = 0;
  std::vector<std::string> names;
  for (const Label& label : labels) {
    EXPECT_TRUE(find_op_class(label.op_class)) << label.op_class;
    kernels += label.kind == "kernel" ? 1 : 0;
    held_out += label.split == "held_out" ? 1 : 0;
    names.push_back(label.kind + label.name);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_GE(kernels, 300);
  EXPECT_GE(held_out * 3, static_cast<int>(labels.size()) * 9 / 10);
}

}  // namespace
}  // namespace nl::analyze
