#pragma once
// Environment: the variables and the working folder that a call sees. The command line or server passes one
// down with the context. Code below asks this object and never the process, for two reasons: another thread
// may change the variables of the process while they are read, and the variables a server was started with
// are not those of its callers. Only environment.cpp reads the process; tools/check-process-state checks
// that. Read-only, so any thread may use it.

#include <string>
#include <string_view>
#include <vector>

namespace nl {

class Environment {
 public:
  /// `variables`: NAME=value.
  Environment(std::vector<std::string> variables, std::string folder)
      : variables_(std::move(variables)), folder_(std::move(folder)) {}
  /// Of this process, as it was when it was first asked for.
  static const Environment& of_process();

  bool has(std::string_view name) const;
  /// Empty if it is not set.
  std::string get(std::string_view name) const;
  const std::vector<std::string>& variables() const { return variables_; }
  /// Where relative paths begin.
  const std::string& folder() const { return folder_; }
  std::string absolute(const std::string& path) const;
  /// $TMPDIR or /tmp.
  std::string temp_folder() const;

 private:
  std::vector<std::string> variables_;
  std::string folder_;
};

}  // namespace nl
