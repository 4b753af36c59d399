#pragma once
// Plain words for the parts of a window, for sentences. The names of parts (idle host_data) are for tables.

#include <string_view>

#include "compare/answer.h"

namespace nl::compare {

struct PlainWords {
  std::string_view time;   ///< what the time was spent on: "waiting for data"
  std::string_view cause;  ///< who took it: "data loading"
};

/// Of a part by its kind and name. A name that is not in the tables stands for itself.
PlainWords plain_words(PartKind kind, std::string_view name);

}  // namespace nl::compare
