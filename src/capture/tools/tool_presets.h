#pragma once
// What the tools of NVIDIA record, by name: the files of data/presets, which are part of the program. Any
// thread.

#include <string>
#include <vector>

#include "base/result.h"

namespace nl::capture {

struct NsysPreset {
  std::string name = {};
  std::string trace = {};
};

struct NcuPreset {
  std::string name = {};
  std::string set = {};  ///< empty: none
  std::vector<std::string> sections = {};
  std::vector<std::string> metrics = {};
};

/// The preset of that name, of an empty name the first; bad_input with all names if there is none.
Result<NsysPreset> find_nsys_preset(const std::string& name);
Result<NcuPreset> find_ncu_preset(const std::string& name);

/// Is it written like the name of a counter? Names reach the command line of a tool as a list.
bool is_counter_name(const std::string& name);

}  // namespace nl::capture
