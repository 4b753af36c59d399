#pragma once
// How reports call the devices of an analysis: rows of JSON with device and rank.

#include <string>

#include "base/json.h"

namespace nl::report {

/// A part of ids: device-0, rank-1-device-0, host, device-unknown.
std::string device_id(const nlohmann::json& row);
/// For people: device 0 of rank 1.
std::string device_title(const nlohmann::json& row);
bool same_device(const nlohmann::json& a, const nlohmann::json& b);
/// Those rows of a table that belong to the device.
nlohmann::json rows_of(const nlohmann::json& rows, const nlohmann::json& device);

}  // namespace nl::report
