#include "ops/budget.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/json_schema.h"
#include "base/utf8.h"
#include "ops/envelope.h"

namespace nl::ops {
namespace {

using nlohmann::json;

size_t bytes_of(const json& value) {
  return compact_json(value).size();
}

// ---- What a schema allows

bool allows_null(const json& schema) {
  const json type = schema.value("type", json());
  if (type == "null") return true;
  if (type.is_array()) return std::find(type.begin(), type.end(), "null") != type.end();
  const json ways = schema.value("anyOf", json::array());
  return std::any_of(ways.begin(), ways.end(), [](const json& way) { return allows_null(way); });
}

/// Of several ways the first one that is not null: what an optional value is if there is one.
const json* way_of(const json* schema) {
  if (schema == nullptr || !schema->contains("anyOf")) return schema;
  for (const json& way : (*schema)["anyOf"]) {
    if (way.value("type", json()) != "null") return &way;
  }
  return schema;
}

/// Null where the schema says nothing of it.
const json* schema_of_key(const json* schema, const std::string& key) {
  if (schema == nullptr) return nullptr;
  if (schema->contains("properties") && (*schema)["properties"].contains(key))
    return &(*schema)["properties"][key];
  const auto others = schema->find("additionalProperties");
  return others != schema->end() && others->is_object() ? &*others : nullptr;
}

const json* schema_of_row(const json* schema) {
  return schema != nullptr && schema->contains("items") ? &(*schema)["items"] : nullptr;
}

// ---- Places in an answer

/// What may be done to a value.
enum class Means { kNone, kRows, kEntries, kText, kErase, kNull };

struct Place {
  json* value;
  const json* schema;      ///< null: nothing is said of it
  json* parent = nullptr;  ///< null: a row of a list
  const json* parent_schema = nullptr;
  std::string key = {};
};

Means means_of(const Place& place) {
  if (place.value->is_string()) return Means::kText;
  const json* const way = way_of(place.schema);
  if (place.value->is_array()) {
    const bool is_row = way != nullptr && way->contains("minItems");  // values by their position
    return is_row ? Means::kNone : Means::kRows;
  }
  if (place.value->is_object() && way != nullptr && way->contains("additionalProperties") &&
      (*way)["additionalProperties"].is_object())
    return Means::kEntries;
  if (place.parent == nullptr || !place.value->is_structured()) return Means::kNone;  // single figures stay
  if (place.parent_schema != nullptr && !requires_member(*place.parent_schema, place.key))
    return Means::kErase;
  return place.schema != nullptr && allows_null(*place.schema) ? Means::kNull : Means::kNone;
}

/// Rows or entries that are shown, bytes of a text; a section counts as one.
int64_t count_of(const Place& place) {
  switch (means_of(place)) {
    case Means::kNone:
      return 0;
    case Means::kRows:
    case Means::kEntries:
      return static_cast<int64_t>(place.value->size());
    case Means::kText:
      return static_cast<int64_t>(place.value->get_ref<const std::string&>().size());
    case Means::kErase:
    case Means::kNull:
      return 1;
  }
  return 0;
}

Place child_of(const Place& parent, const std::string& key) {
  const json* const schema = way_of(parent.schema);
  return {&(*parent.value)[key], schema_of_key(schema, key), parent.value, schema, key};
}

/// Appends the places that the rest of a pointer leads to; * stands for every row.
void find_places(const Place& from, std::string_view where, std::vector<Place>& found) {
  if (where.empty()) return found.push_back(from);
  const size_t end = std::min(where.find('/', 1), where.size());
  const std::string step(where.substr(1, end - 1));
  const std::string_view rest = where.substr(end);
  if (step == "*" && from.value->is_array()) {
    for (json& row : *from.value) find_places({&row, schema_of_row(way_of(from.schema))}, rest, found);
  } else if (from.value->is_object() && from.value->contains(step)) {
    find_places(child_of(from, step), rest, found);
  }
}

// ---- What goes first

/// How much a row matters by one of its values: a number by itself; a check that is not fine more than
/// others.
double weight_of(const json& row, std::string_view by) {
  const json value = row.is_object() ? row.value(std::string(by), json()) : json();
  if (value.is_number()) return value.get<double>();
  return value.is_null() || value == true || value == "ok" ? 0 : 1;
}

size_t least_row(const json& rows, std::string_view by) {
  if (by == kOldestFirst) return 0;
  size_t least = rows.size() - 1;
  if (by.empty()) return least;
  for (size_t i = rows.size(); i-- > 0;) {
    if (weight_of(rows[i], by) < weight_of(rows[least], by)) least = i;
  }
  return least;
}

/// What is not known goes first, then the smallest figure, then the last by name.
std::string least_entry(const json& entries) {
  const auto rank = [](const json& value) {
    if (value.is_object()) return std::pair(value.contains("absent") ? 0 : 2, 0.0);
    return value.is_number() ? std::pair(1, value.get<double>()) : std::pair(2, 0.0);
  };
  std::string least;
  std::optional<std::pair<int, double>> lowest;
  for (const auto& [key, value] : entries.items()) {
    if (lowest && *lowest < rank(value)) continue;
    lowest = rank(value);
    least = key;
  }
  return least;
}

/// At most so many bytes, and no part of a character.
std::string beginning(const std::string& text, size_t bytes) {
  while (bytes > 0 && is_continuation(text[bytes])) bytes--;
  return text.substr(0, bytes);
}

// ---- Cutting

constexpr size_t kEntryBytes = 40;  // of {"of":12,"rows":12,"where":"…"}, without the pointer

/// A part of the answer that may go, with what it holds before anything is cut.
struct PlannedCut {
  std::string where;
  int64_t keep = 0;
  std::string_view by = {};
  int64_t of = 0;
};

class AnswerCutter {
 public:
  AnswerCutter(const Operation& operation, json& data, size_t envelope_bytes, size_t most_bytes)
      : root_{&data, &result_schema(operation)}, bytes_(envelope_bytes), most_(most_bytes) {
    plan_unnamed(operation);
    for (const Cut& cut : operation.cuts) plan(std::string(cut.where), cut.keep, cut.by);
  }

