#include "source_folder.h"

namespace nl {

const std::string& source_folder() {
  static const std::string folder = NEUROLENS_SOURCE_DIR;
  return folder;
}

const std::string& built_program() {
  static const std::string program = NEUROLENS_PROGRAM;
  return program;
}

}  // namespace nl
