#include "follow/live_picture.h"

#include <algorithm>

#include "ingest/source/utf8.h"

namespace nl::follow {
namespace {

using model::kNull;
using model::TableId;

constexpr size_t kRowBuckets = 4096;
constexpr uint32_t kFinestBuckets = 20;  ///< 1 ms: closer than that, single spans are drawn
constexpr uint32_t kMostDepth = 63;      ///< deeper scopes share the last row
constexpr size_t kMostCells = 1 << 20;   ///< of a drawing, all rows together
constexpr size_t kMostOpen = 10'000;     ///< that are drawn
constexpr int64_t kAnnotationKind = 2, kInstantKind = 7;
constexpr const char* kOtherNames = "(other names)";

enum Group : uint32_t { kScopes, kCalls, kWaits };

}  // namespace

void LivePicture::choose_exponent() {
  exponent_ = kFinestBuckets;
  while (limits_.keep_ns >> exponent_ >= static_cast<int64_t>(kRowBuckets)) exponent_++;
}

void LivePicture::keep(int64_t keep_ns) {
  if (keep_ns == limits_.keep_ns) return;
  limits_.keep_ns = keep_ns;
  choose_exponent();
  for (auto& [number, row] : rows_) row.buckets = LiveBuckets(exponent_, kRowBuckets);
  spans_.for_each(INT64_MIN, INT64_MAX, [&](const LiveSpan& span) {
    if (const auto row = rows_.find(span.row); row != rows_.end()) row->second.buckets.add(span);
  });
}

// ---- Taking rows

Result<void> LivePicture::push(std::shared_ptr<model::Batch> batch) {
  namespace copies = model::copies;
  namespace kernels = model::kernels;
  namespace spans = model::spans;
  namespace syncs = model::syncs;
  static constexpr Columns kAll[] = {
      {TableId::spans, 0, spans::track_id, spans::name, spans::start_ns, spans::dur_ns},
      {TableId::kernels, 1, kernels::track_id, kernels::name, kernels::start_ns, kernels::dur_ns},
      {TableId::copies, 2, copies::track_id, copies::name, copies::start_ns, copies::dur_ns},
      {TableId::syncs, 3, syncs::track_id, syncs::name, syncs::start_ns, syncs::dur_ns}};
  batch_names_.assign(batch->strings.size(), -1);
  for (const Columns& columns : kAll) push_table(*batch, columns);
  return {};
}

void LivePicture::push_table(const model::Batch& batch, const Columns& columns) {
  const model::Rows& rows = batch.rows(columns.table);
  const bool is_spans = columns.table == TableId::spans;
  for (size_t row = 0; row < rows.size(); row++) {
    const int64_t track = rows.cell(row, columns.track);
    const int64_t start = rows.cell(row, columns.start);
    const int64_t duration = rows.cell(row, columns.duration);
    if (track == kNull || start == kNull) continue;  // it has no place
    RowKey key{batch.track_ids[static_cast<size_t>(track)], kScopes, 0};
    const int64_t kind = is_spans ? rows.cell(row, model::spans::kind) : kNull;
    if (is_spans && (kind == kAnnotationKind || kind == kInstantKind))
      key.depth = std::min(decoder_->depth(row), kMostDepth);
    else if (is_spans)
      key.group = kCalls;
    else if (columns.table == TableId::syncs)
      key.group = kWaits;
    add(key, start - origin_ns_, duration == kNull ? 0 : duration,
        number_of(batch, rows.cell(row, columns.name)), columns.number);
  }
}

void LivePicture::add(const RowKey& key, int64_t start_ns, int64_t dur_ns, uint32_t name, uint32_t table) {
  followed_++;
  const auto number = row_of(key);
  if (!number) {
    left_++;
    without_row_++;
    return;
  }
  next_item_ = (next_item_ + 1) & static_cast<uint32_t>(timeline::ItemId::kMostNumber);
  const LiveSpan span{start_ns, dur_ns, *number, name, timeline::ItemId(table, next_item_).packed()};
  LiveRow& row = rows_.at(*number);
  row.spans++;
  row.end_ns = std::max(row.end_ns, span.end_ns());
  row.buckets.add(span);
  sums_.add(name, span.end_ns(), dur_ns);
  newest_ns_ = std::max(newest_ns_, span.end_ns());
  spans_.add(span);
  left_ += spans_.leave(newest_ns_ - limits_.keep_ns);
}

void LivePicture::leave(int64_t now_ns) {
  left_ += spans_.leave(now_ns - limits_.keep_ns);
}

/// Nothing if there are too many rows, and all of them show something.
std::optional<uint32_t> LivePicture::row_of(const RowKey& key) {
  if (const auto known = row_numbers_.find(key); known != row_numbers_.end()) return known->second;
  if (rows_.size() >= limits_.most_rows && !forget_an_old_row()) return std::nullopt;
  const uint32_t number = next_row_++;
  rows_.emplace(number, LiveRow{key, 0, 0, LiveBuckets(exponent_, kRowBuckets)});
  row_numbers_.emplace(key, number);
  return number;
}

/// A program with many tasks makes rows without end; those that have gone quiet make room.
bool LivePicture::forget_an_old_row() {
  const auto oldest = std::min_element(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) {
    return a.second.end_ns < b.second.end_ns;
  });
  if (oldest == rows_.end() || oldest->second.end_ns > newest_ns_ - limits_.keep_ns) return false;
  row_numbers_.erase(oldest->second.key);
  rows_.erase(oldest);
  return true;
}

