#include "align/name_words.h"

#include <algorithm>
#include <cctype>

#include "align/features.h"

namespace nl::align {
namespace {

constexpr size_t kLongestName = 4096;  // what stands behind is template values

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool is_upper(char c) {
  return std::isupper(static_cast<unsigned char>(c)) != 0;
}

/// Behind the number that begins at `at` if it is written like 0x7f3a; else `at`. Letters in it are no words.
size_t end_of_address(std::string_view name, size_t at) {
  const bool begins = at == 0 || std::isalnum(static_cast<unsigned char>(name[at - 1])) == 0;
  if (!begins || !name.substr(at).starts_with("0x")) return at;
  size_t end = at + 2;
  while (end < name.size() && std::isxdigit(static_cast<unsigned char>(name[end])) != 0) end++;
  return end;
}

/// Words of letters, cut where a capital follows a small letter; digits and single letters are none.
std::vector<uint64_t> words_of(std::string_view name) {
  name = name.substr(0, kLongestName);
  std::vector<uint64_t> words;
  for (size_t i = 0; i < name.size();) {
    i = end_of_address(name, i);
    size_t end = i;
    uint64_t hash = 0;
    while (end < name.size() && is_letter(name[end]) &&
           !(end > i && is_upper(name[end]) && !is_upper(name[end - 1]))) {
      hash = mix(hash, static_cast<uint64_t>(std::tolower(static_cast<unsigned char>(name[end++]))));
    }
    if (end > i + 1) words.push_back(hash);
    i = std::max(end, i + 1);
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace

NameWords::NameWords(std::span<const std::string_view> names) {
  words_.reserve(names.size());
  for (const std::string_view name : names) {
    words_.push_back(words_of(name));
    for (const uint64_t word : words_.back()) names_with_[word]++;
  }
}

int64_t NameWords::weight_of(const std::vector<uint64_t>& words) const {
  int64_t sum = 0;
  for (const uint64_t word : words) sum += weight(word);
  return sum;
}

float NameWords::overlap(uint32_t a, uint32_t b) const {
  if (!knows(a, b)) return 0;
  std::vector<uint64_t> shared;
  std::set_intersection(words_[a].begin(), words_[a].end(), words_[b].begin(), words_[b].end(),
                        std::back_inserter(shared));
  const int64_t smaller = std::min(weight_of(words_[a]), weight_of(words_[b]));
  return smaller > 0 ? static_cast<float>(weight_of(shared)) / static_cast<float>(smaller) : 0;
}

}  // namespace nl::align
