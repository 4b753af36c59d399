#include "align/band.h"

#include <algorithm>

#include "align/guide.h"

namespace nl::align {
namespace {

constexpr int kOpen = 7;    // of a gap, beside its length
constexpr int kExtend = 1;  // for each node of it
constexpr int kNever = -(1 << 29);
constexpr size_t kBlock = 1024;  // rows whose steps are kept at a time

/// Where a cell of the table came from, and whether gaps that end in it go on.
enum Step : uint8_t { kDiagonal = 0, kDown = 1, kRight = 2, kFrom = 3, kLongDown = 4, kLongRight = 8 };

/// Features by column, for loops over many columns.
struct Columns {
  explicit Columns(std::span<const Features> nodes) {
    for (auto* list : {&name, &family, &shape, &place, &around, &opens}) list->reserve(nodes.size());
    for (const Features& f : nodes) {
      name.push_back(f.name);
      family.push_back(f.family);
      shape.push_back(f.shape);
      place.push_back(f.place);
      around.push_back(f.around);
      opens.push_back(f.opens);
    }
  }
  Features at(size_t i) const { return {name[i], family[i], shape[i], place[i], around[i], opens[i]}; }

  std::vector<uint32_t> name, family, shape, place, around, opens;
};

/// A row of the table: best scores, and those that end in a gap of the columns' side. Behind the band stand
/// some cells that no way reaches, for rows that begin further right.
struct Row {
  explicit Row(size_t width) : best(width + width / 4 + 1, kNever), down(best) {}
  std::vector<int> best, down;
};

/// The longer side are the rows, so that the band seldom moves by more than one column.
class Band {
 public:
  Band(std::span<const Features> rows, std::span<const Features> columns, size_t width)
      : rows_(rows),
        columns_(columns),
        width_(std::min(width, columns.size() + 1)),
        low_(band_of(rows, columns, width_)),
        fits_(width_),
        steps_((std::min(kBlock, rows.size()) + 1) * width_) {}

  std::vector<Pair> run() {
    std::vector<Row> starts = sweep();
    for (size_t block = starts.size(); block-- > 0;) {
      fill_steps(block * kBlock, std::move(starts[block]));
      go_back(block * kBlock);
    }
    std::reverse(pairs_.begin(), pairs_.end());
    return std::move(pairs_);
  }

 private:
  /// The row before each block.
  std::vector<Row> sweep() {
    std::vector<Row> starts;
    Row before = first_row(), now(width_);
    for (size_t i = 0; i < rows_.size(); i++) {
      if (i % kBlock == 0) starts.push_back(before);
      if (i / kBlock == (rows_.size() - 1) / kBlock) break;  // the last block is next anyway
      fill(i + 1, before, now, steps_.data());
      std::swap(before, now);
    }
    return starts;
  }

  Row first_row() const {
    Row row(width_);
    row.best[0] = 0;
    for (size_t j = 1; j < width_; j++) row.best[j] = -kOpen - kExtend * static_cast<int>(j);
    return row;
  }

  void fill_steps(size_t first, Row before) {
    Row now(width_);
    const size_t end = std::min(first + kBlock, rows_.size());
    for (size_t i = first + 1; i <= end; i++) {
      fill(i, before, now, steps_.data() + (i - first) * width_);
      std::swap(before, now);
    }
    if (end == rows_.size()) row_ = end, column_ = columns_.name.size();
  }

  void fill(size_t i, const Row& before, Row& now, uint8_t* steps) {
    const size_t shift = low_[i] - low_[i - 1];
    fill_from_above(i, shift, before, now, steps);
    fill_from_left(now, steps);
  }

  /// Without gaps of the rows' side; no cell depends on its neighbour.
  void fill_from_above(size_t i, size_t shift, const Row& before, Row& now, uint8_t* steps) {
    fill_fits(i);
    const int *best = before.best.data() + shift, *down_before = before.down.data() + shift;
    int *out = now.best.data(), *out_down = now.down.data();
    const int corner = shift > 0 ? best[-1] : kNever;
    for (size_t c = 0; c < width_; c++) {
      const int opened = best[c] - kOpen, down = std::max(opened, down_before[c]) - kExtend;
      const int fit = (c == 0 ? corner : best[static_cast<ptrdiff_t>(c) - 1]) + fits_[c];
      out_down[c] = down;
      out[c] = std::max(fit, down);
      steps[c] =
          static_cast<uint8_t>((down > fit ? kDown : kDiagonal) | (down_before[c] > opened ? kLongDown : 0));
    }
  }

  void fill_from_left(Row& now, uint8_t* steps) const {
    int* best = now.best.data();
    int right = kNever, before = kNever;
    for (size_t c = 0; c < width_; c++) {
      const int opened = before - kOpen;
      const bool is_long = right > opened;
      right = std::max(opened, right) - kExtend;
      before = std::max({best[c], right, kNever});
      const bool from_left = right > best[c];
      steps[c] = static_cast<uint8_t>((from_left ? (steps[c] & ~kFrom) | kRight : steps[c]) |
                                      (is_long ? kLongRight : 0));
      best[c] = before;
    }
  }

  /// How well the row fits each column of the band.
  void fill_fits(size_t i) {
    const Features& node = rows_[i - 1];
    const size_t low = low_[i], first = low == 0 ? 1 : 0;  // there is no column before the first
    if (low == 0) fits_[0] = kNever;
    for (size_t c = first; c < width_; c++) fits_[c] = similarity(node, columns_.at(low + c - 1));
  }

  /// Follows the steps of a block to the row before it.
  void go_back(size_t first) {
    while (row_ > first || (row_ == 0 && column_ > 0)) {
      const uint8_t step =
          row_ == 0 ? uint8_t{kRight} : steps_[(row_ - first) * width_ + column_ - low_[row_]];
      if (state_ == kDiagonal) state_ = static_cast<Step>(step & kFrom);
      if (state_ == kDiagonal) {
        pairs_.push_back({static_cast<uint32_t>(--row_), static_cast<uint32_t>(--column_)});
        continue;
      }
      const bool goes_on = (step & (state_ == kDown ? kLongDown : kLongRight)) != 0;
      (state_ == kDown ? row_ : column_)--;
      if (!goes_on) state_ = kDiagonal;
    }
  }

  std::span<const Features> rows_;
  Columns columns_;
  size_t width_;
  std::vector<uint32_t> low_;  ///< first column of the band in each row
  std::vector<int> fits_;
  std::vector<uint8_t> steps_;
  size_t row_ = 0, column_ = 0;
  Step state_ = kDiagonal;
  std::vector<Pair> pairs_;
};

}  // namespace

std::vector<Pair> align_band(std::span<const Features> a, std::span<const Features> b, size_t width) {
  if (a.empty() || b.empty()) return {};
  if (a.size() >= b.size()) return Band(a, b, width).run();
  auto pairs = Band(b, a, width).run();
  for (Pair& pair : pairs) std::swap(pair.a, pair.b);
  return pairs;
}

}  // namespace nl::align
