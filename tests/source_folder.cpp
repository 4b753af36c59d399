#include "source_folder.h"

namespace nl {

const std::string& source_folder() {
  static const std::string folder = NEUROLENS_SOURCE_DIR;
  return folder;
}

}  // namespace nl
