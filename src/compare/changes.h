#pragma once
// Changes: what happened to each piece of work between the two sides. Pieces are matched one by one. Matched
// and unmatched pieces are then summed by name, one row each.

#include <cstdint>
#include <vector>

#include "compare/answer.h"
#include "compare/side.h"

namespace nl::compare {

struct Amount {
  int64_t calls = 0;
  int64_t owned_ns = 0;  ///< of all units of the side
  int64_t time_ns = 0;
  void add(const Item& item) {
    calls += item.calls;
    owned_ns += item.owned_ns;
    time_ns += item.time_ns;
  }
};

struct Change {
  ChangeKind kind = ChangeKind::kChanged;
  std::vector<uint32_t> base_names;  ///< texts; several if they were fused
  std::vector<uint32_t> next_names;
  uint32_t label = kNoText;
  uint32_t op = kNoText;  ///< of the first piece that has one
  Part part = Part::rest();
  Amount base, next;
  int64_t matched = 0;    ///< pieces of the base that have a partner
  int64_t moved = 0;      ///< of them, at another place
  int64_t reshaped = 0;   ///< of them, with other shapes
  double confidence = 0;  ///< of the matches, weighted by time; 0 without any
};

struct Changes {
  std::vector<Change> rows;                          ///< every item of both sides is in exactly one
  int64_t matched_base_ns = 0, matched_next_ns = 0;  ///< owned time of what has a partner
  int64_t base_ns = 0, next_ns = 0;
};

Result<Changes> find_changes(const Side& base, const Side& next, const Texts& texts);

}  // namespace nl::compare