  /// False: even the least is too long.
  bool cut() {
    for (const PlannedCut& one : plan_) {
      if (apply(one)) return true;
    }
    return false;
  }
  json left_out() const {
    json list = json::array();
    for (const auto& [where, of] : touched_) {
      const int64_t rows = of - shown(where);
      if (rows > 0) list.push_back({{"where", where}, {"rows", rows}, {"of", of}});
    }
    return list;
  }
  /// Of all answers that were tried.
  size_t least_bytes() const { return least_; }

 private:
  std::vector<Place> places(std::string_view where) const {
    std::vector<Place> found;
    find_places(root_, where, found);
    return found;
  }
  int64_t shown(std::string_view where) const {
    int64_t count = 0;
    for (const Place& place : places(where)) count += count_of(place);
    return count;
  }

  /// A place that is shorter than the words that it is missing stays.
  void plan(const std::string& where, int64_t keep, std::string_view by) {
    PlannedCut cut{where, keep, by};
    size_t bytes = 0;
    for (const Place& place : places(where)) {
      cut.of += count_of(place);
      bytes += bytes_of(*place.value);
    }
    if (bytes > kEntryBytes + where.size()) plan_.push_back(std::move(cut));
  }

  /// Sections of which the operation names no part, the longest first.
  void plan_unnamed(const Operation& operation) {
    std::set<std::string> named;
    for (const Cut& cut : operation.cuts)
      named.emplace(cut.where.substr(1, std::min(cut.where.find('/', 1), cut.where.size()) - 1));
    std::vector<std::pair<size_t, std::string>> sections;
    for (const auto& [key, value] : root_.value->items()) {
      if (!named.contains(key)) add_sections(child_of(root_, key), "/" + key, sections);
    }
    std::sort(sections.rbegin(), sections.rend());
    for (const auto& [bytes, where] : sections) plan(where, 0, {});
  }
  static void add_sections(const Place& place, const std::string& where,
                           std::vector<std::pair<size_t, std::string>>& sections) {
    if (place.value->is_structured() && means_of(place) != Means::kNone) {
      sections.emplace_back(bytes_of(*place.value), where);
    } else if (place.value->is_object()) {
      for (const auto& [key, value] : place.value->items())
        add_sections(child_of(place, key), where + "/" + key, sections);
    }
  }