uint32_t LivePicture::number_of(std::string_view text) {
  const bool is_full = names_.size() >= limits_.most_names;
  const std::string key(is_full && !name_numbers_.contains(std::string(text)) ? kOtherNames : text);
  const auto [it, is_new] = name_numbers_.try_emplace(key, static_cast<uint32_t>(names_.size()));
  if (is_new) names_.push_back(&it->first);  // keys of the table stay where they are
  return it->second;
}

uint32_t LivePicture::number_of(const model::Batch& batch, int64_t text) {
  if (text == kNull) return number_of("(no name)");
  int64_t& number = batch_names_[static_cast<size_t>(text)];
  if (number < 0) number = number_of(batch.strings[static_cast<size_t>(text)]);
  return static_cast<uint32_t>(number);
}

// ---- Drawing

namespace {

using timeline::Viewport;

std::vector<LiveBucket>& cells_of(std::map<uint32_t, std::vector<LiveBucket>>& cells, uint32_t row,
                                  const Viewport& view) {
  std::vector<LiveBucket>& list = cells[row];
  if (list.empty()) list.resize(view.buckets);
  return list;
}

void add_to_cells(std::vector<LiveBucket>& list, const LiveSpan& span, const Viewport& view) {
  const int64_t first = std::max<int64_t>(0, (span.start_ns >> view.exponent) - view.first);
  const int64_t last =
      std::min<int64_t>(view.buckets - 1, ((span.reach_ns() - 1) >> view.exponent) - view.first);
  for (int64_t i = first; i <= last; i++)
    list[static_cast<size_t>(i)].add(span, view.begin_ns(i), int64_t{1} << view.exponent);
}

/// Neighbouring buckets that show the same span are one item.
void put_row(uint32_t row, const std::vector<LiveBucket>& list, const Viewport& view,
             timeline::TileColumns& out, std::vector<uint32_t>& names,
             std::unordered_map<uint32_t, uint32_t>& known) {
  const int64_t length = int64_t{1} << view.exponent;
  const size_t begin = out.items.size();
  for (uint32_t i = 0; i < list.size(); i++) {
    const LiveBucket& one = list[i];
    if (!one.is_used) continue;
    const int64_t busy = std::min(one.busy_ns, length);
    const bool goes_on = out.items.size() > begin && out.items.back().packed() == one.longest.item &&
                         out.bucket.back() + out.buckets.back() == i;
    if (goes_on) {
      out.buckets.back()++;
      out.count.back() += one.count;
      out.busy_ns.back() += busy;
      continue;
    }
    const auto [it, is_new] = known.try_emplace(one.longest.name, static_cast<uint32_t>(names.size()));
    if (is_new) names.push_back(one.longest.name);
    out.bucket.push_back(i);
    out.buckets.push_back(1);
    out.count.push_back(one.count);
    out.busy_ns.push_back(busy);
    const uint32_t item = one.longest.item;
    out.items.emplace_back(item >> timeline::ItemId::kNumberBits,
                           item & static_cast<uint32_t>(timeline::ItemId::kMostNumber));
    out.start_ns.push_back(one.longest.start_ns);
    out.dur_ns.push_back(one.longest.dur_ns);
    out.name.push_back(it->second);
  }
  out.rows.push_back(row);
  out.ends.push_back(static_cast<uint32_t>(out.items.size()));
}

/// The same stretch in buckets of this exponent.
Viewport coarser(const Viewport& view, uint32_t exponent) {
  const int64_t begin = view.begin_ns(0), end = view.begin_ns(view.buckets);
  const int64_t first = begin >> exponent;
  return {exponent, first, static_cast<uint32_t>(((end - 1) >> exponent) - first + 1)};
}

}  // namespace

