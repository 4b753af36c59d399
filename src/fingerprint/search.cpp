#include "fingerprint/search.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/checked_thread.h"

namespace nl::fingerprint {
namespace {

constexpr size_t kRowsOfAThread = 50'000;  // at least; fewer are not worth a thread

/// The query as a block needs it: packed for the dimensions in common, and where those lie in a row.
struct Question {
  Mask shared;
  double weight;
  std::vector<float> query;
  std::vector<ColumnRange> ranges;
};

/// Neighbouring ranges become one.
void add_range(std::vector<ColumnRange>& ranges, ColumnRange next) {
  const bool joins = !ranges.empty() && ranges.back().row + ranges.back().length == next.row;
  if (joins) {
    ranges.back().length += next.length;
  } else {
    ranges.push_back(next);
  }
}

Question question_for(const Fingerprint& asked, Mask block) {
  Question out{asked.present & block, 0, {}, {}};
  out.weight = weight_of(out.shared);
  out.query = packed(asked, out.shared);
  size_t in_query = 0, in_row = 0;
  for (const DimensionInfo& one : all_dimensions()) {
    const auto dimension = static_cast<Dimension>(&one - all_dimensions().data());
    if (!has(block, dimension)) continue;
    if (has(out.shared, dimension)) {
      add_range(out.ranges, {in_query, in_row, one.columns});
      in_query += one.columns;
    }
    in_row += one.columns;
  }
  return out;
}

bool is_dead(const SearchedBlock& block, size_t row) {
  return row < block.dead.size() && block.dead[row];
}

void scan(const SearchedBlock& block, const Question& question, uint32_t number, size_t begin, size_t end,
          Nearest& nearest) {
  const SquaredDistance squared = squared_distance_here();
  const std::vector<ColumnRange> pieces = cut(question.ranges);
  const auto weight = static_cast<float>(question.weight);
  for (size_t row = begin; row < end; row++) {
    const float limit = nearest.limit() * weight;
    const float distance =
        bounded_distance(squared, question.query.data(), block.rows.vector(row), pieces, limit);
    if (distance <= limit && !is_dead(block, row))
      nearest.offer(distance / weight, number, static_cast<uint32_t>(row));
  }
}

Result<void> scan_in_threads(const SearchedBlock& block, const Question& question, uint32_t number,
                             size_t begin, const SearchOptions& options, size_t k, Nearest& nearest) {
  const size_t rows = block.rows.size() - begin;
  const auto wanted = static_cast<size_t>(std::max(options.threads, 1));
  const size_t threads = std::clamp<size_t>(rows / kRowsOfAThread, 1, wanted);
  if (threads == 1) {
    scan(block, question, number, begin, block.rows.size(), nearest);
    return {};
  }
  std::vector<Nearest> found(threads, Nearest(k));
  std::vector<CheckedThread> running;
  for (size_t t = 0; t < threads; t++) {
    const size_t from = begin + rows * t / threads, to = begin + rows * (t + 1) / threads;
    running.emplace_back([&, t, from, to] {
      scan(block, question, number, from, to, found[t]);
      return Result<void>();
    });
  }
  for (CheckedThread& one : running) NL_CHECK(one.join());
  for (const Nearest& one : found) nearest.add(one);
  return {};
}

/// In double precision and in the order of the columns.
double exact_distance(const Question& question, const float* row) {
  double sum = 0;
  for (const ColumnRange& range : question.ranges) {
    for (size_t i = 0; i < range.length; i++) {
      const double difference =
          static_cast<double>(question.query[range.query + i]) - static_cast<double>(row[range.row + i]);
      sum += difference * difference;
    }
  }
  return std::sqrt(sum / question.weight);
}

}  // namespace

Result<SearchResult> search(const std::vector<SearchedBlock>& blocks, const Fingerprint& asked,
                            const SearchOptions& options) {
  const size_t k = options.top + 1;  // the asked run itself may be among them
  SearchResult result;
  Nearest nearest(k);
  std::vector<Question> questions;
  for (uint32_t b = 0; b < blocks.size(); b++) {
    const SearchedBlock& block = blocks[b];
    questions.push_back(question_for(asked, block.rows.mask()));
    const auto dead = static_cast<size_t>(std::count(block.dead.begin(), block.dead.end(), true));
    result.searched += block.rows.size() - dead;
    if (!comparable(asked.present, block.rows.mask())) {
      result.too_different += block.rows.size() - dead;
      continue;
    }
    const bool indexed = options.with_index && block.index && questions.back().shared == block.rows.mask();
    if (indexed) {
      block.index->search(
          block.rows, questions.back().query.data(), static_cast<float>(questions.back().weight), b,
          [&](uint32_t row) { return is_dead(block, row); }, nearest);
    }
    NL_CHECK(
        scan_in_threads(block, questions.back(), b, indexed ? block.index->size() : 0, options, k, nearest));
  }
  for (const Candidate& one : nearest.take()) {
    const RowBlock& rows = blocks[one.block].rows;
    const RowKey key = rows.key(one.row);
    if (options.without && key.run_id == options.without->run_id) continue;
    const Question& question = questions[one.block];
    result.neighbors.push_back({key, exact_distance(question, rows.vector(one.row)), question.shared});
  }
  std::sort(result.neighbors.begin(), result.neighbors.end(), [](const Neighbor& a, const Neighbor& b) {
    return std::tie(a.distance, a.key) < std::tie(b.distance, b.key);
  });
  if (result.neighbors.size() > options.top) result.neighbors.resize(options.top);
  return result;
}

}  // namespace nl::fingerprint
