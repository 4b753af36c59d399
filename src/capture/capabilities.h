#pragma once
// What can be measured on this machine and what cannot. If something cannot, the reason and a way to change
// it are given.

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/json.h"

namespace nl::capture {

struct Capability {
  std::string name;
  bool works = false;
  std::string detail;    ///< how, or why not
  std::string fix = {};  ///< what to do if it does not work; empty if nothing here can help
};

/// Tries what can be tried without side effects; some hundred milliseconds.
std::vector<Capability> capabilities(const Environment& surroundings);

nlohmann::json capabilities_json(const std::vector<Capability>& list);

}  // namespace nl::capture
