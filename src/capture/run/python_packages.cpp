#include "capture/run/python_packages.h"

#include <fmt/core.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "base/files.h"
#include "base/text.h"

namespace nl::capture {
namespace {

constexpr size_t kMostPackages = 5000;
constexpr int64_t kMostMetadataBytes = 1 << 20;

std::string normalised(std::string_view name) {
  std::string out = lower(name);
  std::replace_if(out.begin(), out.end(), [](char c) { return c == '_' || c == '.'; }, '-');
  return out;
}

/// The folder that holds bin/python3.
std::string prefix_of(const Environment& surroundings) {
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string folder = surroundings.get(name);
    if (!folder.empty() && path_exists(folder + "/bin/python3")) return folder;
  }
  for (const std::string& folder : split(surroundings.get("PATH"), ':')) {
    const std::string program = folder + "/python3";
    if (folder.empty() || !path_exists(program)) continue;
    char real[PATH_MAX] = {};
    const std::string found = ::realpath(program.c_str(), real) != nullptr ? real : program;
    const std::string bin = found.substr(0, found.rfind('/'));
    const std::string around = bin.substr(0, bin.rfind('/'));
    // pyenv puts a script there that starts the version which a file names.
    const auto chosen =
        bin.ends_with("/shims") ? read_file(around + "/version") : Result<std::string>(std::string());
    const std::string version = chosen ? std::string(trimmed(split(*chosen, '\n').front())) : "";
    return version.empty() ? around : fmt::format("{}/versions/{}", around, version);
  }
  return {};
}

/// lib/python3.11 → "3.11.7" where a header or a file of a virtual environment says more.
std::string exact_version(const std::string& prefix, const std::string& folder_name) {
  if (const auto header = read_file(prefix + "/include/" + folder_name + "/patchlevel.h")) {
    const size_t at = header->find("#define PY_VERSION ");
    const size_t begin = at == std::string::npos ? at : header->find('"', at);
    if (begin != std::string::npos)
      return header->substr(begin + 1, header->find('"', begin + 1) - begin - 1);
  }
  if (const auto settings = read_file(prefix + "/pyvenv.cfg")) {
    for (const std::string& line : split(*settings, '\n')) {
      if (line.starts_with("version = ")) return std::string(trimmed(line.substr(10)));
    }
  }
  return folder_name.substr(6);
}

/// "torch (>=2.0) ; extra == 'gpu'" or "torch>=2.0,<3"
Requirement requirement_of(std::string_view text) {
  Requirement out;
  const size_t marker = text.find(';');
  out.has_marker = marker != std::string_view::npos;
  text = trimmed(text.substr(0, marker));
  const size_t end = std::min(text.find_first_of(" ([<>=!~"), text.size());
  out.package = normalised(text.substr(0, end));
  std::string_view rest = text.substr(end);
  if (const size_t bracket = rest.find(']'); bracket != std::string_view::npos)
    rest.remove_prefix(bracket + 1);
  for (const char c : rest) {
    if (c != '(' && c != ')' && c != ' ') out.versions += c;
  }
  return out;
}

std::optional<PythonPackage> package_in(const std::string& folder) {
  const std::string path = folder + "/METADATA";
  const auto bytes = file_size(path);
  if (!bytes || *bytes > kMostMetadataBytes) return std::nullopt;
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  PythonPackage package;
  for (const std::string& line : split(*text, '\n')) {
    if (trimmed(line).empty()) break;  // the description follows
    if (line.starts_with("Name: ")) package.name = normalised(trimmed(line.substr(6)));
    if (line.starts_with("Version: ")) package.version = std::string(trimmed(line.substr(9)));
    if (line.starts_with("Requires-Dist: "))
      package.needs.push_back(requirement_of(std::string_view(line).substr(15)));
  }
  return package.name.empty() || package.version.empty() ? std::nullopt : std::optional(package);
}

void add_packages(const std::string& folder, std::vector<PythonPackage>& packages) {
  for (const std::string& name : list_folder(folder)) {
    if (!name.ends_with(".dist-info") || packages.size() >= kMostPackages) continue;
    if (auto package = package_in(fmt::format("{}/{}", folder, name)))
      packages.push_back(*std::move(package));
  }
}

/// "2.3.1rc1+cu121" → numbers, and whether something before the release is meant. What is built locally does
/// not count.
struct Version {
  std::vector<int64_t> numbers;
  bool is_early = false;
};
std::optional<Version> version_of(std::string_view text) {
  text = text.substr(0, text.find('+'));
  if (text.starts_with('v')) text.remove_prefix(1);
  Version out;
  while (!text.empty()) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) break;
    out.numbers.push_back(number);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.starts_with('.') || text.starts_with(".post") || text.starts_with(".dev")) break;
    text.remove_prefix(1);
  }
  if (out.numbers.empty() || text.find('!') != std::string_view::npos) return std::nullopt;
  out.is_early = !text.empty() && !text.starts_with(".post") && !text.starts_with("post");
  return out;
}

