#include "align/links.h"

namespace nl::align {

Links links_of(PagedVector<uint32_t> to, size_t size_b) {
  Links links;
  const size_t size_a = to.size();
  links.to = std::move(to);
  links.from.assign(size_b, kNone);
  for (uint32_t a = 0; a < size_a; a++) {
    if (links.to[a] != kNone) links.from[links.to[a]] = a;
  }
  links.is_moved.assign(size_a, false);
  links.merged_a.assign(size_a, false);
  links.merged_b.assign(size_b, false);
  return links;
}

}  // namespace nl::align
