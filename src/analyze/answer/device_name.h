#pragma once
// How an answer identifies a device: by its number and, if the run has several ranks, by its rank.

#include <cstdint>
#include <optional>

#include "base/described.h"

namespace nl::analyze {

/// In JSON the number, "cpu" for the host, or null if the source does not say.
struct DeviceNumber {
  bool is_host = false;
  std::optional<int32_t> number = {};
  bool operator==(const DeviceNumber&) const = default;
};

struct DeviceName {
  DeviceNumber device = {};
  std::optional<int32_t> rank = {};
  bool operator==(const DeviceName&) const = default;

  static constexpr auto fields() {
    return std::tuple{
        field("device", &DeviceName::device, "number of the device; cpu for the host; null if not known"),
        field("rank", &DeviceName::rank, "rank, in a run of several ranks")};
  }
};

}  // namespace nl::analyze

namespace nl {

template <>
struct DescribedAs<analyze::DeviceNumber> {
  static void write(ValueWriter& out, const analyze::DeviceNumber& device) {
    if (device.is_host) return out.text("cpu");
    write_value(out, device.number);
  }
  static void schema(ValueWriter& out, const char* about) {
    begin_schema(out, about);
    out.key("type");
    out.begin_array();
    for (const char* type : {"integer", "string", "null"}) out.text(type);
    out.end_array();
    out.end_object();
  }
};

}  // namespace nl
