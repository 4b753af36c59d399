#pragma once
// In which order the sides of a target run. A block holds each side twice, its second half the mirror image
// of its first (A B B A), so that a machine that slowly becomes faster or slower favours no side; who begins
// is drawn by the seed, so that nothing that comes by turns does either. Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nl::lab {

/// Indexes of sides; the same for the same seed and block.
std::vector<size_t> block_order(size_t sides, uint64_t seed, int64_t block);

}  // namespace nl::lab