  /// True as soon as the answer fits.
  bool apply(const PlannedCut& cut) {
    std::vector<Place> lists, texts, sections;
    for (const Place& place : places(cut.where)) {
      const Means means = means_of(place);
      if (means == Means::kRows || means == Means::kEntries) lists.push_back(place);
      if (means == Means::kText && count_of(place) > cut.keep) texts.push_back(place);
      if (means == Means::kErase || means == Means::kNull) sections.push_back(place);
    }
    if (shorten(lists, cut) || abridge(texts, cut) || drop(sections, cut)) return true;
    (void)measured();  // the least that works is what is left behind one of the cuts
    return false;
  }

  /// Row by row, always from the longest list, so that equal lists stay equally long.
  bool shorten(const std::vector<Place>& lists, const PlannedCut& cut) {
    const auto is_shorter = [](const Place& a, const Place& b) { return a.value->size() <= b.value->size(); };
    while (true) {
      const auto longest = std::max_element(lists.begin(), lists.end(), is_shorter);
      if (longest == lists.end() || std::cmp_less_equal(longest->value->size(), cut.keep)) return false;
      remove_least(*longest->value, cut.by);
      if (fits_without(cut)) return true;
    }
  }
  void remove_least(json& list, std::string_view by) {
    const size_t comma = list.size() > 1 ? 1 : 0;
    if (list.is_array()) {
      const size_t row = least_row(list, by);
      bytes_ -= bytes_of(list[row]) + comma;
      list.erase(row);
    } else {
      const std::string key = least_entry(list);
      bytes_ -= bytes_of(key) + 1 + bytes_of(list[key]) + comma;
      list.erase(key);
    }
  }

  /// Names of kernels may be longer than the rest of the answer. The last one first.
  bool abridge(const std::vector<Place>& texts, const PlannedCut& cut) {
    for (auto place = texts.rbegin(); place != texts.rend(); ++place) {
      json begin = beginning(place->value->get_ref<const std::string&>(), static_cast<size_t>(cut.keep));
      bytes_ -= bytes_of(*place->value) - bytes_of(begin);
      *place->value = std::move(begin);
      if (fits_without(cut)) return true;
    }
    return false;
  }

  /// The last one first.
  bool drop(const std::vector<Place>& sections, const PlannedCut& cut) {
    if (cut.keep > 0) return false;
    for (auto place = sections.rbegin(); place != sections.rend(); ++place) {
      const size_t bytes = bytes_of(*place->value);
      if (means_of(*place) == Means::kNull) {
        *place->value = nullptr;
        bytes_ -= bytes - std::string_view("null").size();
      } else {
        bytes_ -= bytes_of(place->key) + 1 + bytes + (place->parent->size() > 1 ? 1 : 0);
        place->parent->erase(place->key);
      }
      if (fits_without(cut)) return true;
    }
    return false;
  }

  /// Counting what is left out takes longer than cutting: it waits until the rest is short enough.
  bool fits_without(const PlannedCut& cut) {
    touched_.insert_or_assign(cut.where, cut.of);
    return bytes_ <= most_ && measured() <= most_;
  }
  /// Bytes of the answer with what is said about it.
  size_t measured() {
    constexpr std::string_view kKey = R"("left_out":,)";
    const size_t bytes = bytes_ + kKey.size() + bytes_of(left_out());
    least_ = std::min(least_, bytes);
    return bytes;
  }

  Place root_;
  size_t bytes_;  ///< of the envelope without `left_out`
  size_t most_;
  size_t least_ = SIZE_MAX;
  std::vector<PlannedCut> plan_;
  std::map<std::string, int64_t> touched_;  ///< what was cut, with what it held before
};

Error too_small(int64_t tokens, size_t least_bytes) {
  const auto bytes = static_cast<int64_t>(least_bytes);
  const int64_t least = (bytes + kBytesPerToken - 1) / kBytesPerToken;
  return Error{ErrorCode::kLimit, fmt::format("the answer does not fit into a budget of {} tokens", tokens),
               fmt::format("the smallest budget that works is {}", least)};
}

}  // namespace

Result<void> cut_to_budget(const Operation& operation, int64_t tokens, const Context& context,
                           Outcome& outcome) {
  const auto most = static_cast<size_t>(tokens * kBytesPerToken);
  const size_t line_break = 1;
  const size_t bytes = bytes_of(envelope_of(operation.name, outcome, context.spell)) + line_break;
  if (bytes <= most) return {};
  AnswerCutter cutter(operation, outcome.data, bytes, most);
  if (!cutter.cut()) return too_small(tokens, std::min(bytes, cutter.least_bytes()));
  outcome.left_out = cutter.left_out();
  return {};
}

}  // namespace nl::ops
