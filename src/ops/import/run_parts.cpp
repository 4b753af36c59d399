#include "ops/import/run_parts.h"

#include <sys/stat.h>

#include <map>
#include <set>

#include "base/path_text.h"
#include "ingest/adapter.h"

namespace nl::ops {
namespace {

bool is_regular(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

const std::set<std::string, std::less<>>& dropped_words() {
  static const std::set<std::string, std::less<>> words = [] {
    std::set<std::string, std::less<>> all = {"json", "gz", "zst"};
    for (const auto* adapter : ingest::all_adapters()) {
      all.insert(adapter->part_words.begin(), adapter->part_words.end());
    }
    return all;
  }();
  return words;
}

/// All are of one format that knows such groups, and no role comes twice.
bool is_one_run(const std::vector<std::string>& paths, const std::string& format) {
  std::set<std::string_view> roles;
  const ingest::Adapter* of = nullptr;
  for (const auto& path : paths) {
    const auto source = ingest::open_file(path);
    if (!source) return false;
    const auto chosen = ingest::choose_adapter((*source)->head(), base_name(path), format);
    if (!chosen || chosen->adapter->part_words.empty()) return false;
    if (of != nullptr && chosen->adapter != of) return false;
    of = chosen->adapter;
    if (!roles.insert(chosen->role).second) return false;
  }
  return true;
}

}  // namespace

std::string run_stem(const std::string& file_name) {
  std::string stem, word;
  const auto end_word = [&] {
    if (!word.empty() && !dropped_words().contains(word)) stem += "." + word;
    word.clear();
  };
  for (const char c : file_name) {
    if (c == '.' || c == '_' || c == '-') {
      end_word();
    } else {
      word += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
  }
  end_word();
  return stem;
}

std::vector<std::vector<std::string>> group_by_run(const std::vector<std::string>& paths,
                                                   const std::string& format) {
  std::vector<std::vector<std::string>> alike;
  std::map<std::string, size_t> by_name;
  std::set<std::string> seen;
  for (const auto& path : paths) {
    const std::string name = base_name(path);
    const std::string key = path.substr(0, path.size() - name.size()) + "\n" + run_stem(name);
    if (!seen.insert(path).second || !is_regular(path)) {
      alike.push_back({path});
    } else if (const auto [it, is_new] = by_name.try_emplace(key, alike.size()); is_new) {
      alike.push_back({path});
    } else {
      alike[it->second].push_back(path);
    }
  }
  std::vector<std::vector<std::string>> groups;
  for (auto& group : alike) {
    if (group.size() == 1 || is_one_run(group, format)) {
      groups.push_back(std::move(group));
    } else {
      for (auto& path : group) groups.push_back({std::move(path)});
    }
  }
  return groups;
}

}  // namespace nl::ops
