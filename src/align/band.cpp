#include "align/band.h"

#include <algorithm>

#include "align/guide.h"
#include "base/call_control.h"

namespace nl::align {
namespace {

constexpr int kOpen = 7;    // of a gap, beside its length
constexpr int kExtend = 1;  // for each node of it
constexpr int kNever = -(1 << 29);
constexpr size_t kLeastBlock = 1024;             // rows whose steps are kept at a time
constexpr size_t kMostSteps = size_t{24} << 20;  // of more rows than that
constexpr size_t kNarrow = 256;                  // columns of the band that is tried first
constexpr size_t kClear = kNarrow / 4;           // how far from its edges a way is trusted

/// Where a cell of the table came from, and whether gaps that end in it go on.
enum Step : uint8_t { kDiagonal = 0, kDown = 1, kRight = 2, kFrom = 3, kLongDown = 4, kLongRight = 8 };

/// Features by column, for loops over many columns.
struct Columns {
  explicit Columns(std::span<const Features> nodes) {
    for (auto* list : {&name, &family, &shape, &place, &around, &op, &opens}) list->reserve(nodes.size());
    for (const Features& f : nodes) {
      name.push_back(f.name);
      family.push_back(f.family);
      shape.push_back(f.shape);
      place.push_back(f.place);
      around.push_back(f.around);
      op.push_back(f.op);
      opens.push_back(f.opens);
    }
  }

  /// The similarity of a node to `count` columns from the first on: as similarity() has it, in short loops
  /// that compilers turn into vector code.
  void fit(const Features& node, size_t first, size_t count, int* out) const {
    const uint32_t own_family = node.family == 0 ? kNone : node.family, own_name = node.name;
    const int other_family = node.family == 0 ? kFitUnknown : kFitNothing;
    const uint32_t *names = name.data() + first, *families = family.data() + first;
    for (size_t c = 0; c < count; c++) {
      const int unlike = families[c] == 0 ? kFitUnknown : other_family;
      const int by_family = families[c] == own_family ? kFitFamily : unlike;
      out[c] = names[c] == own_name ? kFitName : by_family;
    }
    if (node.shape != 0) add_shape(node.shape, first, count, out);
    if (node.op != 0) add_place(node, first, count, out);
    if (node.opens != 0) add_equal(opens.data() + first, node.opens, count, out);
  }

 private:
  void add_shape(uint32_t own, size_t first, size_t count, int* out) const {
    const uint32_t* shapes = shape.data() + first;
    for (size_t c = 0; c < count; c++) {
      const int known = shapes[c] == own ? kFitShape : kFitOtherShape;
      out[c] += shapes[c] == 0 ? 0 : known;
    }
  }
  void add_place(const Features& node, size_t first, size_t count, int* out) const {
    const uint32_t *places = place.data() + first, *arounds = around.data() + first, *ops = op.data() + first;
    const uint32_t own_place = node.place, own_around = node.around, own_op = node.op;
    for (size_t c = 0; c < count; c++) {
      const int by_op = ops[c] == own_op ? kFitOp : kFitOtherPlace;
      const int by_around = arounds[c] == own_around ? kFitAround : by_op;
      const int known = places[c] == own_place ? kFitPlace : by_around;
      out[c] += ops[c] == 0 ? 0 : known;
    }
  }
  static void add_equal(const uint32_t* values, uint32_t own, size_t count, int* out) {
    for (size_t c = 0; c < count; c++) out[c] += values[c] == own ? kFitOpens : 0;
  }

 public:
  size_t size() const { return name.size(); }

 private:
  PagedVector<uint32_t> name, family, shape, place, around, op, opens;
};

/// A row of the table: best scores, and those that end in a gap of the columns' side. Behind the band stand
/// some cells that no way reaches, for rows that begin further right.
struct Row {
  explicit Row(size_t width) : best(width + most_shift(width) + 1, kNever), down(best) {}
  PagedVector<int> best, down;
};

/// The longer side are the rows, so that the band seldom moves by more than one column.
class Band {
 public:
  Band(std::span<const Features> rows, std::span<const Features> columns, size_t width, Guide guide)
      : rows_(rows),
        columns_(columns),
        width_(std::min(width, columns.size() + 1)),
        block_(std::min(rows.size(), std::max(kLeastBlock, kMostSteps / width_))),
        low_(band_of(rows, columns, width_, guide)),
        fits_(width_),
        steps_((block_ + 1) * width_) {}

  /// False if the way comes nearer than `clear` to an edge of the band that has columns behind it.
  bool find_way(size_t clear) {
    PagedVector<Row> starts = sweep();
    for (size_t block = starts.size(); block-- > 0;) {
      fill_steps(block * block_, std::move(starts[block]));
      go_back(block * block_);
      if (nearest_edge_ < clear) return false;
    }
    std::reverse(pairs_.begin(), pairs_.end());
    return true;
  }
  PagedVector<Pair> take_pairs() { return std::move(pairs_); }

 private:
  /// The row before each block.
  PagedVector<Row> sweep() {
    PagedVector<Row> starts;
    Row before = first_row(), now(width_);
    for (size_t i = 0; i < rows_.size(); i++) {
      if (i % kLeastBlock == 0) stop_if_cancelled();
      if (i % block_ == 0) starts.push_back(before);
      if (i / block_ == (rows_.size() - 1) / block_) break;  // the last block is next anyway
      fill(i + 1, before, now, nullptr);
      std::swap(before, now);
    }
    return starts;
  }

  Row first_row() const {
    Row row(width_);
    row.best[1] = 0;
    for (size_t j = 1; j < width_; j++) row.best[j + 1] = -kOpen - kExtend * static_cast<int>(j);
    return row;
  }

