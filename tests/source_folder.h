#pragma once
// Where the sources of this build and its program lie: tests read samples and cases, and start the program.

#include <string>

namespace nl {

const std::string& source_folder();
const std::string& built_program();

}  // namespace nl
