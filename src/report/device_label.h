#pragma once
// How reports name the devices of an analysis.

#include <string>
#include <vector>

#include "analyze/answer/device_name.h"

namespace nl::report {

/// A part of ids: device-0, rank-1-device-0, host, device-unknown.
std::string device_id(const analyze::DeviceName& device);
/// For people: device 0 of rank 1.
std::string device_title(const analyze::DeviceName& device);

/// Those rows of a table that belong to the device.
template <class Row>
std::vector<const Row*> rows_of(const std::vector<Row>& rows, const analyze::DeviceName& device) {
  std::vector<const Row*> list;
  for (const Row& row : rows) {
    if (row.on == device) list.push_back(&row);
  }
  return list;
}

}  // namespace nl::report