  void fill_steps(size_t first, Row before) {
    Row now(width_);
    const size_t end = std::min(first + block_, rows_.size());
    for (size_t i = first + 1; i <= end; i++) {
      if (i % kLeastBlock == 1) stop_if_cancelled();
      fill(i, before, now, steps_.data() + (i - first) * width_);
      std::swap(before, now);
    }
    if (end == rows_.size()) row_ = end, column_ = columns_.size();
  }

  /// With `steps` their steps are written, too.
  void fill(size_t i, const Row& before, Row& now, uint8_t* steps) {
    const size_t shift = low_[i] - low_[i - 1];
    fill_fits(i);
    if (steps == nullptr) {
      fill_from_above(shift, before, now);
      fill_from_left(now);
    } else {
      fill_from_above(shift, before, now);
      fill_steps_from_above(shift, before, now, steps);
      fill_steps_from_left(now, steps);
    }
  }

  /// Without gaps of the rows' side; no cell depends on its neighbour.
  void fill_from_above(size_t shift, const Row& before, Row& now) const {
    const int *best = before.best.data() + shift + 1, *down_before = before.down.data() + shift + 1;
    const int *corner = best - 1, *fits = fits_.data();
    int *out = now.best.data() + 1, *out_down = now.down.data() + 1;
    const size_t width = width_;
    for (size_t c = 0; c < width; c++) {
      const int opened = best[c] - kOpen, longer = down_before[c];
      const int down = (opened > longer ? opened : longer) - kExtend, fit = corner[c] + fits[c];
      out_down[c] = down;
      out[c] = fit > down ? fit : down;
    }
  }

  void fill_steps_from_above(size_t shift, const Row& before, const Row& now, uint8_t* steps) const {
    const int *best = before.best.data() + shift + 1, *down_before = before.down.data() + shift + 1;
    const int *corner = best - 1, *fits = fits_.data(), *down = now.down.data() + 1;
    for (size_t c = 0; c < width_; c++) {
      const int is_down = down[c] > corner[c] + fits[c], is_long = down_before[c] > best[c] - kOpen;
      steps[c] = static_cast<uint8_t>(is_down * kDown + is_long * kLongDown);
    }
  }

  /// A gap of the rows' side that ends in c began behind the cell k with the highest best[k] + kExtend * k.
  void fill_from_left(Row& now) const {
    int* best = now.best.data() + 1;
    int highest = kNever;
    for (int c = 0; c < static_cast<int>(width_); c++) {
      const int right = highest - kOpen - kExtend * c, here = best[c];
      highest = std::max(highest, here + kExtend * c);
      best[c] = std::max(here, right);
    }
  }

  void fill_steps_from_left(Row& now, uint8_t* steps) const {
    int* best = now.best.data() + 1;
    int highest = kNever;
    bool is_long = false;
    for (int c = 0; c < static_cast<int>(width_); c++) {
      const int right = highest - kOpen - kExtend * c, here = best[c];
      if (is_long) steps[c] |= kLongRight;
      if (right > here) steps[c] = static_cast<uint8_t>((steps[c] & ~kFrom) | kRight);
      is_long = highest > here + kExtend * c;
      highest = std::max(highest, here + kExtend * c);
      best[c] = std::max(here, right);
    }
  }

  /// How well the row fits each column of the band.
  void fill_fits(size_t i) {
    const size_t low = low_[i], none = low == 0 ? 1 : 0;  // there is no column before the first
    fits_[0] = kNever;
    columns_.fit(rows_[i - 1], low + none - 1, width_ - none, fits_.data() + none);
  }

  /// Follows the steps of a block to the row before it.
  void go_back(size_t first) {
    while (row_ > first || (row_ == 0 && column_ > 0)) {
      look_at_edges();
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

  void look_at_edges() {
    const size_t low = low_[row_], last = low + width_ - 1;
    if (low > 0) nearest_edge_ = std::min(nearest_edge_, column_ - low);
    if (last < columns_.size()) nearest_edge_ = std::min(nearest_edge_, last - column_);
  }

  std::span<const Features> rows_;
  Columns columns_;
  size_t width_;
  size_t block_;               ///< rows of a block; a single one needs no sweep before it
  PagedVector<uint32_t> low_;  ///< first column of the band in each row
  PagedVector<int> fits_;
  PagedVector<uint8_t> steps_;
  size_t row_ = 0, column_ = 0;
  size_t nearest_edge_ = SIZE_MAX;  ///< least distance of the way to an edge that has columns behind it
  Step state_ = kDiagonal;
  PagedVector<Pair> pairs_;
};

/// The way mostly stays near the straight one. Where it keeps clear of the edges of a narrow band, a wide one
/// gives the same: to leave the narrow one and to come back costs two long gaps. A long stretch that one side
/// has more leads to an edge.
PagedVector<Pair> way_of(std::span<const Features> rows, std::span<const Features> columns, size_t width) {
  if (kNarrow < width && columns.size() > kNarrow) {
    Band narrow(rows, columns, kNarrow, Guide::kStraight);
    if (narrow.find_way(kClear)) return narrow.take_pairs();
  }
  Band wide(rows, columns, width, Guide::kBent);
  wide.find_way(0);
  return wide.take_pairs();
}

}  // namespace

PagedVector<Pair> align_band(std::span<const Features> a, std::span<const Features> b, size_t width) {
  if (a.empty() || b.empty()) return {};
  if (a.size() >= b.size()) return way_of(a, b, width);
  auto pairs = way_of(b, a, width);
  for (Pair& pair : pairs) std::swap(pair.a, pair.b);
  return pairs;
}

}  // namespace nl::align
