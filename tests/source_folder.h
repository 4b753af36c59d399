#pragma once
// Where the sources of this build lie: tests read samples and cases from there.

#include <string>

namespace nl {

const std::string& source_folder();

}  // namespace nl
