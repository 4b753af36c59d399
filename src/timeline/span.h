#pragma once
// What lies on a time line, and how one thing of it is named.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace nl::timeline {

/// The tables whose rows lie on the time line, in the order of their numbers in an ItemId.
inline constexpr std::array<std::string_view, 4> kTables = {"spans", "kernels", "copies", "syncs"};
inline constexpr std::array<std::string_view, 4> kIdColumns = {"span_id", "kernel_id", "copy_id", "sync_id"};

/// A row of one of the tables.
class ItemId {
 public:
  static constexpr uint32_t kNumberBits = 30;
  static constexpr int64_t kMostNumber = (int64_t{1} << kNumberBits) - 1;

  constexpr ItemId(uint32_t table, uint32_t number) : packed_(table << kNumberBits | number) {}
  constexpr uint32_t table() const { return packed_ >> kNumberBits; }
  constexpr uint32_t packed() const { return packed_; }
  constexpr uint32_t number() const { return packed_ & static_cast<uint32_t>(kMostNumber); }
  auto operator<=>(const ItemId&) const = default;

 private:
  uint32_t packed_;
};
static_assert(sizeof(ItemId) == 4);

struct Span {
  int64_t start_ns;
  int64_t dur_ns;  ///< 0 for an instant
  ItemId item;
  uint32_t name;

  int64_t end_ns() const { return start_ns + dur_ns; }
  /// An instant is seen where it starts, although it takes no time.
  int64_t reach_ns() const { return start_ns + std::max<int64_t>(dur_ns, 1); }
  bool operator==(const Span&) const = default;
};

/// Spans that never overlap are drawn beside each other: a depth of a thread, or a lane of it if spans of one
/// depth do overlap.
struct RowName {
  int32_t track;
  uint32_t depth;
  uint32_t lane;
  auto operator<=>(const RowName&) const = default;
};

}  // namespace nl::timeline
