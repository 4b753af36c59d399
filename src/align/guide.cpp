#include "align/guide.h"

#include <algorithm>
#include <array>

#include "base/call_control.h"

namespace nl::align {
namespace {

constexpr size_t kMostPieces = 1024;
constexpr size_t kShortestPiece = 32;
constexpr size_t kKinds = 32;

/// How many nodes of each kind a piece of a stretch has; names are dealt to few kinds by hash.
using Mixture = std::array<uint16_t, kKinds>;

PagedVector<Mixture> mixtures_of(std::span<const Features> nodes, size_t piece) {
  PagedVector<Mixture> all((nodes.size() + piece - 1) / piece, Mixture{});
  for (size_t i = 0; i < nodes.size(); i++) {
    uint16_t& count = all[i / piece][mix(nodes[i].name, nodes[i].op) % kKinds];
    if (count < UINT16_MAX) count++;
  }
  return all;
}

int shared_nodes(const Mixture& a, const Mixture& b) {
  int sum = 0;
  for (size_t k = 0; k < kKinds; k++) sum += a[k] < b[k] ? a[k] : b[k];
  return sum;
}

/// A rough alignment of two stretches, piece by piece: finds where one has a long stretch more.
class RoughWay {
 public:
  RoughWay(std::span<const Features> rows, std::span<const Features> columns)
      : piece_(std::max(kShortestPiece, rows.size() / kMostPieces) + 1),
        rows_(mixtures_of(rows, piece_)),
        columns_(mixtures_of(columns, piece_)) {
    fill();
  }

  /// The column that each of `count` rows is expected at.
  PagedVector<uint32_t> centres(size_t count, size_t columns) const {
    PagedVector<uint32_t> centres(count, 0);
    size_t i = rows_.size(), j = columns_.size();
    while (i > 0) {
      const Step step = j == 0 ? kDown : steps_[i * (columns_.size() + 1) + j];
      if (step != kRight) i--;
      if (step != kDown) j--;
      if (step != kRight) set(centres, i, j, step == kDiagonal, columns);
    }
    return centres;
  }

 private:
  enum Step : uint8_t { kDiagonal, kDown, kRight };

  void set(PagedVector<uint32_t>& centres, size_t row, size_t column, bool climbs, size_t columns) const {
    for (size_t k = 0; k < piece_ && row * piece_ + k < centres.size(); k++) {
      centres[row * piece_ + k] =
          static_cast<uint32_t>(std::min(columns, column * piece_ + (climbs ? k : 0)));
    }
  }

  /// Scores of pieces that stand for each other, less the cost of pieces that are skipped; down and right
  /// begin dear, so that what is skipped stands together.
  void fill() {
    const size_t width = columns_.size() + 1;
    const int skip = static_cast<int>(piece_) / 8 + 1, open = static_cast<int>(piece_);
    PagedVector<int> before(width), now(width), down(width, -(1 << 29));
    steps_.assign((rows_.size() + 1) * width, kRight);
    for (size_t j = 0; j < width; j++) before[j] = j == 0 ? 0 : -open - skip * static_cast<int>(j);
    for (size_t i = 1; i <= rows_.size(); i++) {
      if (i % 256 == 0) stop_if_cancelled();
      int right = -(1 << 29);
      for (size_t j = 0; j < width; j++) {
        down[j] = std::max(before[j] - open, down[j]) - skip;
        int best = down[j];
        Step step = kDown;
        if (j > 0) {
          right = std::max(now[j - 1] - open, right) - skip;
          const int pair =
              before[j - 1] + 2 * shared_nodes(rows_[i - 1], columns_[j - 1]) - static_cast<int>(piece_);
          if (right > best) best = right, step = kRight;
          if (pair >= best) best = pair, step = kDiagonal;
        }
        now[j] = best;
        steps_[i * width + j] = step;
      }
      std::swap(before, now);
    }
  }

  size_t piece_;
  PagedVector<Mixture> rows_, columns_;
  PagedVector<Step> steps_;
};

PagedVector<uint32_t> straight_way(size_t rows, size_t columns) {
  PagedVector<uint32_t> centres(rows + 1);
  for (size_t i = 0; i <= rows; i++) centres[i] = static_cast<uint32_t>(i * columns / rows);
  return centres;
}

/// A straight way unless one side has much more than the other.
PagedVector<uint32_t> bent_way(std::span<const Features> rows, std::span<const Features> columns,
                               size_t width) {
  if (rows.size() - columns.size() <= width / 4 || columns.size() <= width)
    return straight_way(rows.size(), columns.size());
  auto centres = RoughWay(rows, columns).centres(rows.size(), columns.size());
  centres.push_back(static_cast<uint32_t>(columns.size()));
  return centres;
}

}  // namespace

PagedVector<uint32_t> band_of(std::span<const Features> rows, std::span<const Features> columns, size_t width,
                              Guide guide) {
  PagedVector<uint32_t> low =
      guide == Guide::kStraight ? straight_way(rows.size(), columns.size()) : bent_way(rows, columns, width);
  const auto most = static_cast<uint32_t>(columns.size() + 1 - width),
             half = static_cast<uint32_t>(width / 2);
  const auto shift = static_cast<uint32_t>(most_shift(width));
  for (uint32_t& at : low) at = std::min(most, at > half ? at - half : 0);
  low.back() = most;
  for (size_t i = low.size() - 1; i-- > 0;) {
    low[i] = std::min(low[i], low[i + 1]);
    if (low[i] + shift < low[i + 1]) low[i] = low[i + 1] - shift;
  }
  low[0] = 0;
  for (size_t i = 1; i < low.size(); i++) low[i] = std::min(low[i], low[i - 1] + shift);
  return low;
}

}  // namespace nl::align
