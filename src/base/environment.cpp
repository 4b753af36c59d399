#include "base/environment.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace nl {
namespace {

std::vector<std::string> own_variables() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; variable++) variables.emplace_back(*variable);
  return variables;
}

/// A folder that was removed meanwhile has no name.
std::string own_folder() {
  std::error_code unknown;
  return std::filesystem::current_path(unknown).string();
}

bool is_named(std::string_view variable, std::string_view name) {
  return variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=';
}

}  // namespace

const Environment& Environment::of_process() {
  static const Environment kOwn(own_variables(), own_folder());
  return kOwn;
}

bool Environment::has(std::string_view name) const {
  return std::any_of(variables_.begin(), variables_.end(),
                     [name](const std::string& variable) { return is_named(variable, name); });
}

std::string Environment::get(std::string_view name) const {
  for (const std::string& variable : variables_) {
    if (is_named(variable, name)) return variable.substr(name.size() + 1);
  }
  return {};
}

std::string Environment::absolute(const std::string& path) const {
  return (std::filesystem::path(folder_) / path).string();
}

std::string Environment::temp_folder() const {
  const std::string given = get("TMPDIR");
  return given.empty() ? "/tmp" : given;
}

}  // namespace nl
