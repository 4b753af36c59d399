#include "lab/run/expectation_update.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/text.h"

namespace nl::lab {
namespace {

using nlohmann::json;

std::optional<double> number_of(const json& object, const char* key) {
  if (!object.contains(key) || !object[key].is_number()) return std::nullopt;
  return object[key].get<double>();
}

/// Three digits, rounded to the side on which the measured value keeps it.
std::string bound_text(double bound, bool at_least) {
  const int exponent = static_cast<int>(std::floor(std::log10(bound))) - 2;
  const double unit = std::pow(10, exponent);
  const double units = at_least ? std::floor(bound / unit + 1e-9) : std::ceil(bound / unit - 1e-9);
  return fmt::format("{:.{}f}", units * unit, std::max(0, -exponent));
}

/// All that was measured of one expectation.
class MeasuredBound {
 public:
  explicit MeasuredBound(const Expectation& expectation) : expectation_(expectation) {
    update_.line = expectation.line;
    update_.before = update_.after = expectation.text;
  }

  void add(const json& claim, size_t place) {
    update_.claims.push_back(claim["name"]);
    const json& expectations = claim["expectations"];
    const json& result = place < expectations.size() ? expectations[place] : json::object();
    const auto value = number_of(result, "value"), low = number_of(result, "low"),
               high = number_of(result, "high");
    if (!value || !low || !high) {
      miss(fmt::format("{} has no interval", claim["name"].get<std::string>()));
      return;
    }
    const double bound = expectation_.at_least ? *low - (*value - *low) : *high + (*high - *value);
    if (bound_ && (expectation_.at_least ? *bound_ <= bound : *bound_ >= bound)) return;
    bound_ = bound;
    update_.value = value;
    update_.low = low;
    update_.high = high;
    update_.runs = claim["runs"];
  }

  void miss(std::string why) {
    if (update_.why_not.empty()) update_.why_not = std::move(why);
  }

  ExpectationUpdate done() {
    if (bound_ && *bound_ <= 0) miss("the interval is too wide: more runs would make it narrower");
    if (update_.why_not.empty() && bound_) {
      const auto words = split(trimmed(update_.before), ' ');
      update_.after = words[0] + " " + words[1] + " " + bound_text(*bound_, expectation_.at_least);
    }
    return update_;
  }

 private:
  Expectation expectation_;
  ExpectationUpdate update_ = {};
  std::optional<double> bound_ = {};
};

/// The claims of a target with their verdicts; none if it was not measured.
std::vector<json> claims_of(const Target& target, const json& claims) {
  std::vector<json> found;
  std::copy_if(claims.begin(), claims.end(), std::back_inserter(found),
               [&](const json& claim) { return claim["target"] == target.name; });
  return found;
}

void add_target(const Target& target, size_t place, const json& claims, MeasuredBound& bound) {
  const auto of_target = claims_of(target, claims);
  if (of_target.empty()) bound.miss(target.name + " was not measured");
  for (const json& claim : of_target) {
    if (claim["verdict"] == "refused") {
      bound.miss(claim["name"].get<std::string>() + " was refused");
    } else {
      bound.add(claim, place);
    }
  }
}

/// Places of a text in a line, each not within a longer number.
std::vector<size_t> places_of(std::string_view line, std::string_view text) {
  std::vector<size_t> places;
  for (size_t at = line.find(text); at != std::string_view::npos; at = line.find(text, at + 1)) {
    const size_t end = at + text.size();
    const bool goes_on =
        end < line.size() && std::string_view("0123456789.eE").find(line[end]) != std::string_view::npos;
    if (!goes_on) places.push_back(at);
  }
  return places;
}

}  // namespace

std::vector<ExpectationUpdate> expectation_updates(const BenchFile& file, const json& claims) {
  std::map<std::pair<int, std::string>, MeasuredBound> bounds;  // of all combinations of a matrix
  for (const Target& target : file.targets) {
    for (size_t i = 0; i < target.expectations.size(); i++) {
      const Expectation& expectation = target.expectations[i];
      auto& bound = bounds.try_emplace({expectation.line, expectation.text}, expectation).first->second;
      add_target(target, i, claims, bound);
    }
  }
  std::vector<ExpectationUpdate> updates;
  for (auto& [place, bound] : bounds) updates.push_back(bound.done());
  return updates;
}

std::string with_updates(const std::string& text, std::vector<ExpectationUpdate>& updates) {
  std::vector<std::string> lines = split(text, '\n');
  std::map<std::pair<size_t, size_t>, const ExpectationUpdate*, std::greater<>> changes;  // the last first
  for (ExpectationUpdate& update : updates) {
    if (!update.is_change()) continue;
    const auto line = static_cast<size_t>(update.line - 1);
    const auto places = line < lines.size() ? places_of(lines[line], update.before) : std::vector<size_t>();
    if (places.size() == 1) {
      changes[{line, places.front()}] = &update;
    } else {
      update.after = update.before;
      update.why_not = places.empty()
                           ? "its words do not stand on this line as they are, such as those of a matrix"
                           : "its words stand on this line more than once";
    }
  }
  for (const auto& [place, update] : changes)
    lines[place.first].replace(place.second, update->before.size(), update->after);
  std::string out;
  for (size_t i = 0; i < lines.size(); i++) out += (i > 0 ? "\n" : "") + lines[i];
  return out;
}

}  // namespace nl::lab
