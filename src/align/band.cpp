#include "align/band.h"

#include <algorithm>

namespace nl::align {
namespace {

constexpr int kOpen = 7;     // of a gap, beside its length
constexpr int kExtend = 1;   // for each node of it
constexpr int kNever = -(1 << 28);
constexpr size_t kWidth = 256;   // columns of the band
constexpr size_t kRows = 768;    // of a window
constexpr size_t kSettled = 512;  // of them settled before the next window begins
constexpr size_t kShift = 8;     // columns that the band may move in a row

/// Where a cell of the table came from.
enum Step : uint8_t { kDiagonal = 0, kDown = 1, kRight = 2, kFrom = 3, kLongDown = 4, kLongRight = 8 };

/// One window: rows of one side against a band of columns of the other, from a corner that is settled.
class Window {
 public:
  /// `rows_behind` and `columns_behind`: how many there are behind the window's first row and column.
  Window(std::span<const Features> rows, std::span<const Features> columns, size_t rows_behind,
         size_t columns_behind)
      : rows_(rows), columns_(columns), rows_behind_(rows_behind), columns_behind_(columns_behind),
        width_(std::min(kWidth, columns.size() + 1)) {
    best_.resize(width_ + 1);
    down_.resize(width_ + 1);
    steps_.resize((rows.size() + 1) * width_);
    low_.resize(rows.size() + 1);
    first_row();
    for (size_t i = 1; i <= rows_.size(); i++) row(i);
  }

  /// The way back from the end: the corner if the band holds it and `to_corner`, else the best cell of the last row.
  std::vector<Pair> way(bool to_corner) const {
    std::vector<Pair> pairs;
    size_t i = rows_.size(), j = last_best_;
    if (to_corner && low_.back() + width_ > columns_.size()) j = columns_.size();
    Step state = kDiagonal;
    while ((i > 0 || j > 0) && j >= low_[i]) {
      const uint8_t step = steps_[i * width_ + (j - low_[i])];
      if (state == kDiagonal) state = static_cast<Step>(step & kFrom);
      if (state == kDiagonal) {
        pairs.push_back({static_cast<uint32_t>(--i), static_cast<uint32_t>(--j)});
      } else {
        const bool goes_on = (step & (state == kDown ? kLongDown : kLongRight)) != 0;
        (state == kDown ? i : j)--;
        if (!goes_on) state = kDiagonal;
      }
    }
    std::reverse(pairs.begin(), pairs.end());
    return pairs;
  }

 private:
  void first_row() {
    for (size_t j = 0; j < width_; j++) {
      best_[j] = j == 0 ? 0 : -kOpen - kExtend * static_cast<int>(j);
      down_[j] = kNever;
      steps_[j] = j <= 1 ? kRight : kRight | kLongRight;
    }
  }

  /// Moves the band so that the best cell of the row before stays in its middle.
  size_t shift_of(size_t i) const {
    const size_t most = columns_.size() + 1 - width_, low = low_[i - 1];
    const size_t wanted = last_best_ > width_ / 2 ? last_best_ + 1 - width_ / 2 : 0;
    return std::min({wanted > low ? wanted - low : 0, most - low, kShift});
  }

  /// What the gaps up to the end will cost at least.
  int outlook(size_t i, size_t j) const {
    const auto more = static_cast<int64_t>(rows_behind_ - i) - static_cast<int64_t>(columns_behind_ - j);
    return more == 0 ? 0 : kOpen + kExtend * static_cast<int>(more < 0 ? -more : more);
  }

  /// best_ and down_ hold the row before and become this one.
  void row(size_t i) {
    const size_t shift = shift_of(i), low = low_[i] = low_[i - 1] + shift;
    int diagonal = shift > 0 ? best_[shift - 1] : kNever, right = kNever, before = kNever, top = kNever;
    size_t top_at = 0;
    uint8_t* steps = steps_.data() + i * width_;
    const Features& node = rows_[i - 1];
    for (size_t c = 0; c < width_; c++) {
      const bool known = c + shift < width_;
      const int above = known ? best_[c + shift] : kNever, above_down = known ? down_[c + shift] : kNever;
      const int down = std::max(above - kOpen, above_down) - kExtend;
      const int long_right = right;
      right = std::max(before - kOpen, long_right) - kExtend;
      const int fit = low + c == 0 ? kNever : diagonal + similarity(node, columns_[low + c - 1]);
      int score = fit;
      uint8_t step = kDiagonal;
      if (down > score) score = down, step = kDown;
      if (right > score) score = right, step = kRight;
      step |= (above_down > above - kOpen ? kLongDown : 0) | (long_right > before - kOpen ? kLongRight : 0);
      steps[c] = step;
      diagonal = above;
      best_[c] = before = std::max(score, kNever);
      down_[c] = std::max(down, kNever);
      const int reached = score - outlook(i, low + c);
      if (reached > top) top = reached, top_at = c;
    }
    last_best_ = low + top_at;
  }

  std::span<const Features> rows_, columns_;
  size_t rows_behind_, columns_behind_, width_;
  std::vector<int> best_, down_;
  std::vector<uint8_t> steps_;
  std::vector<size_t> low_;
  size_t last_best_ = 0;
};

/// Rows are the longer side: what it has more than the other is skipped while the band stays.
class Walk {
 public:
  Walk(std::span<const Features> rows, std::span<const Features> columns) : rows_(rows), columns_(columns) {}

  std::vector<Pair> run() {
    for (;;) {
      while (i_ < rows_.size() && j_ < columns_.size() && equal_tokens(rows_[i_], columns_[j_])) take(1, 1);
      if (i_ == rows_.size() || j_ == columns_.size()) return std::move(pairs_);
      window();
    }
  }

 private:
  void take(size_t rows, size_t columns) {
    if (rows == 1 && columns == 1) pairs_.push_back({static_cast<uint32_t>(i_), static_cast<uint32_t>(j_)});
    i_ += rows;
    j_ += columns;
  }

  void window() {
    const size_t count = std::min(kRows, rows_.size() - i_);
    const bool is_last = i_ + count == rows_.size();
    const size_t reach = std::min(columns_.size() - j_, count * kShift + kWidth);
    const auto way =
        Window(rows_.subspan(i_, count), columns_.subspan(j_, reach), rows_.size() - i_, columns_.size() - j_)
            .way(is_last);
    const size_t settled = is_last ? count : kSettled;
    size_t column = 0;
    for (const Pair& pair : way) {
      if (pair.a >= settled) break;
      pairs_.push_back({static_cast<uint32_t>(i_ + pair.a), static_cast<uint32_t>(j_ + pair.b)});
      column = pair.b + 1;
    }
    i_ += settled;
    j_ += column;
  }

  std::span<const Features> rows_, columns_;
  size_t i_ = 0, j_ = 0;
  std::vector<Pair> pairs_;
};

}  // namespace

std::vector<Pair> align_band(std::span<const Features> a, std::span<const Features> b) {
  if (a.size() >= b.size()) return Walk(a, b).run();
  auto pairs = Walk(b, a).run();
  for (Pair& pair : pairs) std::swap(pair.a, pair.b);
  return pairs;
}

}  // namespace nl::align
