#pragma once
// The encodings of Parquet that a table is written with: runs and packed bits for dictionaries, differences
// for integers. Pure, any thread.

#include <cstdint>
#include <string>

namespace nl::store {

/// A number of 7 bits a byte, the lowest first.
void put_varint(std::string& out, uint64_t value);

/// Bits that numbers up to this one take; 0 for 0.
int bits_of(uint64_t most);

/// RLE / BIT_PACKED hybrid: numbers of `width` bits, as runs where they repeat.
void put_runs(std::string& out, const uint32_t* values, size_t count, int width);
/// The same for single bits, 64 in a word.
void put_bits(std::string& out, const uint64_t* words, size_t count);
/// The same for one value that repeats.
void put_run(std::string& out, uint32_t value, size_t count, int width);

/// DELTA_BINARY_PACKED. Differences wrap around, as the format wants it.
void put_deltas(std::string& out, const int32_t* values, size_t count);
void put_deltas(std::string& out, const int64_t* values, size_t count);

/// BYTE_STREAM_SPLIT: the first bytes of all values, then all second ones, and so on.
void put_split_bytes(std::string& out, const int64_t* values, size_t count);

}  // namespace nl::store
