#include "analyze/work_pattern.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace nl::analyze {
namespace {

using nlohmann::json;

constexpr size_t kMostPairs = 1000;
constexpr int kPercents[] = {10, 25, 50, 75, 90, 99};

/// A name of an op type, or a class.
using Token = uint32_t;

struct Piece {
  int32_t track;
  Token token;
  int64_t ns;
};

struct PairSum {
  int64_t count = 0, ns = 0;
};
using Pairs = std::map<std::pair<Token, Token>, PairSum>;

std::string percent_key(int percent) {
  return "p" + std::to_string(percent);
}

/// Tokens are ids of names; classes come behind them.
class Tokens {
 public:
  explicit Tokens(const PreparedRun& run) : run_(run) {}

  Token of(const Work& work) const {
    if (work.kind == WorkKind::kCopy) return of_class(OpClass::k_memory);
    const uint32_t op = work.table == WorkTable::kSpans ? work.row : work.op;
    if (op != kNoRow && run_.timeline.spans.kind[op] == model::SpanKind::op)
      return run_.timeline.spans.op_type[op];
    return of_class(run_.classes.kernel[work.name]);
  }
  std::string text(Token token) const {
    const size_t names = run_.timeline.names.size();
    if (token < names) return std::string(run_.timeline.names[token]);
    return "class " + std::string(op_class_name(static_cast<OpClass>(token - names)));
  }

 private:
  Token of_class(OpClass op_class) const {
    return static_cast<Token>(run_.timeline.names.size()) + static_cast<Token>(op_class);
  }
  const PreparedRun& run_;
};

/// In order of their start.
std::vector<Piece> pieces_of(const Device& device, const Tokens& tokens, const IntervalSet& window) {
  std::vector<Piece> pieces;
  for (const Work& work : device.work) {
    if (contains(window, work.start)) pieces.push_back({work.track, tokens.of(work), work.end - work.start});
  }
  return pieces;
}

Pairs pairs_of(const std::vector<Piece>& pieces) {
  std::map<int32_t, Token> last;
  Pairs pairs;
  for (const Piece& piece : pieces) {
    const auto [at, first] = last.try_emplace(piece.track, piece.token);
    if (first) continue;
    PairSum& sum = pairs[{at->second, piece.token}];
    sum.count++;
    sum.ns += piece.ns;
    at->second = piece.token;
  }
  return pairs;
}

/// The most frequent first.
json pairs_json(const Pairs& pairs, const Tokens& tokens) {
  std::vector<std::tuple<int64_t, std::string, std::string, int64_t>> rows;
  for (const auto& [pair, sum] : pairs)
    rows.emplace_back(-sum.count, tokens.text(pair.first), tokens.text(pair.second), sum.ns);
  std::sort(rows.begin(), rows.end());
  if (rows.size() > kMostPairs) rows.resize(kMostPairs);
  json list = json::array();
  for (const auto& [count, first, second, ns] : rows) list.push_back({first, second, -count, ns});
  return list;
}

json duration_quantiles(const std::vector<int64_t>& sorted) {
  json out = {{"count", sorted.size()}};
  if (sorted.empty()) return out;
  for (const int percent : kPercents) {
    const size_t rank = (sorted.size() * static_cast<size_t>(percent) + 99) / 100;
    out[percent_key(percent)] = sorted[std::max<size_t>(rank, 1) - 1];
  }
  return out;
}

/// The shortest duration such that the pieces up to it hold the share of all time.
json time_quantiles(const std::vector<int64_t>& sorted) {
  json out = json::object();
  int64_t total = 0, sum = 0;
  for (const int64_t ns : sorted) total += ns;
  size_t at = 0;
  for (const int percent : kPercents) {
    const int64_t share = total / 100 * percent + total % 100 * percent / 100;
    while (at < sorted.size() && sum + sorted[at] < share) sum += sorted[at++];
    if (at < sorted.size()) out[percent_key(percent)] = sorted[at];
  }
  return out;
}

}  // namespace

json work_pattern(const PreparedRun& run, const Device& device, const IntervalSet& window) {
  const Tokens tokens(run);
  const std::vector<Piece> pieces = pieces_of(device, tokens, window);
  std::vector<int64_t> durations;
  for (const Piece& piece : pieces) {
    if (piece.ns > 0) durations.push_back(piece.ns);
  }
  std::sort(durations.begin(), durations.end());
  const Pairs pairs = pairs_of(pieces);
  json out = {{"durations", duration_quantiles(durations)},
              {"by_time", time_quantiles(durations)},
              {"pairs", pairs_json(pairs, tokens)}};
  out["pairs_left_out"] = pairs.size() - out["pairs"].size();
  return out;
}

}  // namespace nl::analyze
