// The rules of a taxonomy that look at a name alone, matched by LazyPattern and by re2::FilteredRE2, in
// turns: CPU time to make the table, to classify each name once with a new table, and to classify all of them
// again (docs/adr/0023-libraries-weighed.md). FilteredRE2 leaves the search for its literals to the caller;
// here PatternText does it, as it does for LazyPattern. usage: patterns TAXONOMY.yaml NAMES ROUNDS     NAMES:
// raw names of kernels, one a line; prints one JSON line per round

#include <fmt/core.h>
#include <re2/filtered_re2.h>
#include <re2/re2.h>
#include <time.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "analyze/names/kernel_name.h"
#include "analyze/names/lazy_pattern.h"
#include "base/yaml.h"

namespace {

using nl::analyze::PatternText;

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "patterns: {}\n", why);
  std::exit(2);
}

void take_rule(const nl::YamlNode& value, std::vector<std::string>& patterns) {
  if (value.is_text()) patterns.push_back(value.text);
  if (!value.is_map() || value.find("scope") != nullptr || value.find("functor") != nullptr) return;
  if (const auto* name = value.find("name")) patterns.push_back(name->text);
}

std::vector<std::string> patterns_of(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const auto root = nl::parse_yaml(text.str(), path);
  if (!root || root->find("rules") == nullptr) fail("no rules");
  std::vector<std::string> patterns;
  for (const auto& block : root->find("rules")->items) {
    for (const auto& op_class : block.members) {
      take_rule(op_class.value, patterns);
      for (const auto& item : op_class.value.items) take_rule(item, patterns);
      for (const auto& family : op_class.value.members) take_rule(family.value, patterns);
    }
  }
  return patterns;
}

std::vector<PatternText> names_of(const char* path) {
  std::ifstream file(path);
  std::vector<PatternText> names;
  for (std::string line; std::getline(file, line);) {
    std::string name = nl::analyze::parse_kernel_name(line).short_name.substr(0, 1024);
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    names.emplace_back(std::move(name));
  }
  return names;
}

class LazyTable {
 public:
  explicit LazyTable(const std::vector<std::string>& patterns) {
    for (const auto& text : patterns) patterns_.push_back(std::make_unique<nl::analyze::LazyPattern>(text));
  }
  int find(const PatternText& name) const {
    for (size_t i = 0; i < patterns_.size(); i++) {
      if (patterns_[i]->fits(name)) return static_cast<int>(i);
    }
    return -1;
  }

 private:
  std::vector<std::unique_ptr<nl::analyze::LazyPattern>> patterns_;
};

class FilteredTable {
 public:
  explicit FilteredTable(const std::vector<std::string>& patterns) : filtered_(kLeastLiteral) {
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);
    options.set_never_capture(true);
    options.set_dot_nl(true);
    for (const auto& text : patterns) {
      int id = 0;
      if (filtered_.Add("\\A(?:" + text + ")\\z", options, &id) != re2::RE2::NoError)
        fail("bad pattern: " + text);
    }
    filtered_.Compile(&literals_);
  }
  int find(const PatternText& name) {
    found_.clear();
    for (size_t i = 0; i < literals_.size(); i++) {
      if (name.contains(literals_[i])) found_.push_back(static_cast<int>(i));
    }
    return filtered_.FirstMatch(re2::StringPiece(name.text().data(), name.text().size()), found_);
  }

 private:
  static constexpr int kLeastLiteral = 2;
  re2::FilteredRE2 filtered_;
  std::vector<std::string> literals_;
  std::vector<int> found_;
};

int64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

template <class Table>
std::string measured(const std::vector<std::string>& patterns, const std::vector<PatternText>& names,
                     std::vector<int>& found) {
  const int64_t begin = cpu_ns();
  Table table(patterns);
  const int64_t made = cpu_ns();
  found.clear();
  for (const auto& name : names) found.push_back(table.find(name));
  const int64_t first = cpu_ns();
  for (const auto& name : names) {
    if (table.find(name) < -1) fail("never");
  }
  const int64_t again = cpu_ns();
  return fmt::format("{{\"make\":{},\"first\":{},\"again\":{}}}", made - begin, first - made, again - first);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) fail("usage: patterns TAXONOMY.yaml NAMES ROUNDS");
  const auto patterns = patterns_of(words[1]);
  const auto names = names_of(words[2]);
  std::vector<int> lazy, filtered;
  for (int i = 0; i < std::atoi(words[3]); i++) {
    const bool swap = i % 2 == 1;
    std::string of_filtered = swap ? measured<FilteredTable>(patterns, names, filtered) : "";
    const std::string of_lazy = measured<LazyTable>(patterns, names, lazy);
    if (!swap) of_filtered = measured<FilteredTable>(patterns, names, filtered);
    if (lazy != filtered) fail("the tables differ in a name");
    fmt::print("{{\"patterns\":{},\"names\":{},\"lazy\":{},\"filtered\":{}}}\n", patterns.size(),
               names.size(), of_lazy, of_filtered);
  }
}
