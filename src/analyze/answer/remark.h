#pragma once
// Remark: one statement about a run for people, with an id for programs.

#include <string>

#include "base/described.h"

namespace nl::analyze {

struct Remark {
  std::string id = {};
  std::string text = {};

  static constexpr auto fields() {
    return std::tuple{field("id", &Remark::id, "which statement it is"),
                      field("text", &Remark::text, "the statement, for people")};
  }
};

}  // namespace nl::analyze
