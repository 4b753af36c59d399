#include "fingerprint/pivot_index.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/aside.h"
#include "base/files.h"
#include "base/permissions.h"

namespace nl::fingerprint {
namespace {

constexpr size_t kRowsOfAGroup = 500;  // as a rule
constexpr size_t kMostPivots = 4096;
constexpr size_t kSampleOfAPivot = 24;
constexpr int kRounds = 6;
constexpr float kDistanceSlack = 1e-4F;  // of distances in single precision

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t mask;
  uint64_t rows;
  uint64_t pivots;
  uint64_t rows_check;
};

/// Always the same numbers, on every machine.
struct Dice {
  uint64_t state;
  uint64_t roll(uint64_t sides) {
    state += 0x9e3779b97f4a7c15U;
    uint64_t x = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return (x ^ (x >> 31)) % sides;
  }
};

struct Place {
  uint32_t pivot;
  float squared;
};

// The plain distance everywhere here: an index must not depend on the processor that built it.
Place nearest_pivot(const std::vector<float>& pivots, size_t columns, const float* row) {
  Place best{0, std::numeric_limits<float>::infinity()};
  const std::vector<ColumnRange> whole = cut({{0, 0, columns}});
  for (uint32_t i = 0; i * columns < pivots.size(); i++) {
    const float squared =
        bounded_distance(squared_distance_plain, row, pivots.data() + i * columns, whole, best.squared);
    if (squared < best.squared) best = {i, squared};
  }
  return best;
}

std::vector<uint32_t> sample_of(size_t rows, size_t wanted) {
  std::vector<uint32_t> sample(rows);
  std::iota(sample.begin(), sample.end(), 0);
  Dice dice{rows};
  for (size_t i = 0; i < wanted; i++) std::swap(sample[i], sample[i + dice.roll(rows - i)]);
  sample.resize(wanted);
  return sample;
}

/// One round: each pivot moves to the middle of the sampled rows that are nearest to it.
void move_pivots(const RowBlock& block, const std::vector<uint32_t>& sample, std::vector<float>& pivots) {
  const size_t columns = block.columns();
  std::vector<double> sums(pivots.size());
  std::vector<size_t> counts(pivots.size() / columns);
  for (const uint32_t row : sample) {
    const size_t pivot = nearest_pivot(pivots, columns, block.vector(row)).pivot;
    counts[pivot]++;
    for (size_t c = 0; c < columns; c++)
      sums[pivot * columns + c] += static_cast<double>(block.vector(row)[c]);
  }
  for (size_t i = 0; i < pivots.size(); i++) {
    if (counts[i / columns] > 0)
      pivots[i] = static_cast<float>(sums[i] / static_cast<double>(counts[i / columns]));
  }
}

std::vector<float> choose_pivots(const RowBlock& block) {
  const size_t rows = block.size();
  const size_t count = std::clamp<size_t>(rows / kRowsOfAGroup, 1, kMostPivots);
  const auto sample = sample_of(rows, std::min(rows, count * kSampleOfAPivot));
  std::vector<float> pivots;
  for (size_t i = 0; i < count; i++) {
    const float* row = block.vector(sample[i]);
    pivots.insert(pivots.end(), row, row + block.columns());
  }
  for (int round = 0; round < kRounds; round++) move_pivots(block, sample, pivots);
  return pivots;
}

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Reads one part of the file behind another.
class Parts {
 public:
  explicit Parts(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  bool read(T* to, size_t count) {
    const size_t size = count * sizeof(T);
    if (bytes_.size() < size) return false;
    std::memcpy(to, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return true;
  }
  size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

struct SortedRow {
  uint32_t pivot;
  float squared;
  uint32_t row;
};

}  // namespace

Result<void> PivotIndex::build(const RowBlock& block, const std::string& rows_path) {
  if (block.size() == 0) return Error{ErrorCode::kBadInput, "no rows to index: " + rows_path};
  const std::vector<float> pivots = choose_pivots(block);
  std::vector<SortedRow> order;
  order.reserve(block.size());
  for (uint32_t row = 0; row < block.size(); row++) {
    const Place place = nearest_pivot(pivots, block.columns(), block.vector(row));
    order.push_back({place.pivot, place.squared, row});
  }
  std::sort(order.begin(), order.end(), [](const SortedRow& a, const SortedRow& b) {
    return std::tie(a.pivot, a.squared, a.row) < std::tie(b.pivot, b.squared, b.row);
  });
  NL_CHECK(write_rows(rows_path, block.mask(), block.size(), [&](size_t i) {
    const float* from = block.vector(order[i].row);
    return NewRow{block.key(order[i].row), std::vector<float>(from, from + block.columns())};
  }));
  NL_TRY(const RowBlock sorted, RowBlock::open(rows_path));
  const Header header{{'N', 'L', 'F', 'P', 'P', 'I', 'V', 'S'},
                      kVersion,
                      block.mask(),
                      order.size(),
                      pivots.size() / block.columns(),
                      sorted.check_of(order.size())};
  std::vector<uint32_t> ends(header.pivots);
  std::vector<float> distances;
  for (const SortedRow& row : order) {
    ends[row.pivot]++;
    distances.push_back(std::sqrt(row.squared));
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  const std::string aside = path_of(rows_path) + ".new-";
  remove_abandoned(aside);
  NL_TRY(NewFile file, NewFile::create(aside));
  NL_CHECK(file.write({reinterpret_cast<const char*>(&header), sizeof(header)}));
  NL_CHECK(file.write(bytes_of(pivots)));
  NL_CHECK(file.write(bytes_of(ends)));
  NL_CHECK(file.write(bytes_of(distances)));
  NL_CHECK(file.finish(path_of(rows_path), true));
  share_file(path_of(rows_path));
  return {};
}

Result<PivotIndex> PivotIndex::open(const RowBlock& block, const std::string& rows_path) {
  const std::string path = path_of(rows_path);
  if (!path_exists(path)) return Error{ErrorCode::kNotFound, "no index: " + path};
  NL_TRY(const std::string text, read_file(path));
  const Error damaged{ErrorCode::kBadInput, "not the index of these rows: " + path};
  Parts parts(text);
  Header header{};
  if (!parts.read(&header, 1)) return damaged;
  const bool known = std::memcmp(header.magic, "NLFPPIVS", 8) == 0 && header.version == kVersion &&
                     header.mask == block.mask() && header.rows <= block.size() &&
                     header.pivots <= kMostPivots;
  const uint64_t expected = header.pivots * (block.columns() + 1) * 4 + header.rows * 4;
  if (!known || parts.left() != expected) return damaged;
  PivotIndex index;
  index.columns_ = block.columns();
  index.pivots_.resize(header.pivots * block.columns());
  index.distances_.resize(header.rows);
  std::vector<uint32_t> ends(header.pivots);
  parts.read(index.pivots_.data(), index.pivots_.size());
  parts.read(ends.data(), ends.size());
  parts.read(index.distances_.data(), index.distances_.size());
  uint32_t begin = 0;
  for (const uint32_t end : ends) {
    if (end < begin || end > header.rows) return damaged;
    index.groups_.push_back({begin, end});
    begin = end;
  }
  if (begin != header.rows || block.check_of(header.rows) != header.rows_check) return damaged;
  return index;
}

void PivotIndex::search(const RowBlock& block, const float* query, float weight, uint32_t block_number,
                        const std::function<bool(uint32_t)>& is_dead, Nearest& nearest) const {
  const SquaredDistance squared = squared_distance_here();
  const std::vector<ColumnRange> whole = cut({{0, 0, columns_}});
  std::vector<std::pair<float, uint32_t>> order;  // distance of the pivot, group
  for (uint32_t g = 0; g < groups_.size(); g++) {
    if (groups_[g].begin < groups_[g].end)
      order.emplace_back(std::sqrt(squared(query, pivots_.data() + g * columns_, columns_)), g);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [far, g] : order) {
    const float reach = std::sqrt(nearest.limit() * weight) + kDistanceSlack;  // of the k-th so far
    const auto begin = distances_.begin() + groups_[g].begin, end = distances_.begin() + groups_[g].end;
    const auto from = std::lower_bound(begin, end, far - reach),
               to = std::upper_bound(from, end, far + reach);
    for (auto at = from; at != to; ++at) {
      const auto row = static_cast<uint32_t>(at - distances_.begin());
      const float limit = nearest.limit() * weight;
      const float distance = bounded_distance(squared, query, block.vector(row), whole, limit);
      if (distance <= limit && !is_dead(row)) nearest.offer(distance / weight, block_number, row);
    }
  }
}

}  // namespace nl::fingerprint