int compared(const Version& a, const Version& b) {
  const size_t most = std::max(a.numbers.size(), b.numbers.size());
  for (size_t i = 0; i < most; i++) {
    const int64_t left = i < a.numbers.size() ? a.numbers[i] : 0,
                  right = i < b.numbers.size() ? b.numbers[i] : 0;
    if (left != right) return left < right ? -1 : 1;
  }
  return a.is_early == b.is_early ? 0 : a.is_early ? -1 : 1;
}

bool starts_with_numbers(const Version& version, const Version& start, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if ((i < version.numbers.size() ? version.numbers[i] : 0) != start.numbers[i]) return false;
  }
  return true;
}

std::optional<bool> fulfils_one(const Version& version, std::string_view clause) {
  const size_t digits = clause.find_first_not_of("<>=!~");
  if (digits == 0 || digits == std::string_view::npos) return std::nullopt;
  const std::string_view sign = clause.substr(0, digits);
  std::string_view text = clause.substr(digits);
  const bool any_end = text.ends_with(".*");
  if (any_end) text.remove_suffix(2);
  const auto wanted = version_of(text);
  if (!wanted) return std::nullopt;
  const int order = compared(version, *wanted);
  if (sign == "==")
    return any_end ? starts_with_numbers(version, *wanted, wanted->numbers.size()) : order == 0;
  if (sign == "!=")
    return any_end ? !starts_with_numbers(version, *wanted, wanted->numbers.size()) : order != 0;
  if (any_end) return std::nullopt;
  if (sign == ">=") return order >= 0;
  if (sign == "<=") return order <= 0;
  if (sign == ">") return order > 0;
  if (sign == "<") return order < 0;
  if (sign == "~=" && wanted->numbers.size() > 1)
    return order >= 0 && starts_with_numbers(version, *wanted, wanted->numbers.size() - 1);
  return std::nullopt;
}

}  // namespace

const PythonPackage* PythonInstallation::find(std::string_view name) const {
  const auto it = std::find_if(packages.begin(), packages.end(),
                               [&](const PythonPackage& one) { return one.name == name; });
  return it == packages.end() ? nullptr : &*it;
}

PythonInstallation python_installation(const Environment& surroundings) {
  PythonInstallation out;
  const std::string prefix = prefix_of(surroundings);
  out.why_none =
      prefix.empty() ? "there is no python3 in PATH" : "python3 in PATH has no folder of libraries beside it";
  std::string newest;
  for (const std::string& name : list_folder(prefix + "/lib")) {
    const bool is_python =
        name.starts_with("python3.") && path_exists(fmt::format("{}/lib/{}", prefix, name));
    if (is_python &&
        (newest.empty() || name.size() > newest.size() || (name.size() == newest.size() && name > newest)))
      newest = name;
  }
  if (prefix.empty() || newest.empty()) return out;
  out.why_none.clear();
  out.version = exact_version(prefix, newest);
  for (const char* folder : {"/site-packages", "/dist-packages"})
    add_packages(fmt::format("{}/lib/{}{}", prefix, newest, folder), out.packages);
  if (prefix == "/usr") {
    add_packages("/usr/lib/python3/dist-packages", out.packages);
    add_packages("/usr/local/lib/" + newest + "/dist-packages", out.packages);
  }
  std::sort(out.packages.begin(), out.packages.end(), [](const auto& a, const auto& b) {
    return std::tie(a.name, a.version) < std::tie(b.name, b.version);
  });
  return out;
}

std::optional<bool> fulfils(std::string_view version, std::string_view clauses) {
  const auto parsed = version_of(version);
  if (!parsed) return std::nullopt;
  for (const std::string& clause : split(clauses, ',')) {
    if (clause.empty()) continue;
    const auto one = fulfils_one(*parsed, clause);
    if (!one || !*one) return one;
  }
  return true;
}

}  // namespace nl::capture
