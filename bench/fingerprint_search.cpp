// Search among made-up fingerprints: flat scan and index, the same answers expected. See
// fingerprint_search.py.
//
// usage: fingerprint_search FOLDER ROWS WORKLOADS QUERIES THREADS
//
// Writes FOLDER/fingerprints.rows with its index, FOLDER/queries.f32 and FOLDER/found.bin (run ids of the
// flat scan), and prints one line of JSON. WORKLOADS 0: every run is a workload of its own, so that there are
// no groups.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

#include "base/files.h"
#include "fingerprint/search.h"

namespace {

using namespace nl::fingerprint;

struct Dice {
  uint64_t state;
  uint64_t roll() {
    state += 0x9e3779b97f4a7c15U;
    uint64_t x = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }
  double unit() { return static_cast<double>(roll() >> 11) * 0x1p-53; }
};

constexpr Dimension kMeasured[] = {Dimension::lat_norm, Dimension::ai,     Dimension::classes,
                                   Dimension::time,     Dimension::idle,   Dimension::launch,
                                   Dimension::ops,      Dimension::sizes,  Dimension::op_sizes,
                                   Dimension::shapes,   Dimension::widths, Dimension::tail_p90};

float* columns(Fingerprint& print, Dimension dimension) {
  return print.columns.data() + info(dimension).first_column;
}

void normalise(float* values, size_t count) {
  float sum = 0;
  for (size_t i = 0; i < count; i++) sum += values[i];
  for (size_t i = 0; i < count && sum > 0; i++) values[i] /= sum;
}

/// A few columns of each dimension hold most of the time.
Fingerprint workload(uint64_t number) {
  Dice dice{number * 7919 + 17};
  Fingerprint print;
  for (const Dimension dimension : kMeasured) {
    print.present |= bit(dimension);
    float* values = columns(print, dimension);
    const size_t count = info(dimension).columns;
    if (count == 1) {
      values[0] = static_cast<float>(dice.unit());
      continue;
    }
    const size_t used = std::min<size_t>(count, 3 + dice.roll() % 8);
    for (size_t i = 0; i < used; i++) {
      const double u = dice.unit();
      values[dice.roll() % count] += static_cast<float>(u * u * u + 0.01);
    }
    normalise(values, count);
  }
  return print;
}

/// A run of it: every share up to a tenth more or less, every number by up to two hundredths.
Fingerprint run_of(Fingerprint print, Dice& dice) {
  const double noise = 0.02 + 0.08 * dice.unit();
  for (const Dimension dimension : kMeasured) {
    float* values = columns(print, dimension);
    const size_t count = info(dimension).columns;
    for (size_t i = 0; i < count; i++) {
      const double u = 2 * dice.unit() - 1;
      values[i] = count == 1 ? static_cast<float>(std::clamp(values[i] + 0.02 * u, 0.0, 1.0))
                             : static_cast<float>(values[i] * (1 + noise * u));
    }
    if (count > 1) normalise(values, count);
  }
  return print;
}

/// Some workloads are run far more often than others.
Fingerprint any_run(uint64_t workloads, uint64_t number, Dice& dice) {
  const double u = dice.unit();
  const auto popular = static_cast<uint64_t>(static_cast<double>(workloads) * u * u);
  return run_of(workload(workloads == 0 ? number : popular), dice);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Timed {
  double seconds;
  std::vector<SearchResult> results;
};

Timed timed(const std::vector<SearchedBlock>& blocks, const std::vector<Fingerprint>& queries,
            const SearchOptions& options) {
  Timed out{1e9, {}};
  for (int round = 0; round < 3; round++) {
    std::vector<SearchResult> results;
    const auto start = std::chrono::steady_clock::now();
    for (const Fingerprint& query : queries) results.push_back(search(blocks, query, options).value());
    out.seconds = std::min(out.seconds, seconds_since(start));
    out.results = std::move(results);
  }
  return out;
}

double recall(const std::vector<SearchResult>& truth, const std::vector<SearchResult>& found) {
  size_t same = 0, all = 0;
  for (size_t q = 0; q < truth.size(); q++) {
    for (const Neighbor& one : truth[q].neighbors) {
      all++;
      same += std::any_of(found[q].neighbors.begin(), found[q].neighbors.end(),
                          [&](const Neighbor& other) { return other.key == one.key; });
    }
  }
  return static_cast<double>(same) / static_cast<double>(all);
}

void write_for_others(const std::string& folder, const std::vector<Fingerprint>& queries,
                      const std::vector<SearchResult>& results) {
  std::ofstream asked(folder + "/queries.f32", std::ios::binary),
      found(folder + "/found.bin", std::ios::binary);
  for (size_t q = 0; q < queries.size(); q++) {
    const auto vector = packed(queries[q], queries[q].present);
    asked.write(reinterpret_cast<const char*>(vector.data()),
                static_cast<std::streamsize>(vector.size() * sizeof(float)));
    for (const Neighbor& one : results[q].neighbors)
      found.write(reinterpret_cast<const char*>(one.key.run_id.data()), 32);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) return 2;
  const std::string folder = arguments[1], path = folder + "/fingerprints.rows";
  const auto rows = std::stoull(arguments[2]), workloads = std::stoull(arguments[3]);
  const auto queries_wanted = std::stoull(arguments[4]);
  Dice dice{1};
  Mask mask = 0;
  for (const Dimension dimension : kMeasured) mask |= bit(dimension);
  const auto written = write_rows(path, mask, rows, [&](size_t i) {
    NewRow row{{}, packed(any_run(workloads, i, dice), mask)};
    std::memcpy(row.key.run_id.data(), &i, sizeof(i));
    return row;
  });
  if (!written) return 1;
  std::vector<Fingerprint> queries;
  for (uint64_t q = 0; q < queries_wanted; q++) queries.push_back(any_run(workloads, rows + q, dice));
  SearchOptions options;
  options.threads = std::stoi(arguments[5]);
  auto start = std::chrono::steady_clock::now();
  std::vector<SearchedBlock> flat;
  flat.push_back({RowBlock::open(path).value()});
  const double open_seconds = seconds_since(start);
  const Timed scanned = timed(flat, queries, options);
  write_for_others(folder, queries, scanned.results);
  start = std::chrono::steady_clock::now();
  if (!PivotIndex::build(flat[0].rows, path)) return 1;
  const double build_seconds = seconds_since(start);
  std::vector<SearchedBlock> indexed;
  indexed.push_back({RowBlock::open(path).value()});
  indexed[0].index.emplace(PivotIndex::open(indexed[0].rows, path).value());
  const Timed with_index = timed(indexed, queries, options);
  const double per_query = 1000 / static_cast<double>(queries.size());
  fmt::print(
      "{{\"rows\": {}, \"columns\": {}, \"threads\": {}, \"open_s\": {:.3f}, \"flat_ms\": {:.3f}, "
      "\"build_s\": "
      "{:.1f}, \"index_ms\": {:.3f}, \"speedup\": {:.1f}, \"recall\": {:.4f}, \"nearest\": {:.4f}, "
      "\"tenth\": {:.4f}}}\n",
      rows, flat[0].rows.columns(), options.threads, open_seconds, scanned.seconds * per_query, build_seconds,
      with_index.seconds * per_query, scanned.seconds / with_index.seconds,
      recall(scanned.results, with_index.results), scanned.results[0].neighbors.front().distance,
      scanned.results[0].neighbors.back().distance);
}