void LivePicture::fill_from_spans(const Viewport& view, Cells& cells) const {
  spans_.for_each(view.begin_ns(0), view.begin_ns(view.buckets), [&](const LiveSpan& span) {
    if (rows_.contains(span.row)) add_to_cells(cells_of(cells, span.row, view), span, view);
  });
}

void LivePicture::fill_from_buckets(const Viewport& view, Cells& cells) const {
  const uint32_t up = view.exponent - exponent_;
  for (const auto& [number, row] : rows_) {
    if (row.end_ns < view.begin_ns(0)) continue;
    row.buckets.for_each([&, row_number = number](int64_t bucket, const LiveBucket& one) {
      const int64_t at = (bucket >> up) - view.first;
      if (at >= 0 && at < int64_t{view.buckets})
        cells_of(cells, row_number, view)[static_cast<size_t>(at)].add(one);
    });
  }
}

void LivePicture::add_open(const Viewport& view, int64_t now_ns, Cells& cells) {
  size_t drawn = 0;
  uint32_t item = 0;
  decoder_->for_each_open([&](const ingest::DecodedOpen& open) {
    const int64_t start = open.start_ns - origin_ns_;
    if (drawn++ >= kMostOpen || start >= view.begin_ns(view.buckets) || now_ns <= view.begin_ns(0)) return;
    const auto row = row_of({open.track, kScopes, std::min(open.depth, kMostDepth)});
    if (!row) return;
    rows_.at(*row).end_ns = std::max(rows_.at(*row).end_ns, now_ns);  // it shows something
    const uint32_t name = number_of(ingest::repaired_utf8(open.name));
    const auto number = static_cast<uint32_t>(timeline::ItemId::kMostNumber) - item++;
    add_to_cells(
        cells_of(cells, *row, view),
        {start, std::max<int64_t>(0, now_ns - start), *row, name, timeline::ItemId(0, number).packed()},
        view);
  });
}

DrawnTile LivePicture::draw(const Viewport& asked, int64_t now_ns) {
  const bool are_spans_kept = asked.begin_ns(0) >= spans_.complete_from_ns();
  DrawnTile tile{asked, {}, {}};
  if (asked.exponent < exponent_ && !are_spans_kept) tile.viewport = coarser(asked, exponent_);
  while (rows_.size() * tile.viewport.buckets > kMostCells)
    tile.viewport = coarser(tile.viewport, tile.viewport.exponent + 1);
  const Viewport& view = tile.viewport;
  Cells cells;
  if (view.exponent >= exponent_)
    fill_from_buckets(view, cells);
  else
    fill_from_spans(view, cells);
  add_open(view, now_ns, cells);
  std::vector<uint32_t> names;
  std::unordered_map<uint32_t, uint32_t> known;
  for (const auto& [number, list] : cells) put_row(number, list, view, tile.columns, names, known);
  for (const uint32_t number : names) tile.names.push_back(name(number));
  tile.columns.names = std::move(names);
  return tile;
}

}  // namespace nl::follow
