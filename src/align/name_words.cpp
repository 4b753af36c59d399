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

/// Words of letters, cut where a capital follows a small letter; digits and single letters are none.
std::vector<uint64_t> words_of(std::string_view name) {
  name = name.substr(0, kLongestName);
  std::vector<uint64_t> words;
  for (size_t i = 0; i < name.size();) {
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

float NameWords::weight_of(const std::vector<uint64_t>& words) const {
  float sum = 0;
  for (const uint64_t word : words) sum += weight(word);
  return sum;
}

float NameWords::overlap(uint32_t a, uint32_t b) const {
  if (!knows(a, b)) return 0;
  std::vector<uint64_t> shared;
  std::set_intersection(words_[a].begin(), words_[a].end(), words_[b].begin(), words_[b].end(),
                        std::back_inserter(shared));
  const float smaller = std::min(weight_of(words_[a]), weight_of(words_[b]));
  return smaller > 0 ? weight_of(shared) / smaller : 0;
}

}  // namespace nl::align
