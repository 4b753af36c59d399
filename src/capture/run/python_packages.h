#pragma once
// Packages that are installed for the Python of a caller, as their own metadata tells it. No program is
// started: a server must be able to ask. Reads files only; any thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"

namespace nl::capture {

struct Requirement {
  std::string package;      ///< normalised
  std::string versions;     ///< ">=2.0,<3"; empty: any
  bool has_marker = false;  ///< it holds only under conditions that are not looked at
};

struct PythonPackage {
  std::string name;  ///< normalised: lower case, with - for _ and .
  std::string version;
  std::vector<Requirement> needs = {};
};

struct PythonInstallation {
  std::string version;  ///< "3.11.7", or "3.11" if no more is known; empty: there is none
  std::string why_none = {};
  std::vector<PythonPackage> packages = {};  ///< by name; one may be there twice
  const PythonPackage* find(std::string_view name) const;
};

/// That of $VIRTUAL_ENV or $CONDA_PREFIX, else of python3 in $PATH.
PythonInstallation python_installation(const Environment& surroundings);

/// Does the version fulfil the clauses? Nothing if one of them has a form that is not known.
std::optional<bool> fulfils(std::string_view version, std::string_view clauses);

}  // namespace nl::capture
