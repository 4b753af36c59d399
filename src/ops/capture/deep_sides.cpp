#include "ops/capture/deep_sides.h"

#include "ops/capture/workload_file.h"

namespace nl::ops {

bool asks_for_comparison(const std::vector<std::string>& words) {
  return words.size() > 1 && words[0] == "compare" && names_workload_file(words[1]);
}

Result<DeepSides> deep_sides(const std::vector<std::string>& words) {
  std::vector<std::vector<std::string>> sides;
  for (size_t i = 1; i < words.size(); i++) {
    if (names_workload_file(words[i])) sides.emplace_back();
    sides.back().push_back(words[i]);
  }
  if (sides.size() == 2) return DeepSides{sides[0], sides[1]};
  return Error{ErrorCode::kBadInput,
               "a comparison needs two workload files, not " + std::to_string(sides.size()),
               "compare BASE.yaml NEW.yaml, or one file twice with its values: compare W.yaml batch=8 W.yaml "
               "batch=16"};
}

}  // namespace nl::ops
