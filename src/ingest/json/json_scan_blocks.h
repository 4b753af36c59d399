#pragma once
// The scan itself, as a template over a Block that finds a byte among 64. Only the two builds include it.

#include <cstdint>

#include "ingest/json/json_scan.h"

namespace nl::ingest {
namespace {

/// Bits of the bytes that a backslash before them makes ordinary.
inline uint64_t escaped_bits(uint64_t backslashes, uint64_t& carried) {
  uint64_t escaped = 0;
  uint64_t pending = carried;
  for (int i = 0; i < 64; i++) {
    const uint64_t bit = uint64_t{1} << i;
    if (pending != 0) {
      escaped |= bit;
      pending = 0;
    } else {
      pending = (backslashes & bit) != 0 ? 1 : 0;
    }
  }
  carried = pending;
  return escaped;
}

template <class Block>
inline size_t scan_blocks(const char* text, size_t from, size_t to, JsonScanState& state,
                          size_t* last_comma) {
  for (; from < to; from += 64) {
    const Block block(text + from);
    uint64_t quotes = block.equal('"');
    const uint64_t backslashes = block.equal('\\');
    if ((backslashes | state.escaped) != 0) quotes &= ~escaped_bits(backslashes, state.escaped);
    const uint64_t inside = Block::prefix_xor(quotes) ^ state.in_string;
    state.in_string = static_cast<uint64_t>(static_cast<int64_t>(inside) >> 63);
    const uint64_t open = block.equal_folded('{') & ~inside;   // also [
    const uint64_t close = block.equal_folded('}') & ~inside;  // also ]
    const int closing = __builtin_popcountll(close);
    if (state.depth < closing || last_comma != nullptr) {
      const uint64_t commas = last_comma != nullptr ? block.equal(',') & ~inside : 0;
      int64_t depth = state.depth;
      for (uint64_t rest = open | close | commas; rest != 0; rest &= rest - 1) {
        const uint64_t bit = rest & (~rest + 1);
        const size_t at = from + static_cast<size_t>(__builtin_ctzll(bit));
        if ((open & bit) != 0) {
          depth++;
        } else if ((close & bit) != 0) {
          if (--depth < 0) return at;
        } else if (depth == 0) {
          *last_comma = at;
        }
      }
    }
    state.depth += __builtin_popcountll(open) - closing;
  }
  return kNoOffset;
}

}  // namespace
}  // namespace nl::ingest
