#include "store/column_encoder.h"

#include <algorithm>
#include <bit>

#include "store/parquet_encodings.h"

namespace nl::store {
namespace {

using model::Batch;
using model::kNull;
using model::Type;

void put_fixed32(std::string& out, uint32_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class Word>
std::string bytes_of(Word value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Engines do not expect dictionaries of one value to have numbers of no bits.
int width_of(size_t values) {
  return std::max(1, bits_of(values - 1));
}

/// Of up to 64 cells.
uint64_t bits_there(const int64_t* cells, size_t count) {
  uint64_t word = 0;
  for (size_t i = 0; i < count; i++) word |= uint64_t{cells[i] != kNull} << i;
  return word;
}

void put_numbers(ColumnPages& pages, const std::vector<uint32_t>& numbers) {
  const int width = width_of(pages.dictionary_values);
  pages.encoding = ParquetEncoding::kDictionary;
  pages.data += static_cast<char>(width);
  put_runs(pages.data, numbers.data(), numbers.size(), width);
}

/// Numbers the different values, in the order in which they come, until there are too many.
class ValueNumbers {
 public:
  /// False if there are more than `most` different ones.
  bool number(const std::vector<int64_t>& values, size_t most) {
    numbers_.reserve(values.size());
    for (const int64_t value : values) {
      if (!numbers_.empty() && value == values_[numbers_.back()]) {  // tracks and devices repeat
        numbers_.push_back(numbers_.back());
        continue;
      }
      Slot& slot = find(value);
      if (slot.number == kFree) {
        if (values_.size() == most) return false;
        slot = {value, static_cast<uint32_t>(values_.size())};
        values_.push_back(value);
      }
      numbers_.push_back(slot.number);
    }
    return true;
  }
  const std::vector<int64_t>& values() const { return values_; }
  const std::vector<uint32_t>& numbers() const { return numbers_; }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  static constexpr int kSlotBits = 13;  // four times as many as a dictionary may have values
  struct Slot {
    int64_t value = 0;
    uint32_t number = kFree;
  };

  Slot& find(int64_t value) {
    constexpr uint64_t kMix = 0x9E3779B97F4A7C15u;
    size_t at = static_cast<uint64_t>(value) * kMix >> (64 - kSlotBits);
    while (slots_[at].number != kFree && slots_[at].value != value) at = (at + 1) % slots_.size();
    return slots_[at];
  }

  std::vector<Slot> slots_ = std::vector<Slot>(size_t{1} << kSlotBits);
  std::vector<int64_t> values_;
  std::vector<uint32_t> numbers_;
};

/// Whole numbers and doubles, the latter by their bits.
class NumberColumn final : public ColumnEncoder {
 public:
  explicit NumberColumn(Type type) : type_(type) {}

 private:
  void add_values(const Batch& batch, const int64_t* cells, size_t count) override {
    const size_t before = values_.size();
    values_.resize(before + count);
    int64_t* to = values_.data() + before;
    for (size_t i = 0; i < count; i++) {
      *to = cells[i];
      to += cells[i] == kNull ? 0 : 1;
    }
    values_.resize(static_cast<size_t>(to - values_.data()));
    if (type_ != Type::track) return;
    for (size_t i = before; i < values_.size(); i++)
      values_[i] = batch.track_ids[static_cast<size_t>(values_[i])];
  }

  void put_values(ColumnPages& pages, size_t most_dictionary) override {
    if (type_ != Type::f64) put_limits(pages);
    ValueNumbers different;
    if (different.number(values_, most_dictionary)) {
      for (const int64_t value : different.values()) put_plain(pages.dictionary, value);
      pages.dictionary_values = static_cast<uint32_t>(different.values().size());
      return put_numbers(pages, different.numbers());
    }
    pages.encoding = type_ == Type::f64 ? ParquetEncoding::kSplitBytes : ParquetEncoding::kDeltas;
    if (type_ == Type::f64) return put_split_bytes(pages.data, values_.data(), values_.size());
    if (!is_narrow()) return put_deltas(pages.data, values_.data(), values_.size());
    const std::vector<int32_t> narrow(values_.begin(), values_.end());
    put_deltas(pages.data, narrow.data(), narrow.size());
  }

  void clear() override { values_.clear(); }

  bool is_narrow() const { return stored_type(type_) == ParquetType::kInt32; }

  void put_plain(std::string& out, int64_t value) const {
    out += is_narrow() ? bytes_of(static_cast<int32_t>(value)) : bytes_of(value);
  }

  void put_limits(ColumnPages& pages) const {
    const auto [least, most] = std::minmax_element(values_.begin(), values_.end());
    put_plain(pages.least, *least);
    put_plain(pages.most, *most);
  }

  const Type type_;
  std::vector<int64_t> values_;
};

/// Text that is held in one place each, as long as there are few different ones; then one behind the other.
class TextColumn final : public ColumnEncoder {
 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;
  static constexpr size_t kMostDifferent = 2000;

  bool is_text() const override { return true; }
  size_t text_bytes() const override { return text_bytes_; }

  void add_values(const Batch& batch, const int64_t* cells, size_t count) override {
    size_t i = 0;
    if (!is_plain_) {
      batch_numbers_.assign(batch.strings.size(), kUnknown);
      while (i < count && add_number(batch, cells[i])) i++;
      if (i < count) become_plain();
    }
    for (; i < count; i++) {
      if (cells[i] != kNull) add_plain(batch.strings[static_cast<size_t>(cells[i])]);
    }
  }

  /// False if there are too many different ones.
  bool add_number(const Batch& batch, int64_t cell) {
    if (cell == kNull) return true;
    uint32_t& number = batch_numbers_[static_cast<size_t>(cell)];
    if (number == kUnknown) number = number_of(batch.strings[static_cast<size_t>(cell)]);
    if (number == kUnknown) return false;
    numbers_.push_back(number);
    return true;
  }

  uint32_t number_of(std::string_view text) {
    if (const auto known = known_.find(text); known != known_.end()) return known->second;
    if (different_.size() == kMostDifferent) return kUnknown;
    const auto number = static_cast<uint32_t>(different_.size());
    different_.push_back(arena_.keep(text));
    known_.emplace(different_.back(), number);
    text_bytes_ += text.size();
    return number;
  }

  void add_plain(std::string_view text) {
    lengths_.push_back(static_cast<int32_t>(text.size()));
    plain_ += text;
    text_bytes_ += text.size();
  }

  void become_plain() {
    is_plain_ = true;
    text_bytes_ = 0;
    for (const uint32_t number : numbers_) add_plain(different_[number]);
  }

  void put_values(ColumnPages& pages, size_t most_dictionary) override {
    if (!is_plain_ && different_.size() > most_dictionary) become_plain();
    if (is_plain_) {
      pages.encoding = ParquetEncoding::kDeltaLengths;
      put_deltas(pages.data, lengths_.data(), lengths_.size());
      pages.data += plain_;
      return;
    }
    for (const std::string_view text : different_) {
      put_fixed32(pages.dictionary, static_cast<uint32_t>(text.size()));
      pages.dictionary += text;
    }
    pages.dictionary_values = static_cast<uint32_t>(different_.size());
    put_numbers(pages, numbers_);
  }

  void clear() override {
    known_.clear();
    different_.clear();
    arena_.clear();
    numbers_.clear();
    lengths_.clear();
    plain_.clear();
    text_bytes_ = 0;
    is_plain_ = false;
  }

  std::vector<uint32_t> batch_numbers_;  ///< string of the batch -> number
  std::unordered_map<std::string_view, uint32_t> known_;
  std::vector<std::string_view> different_;
  model::TextArena arena_;
  std::vector<uint32_t> numbers_;
  std::vector<int32_t> lengths_;
  std::string plain_;
  size_t text_bytes_ = 0;
  bool is_plain_ = false;
};

/// Kinds are numbers already. Readers see text.
class KindColumn final : public ColumnEncoder {
  void add_values(const Batch&, const int64_t* cells, size_t count) override {
    for (size_t i = 0; i < count; i++) {
      if (cells[i] != kNull) kinds_.push_back(static_cast<uint32_t>(cells[i]));
    }
  }

  void put_values(ColumnPages& pages, size_t) override {
    for (const std::string_view kind : model::kSpanKinds) {
      put_fixed32(pages.dictionary, static_cast<uint32_t>(kind.size()));
      pages.dictionary += kind;
    }
    pages.dictionary_values = static_cast<uint32_t>(std::size(model::kSpanKinds));
    put_numbers(pages, kinds_);
  }

  void clear() override { kinds_.clear(); }

  std::vector<uint32_t> kinds_;
};

}  // namespace

std::unique_ptr<ColumnEncoder> ColumnEncoder::of(Type type) {
  if (type == Type::span_kind) return std::make_unique<KindColumn>();
  if (stored_type(type) == ParquetType::kBytes) return std::make_unique<TextColumn>();
  return std::make_unique<NumberColumn>(type);
}

ParquetType ColumnEncoder::stored_type(Type type) {
  const std::string_view sql = model::sql_type(type);
  return sql == "INTEGER"  ? ParquetType::kInt32
         : sql == "BIGINT" ? ParquetType::kInt64
         : sql == "DOUBLE" ? ParquetType::kDouble
                           : ParquetType::kBytes;
}

void ColumnEncoder::add(const Batch& batch, const int64_t* cells, size_t count) {
  is_there_.resize((rows_ + count + 63) / 64);
  for (size_t i = 0; i < count;) {
    const size_t bit = rows_ % 64;
    const size_t here = std::min(count - i, 64 - bit);
    const uint64_t word = bits_there(cells + i, here);
    is_there_[rows_ / 64] |= word << bit;
    values_ += static_cast<size_t>(std::popcount(word));
    rows_ += here;
    i += here;
  }
  add_values(batch, cells, count);
}

void ColumnEncoder::add_nulls(size_t count) {
  rows_ += count;
  is_there_.resize((rows_ + 63) / 64);
}

ColumnPages ColumnEncoder::take(size_t most_dictionary) {
  ColumnPages pages;
  pages.nulls = rows_ - values_;
  put_levels(pages.data);
  if (values_ > 0) put_values(pages, most_dictionary);
  clear();
  is_there_.clear();
  rows_ = values_ = 0;
  return pages;
}

/// Packed as they are: what compresses the page finds what repeats.
void ColumnEncoder::put_levels(std::string& out) const {
  std::string levels;
  if (values_ == rows_) {
    put_run(levels, 1, rows_, 1);
  } else {
    put_bits(levels, is_there_.data(), rows_);
  }
  put_fixed32(out, static_cast<uint32_t>(levels.size()));
  out += levels;
}

std::string null_levels(size_t rows) {
  std::string levels, out;
  put_run(levels, 0, rows, 1);
  put_fixed32(out, static_cast<uint32_t>(levels.size()));
  return out + levels;
}

}  // namespace nl::store
