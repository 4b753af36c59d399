#include "ingest/formats/run_file/run_file_metadata.h"

#include <cmath>

#include "base/json.h"

namespace nl::ingest {
namespace {

using nlohmann::json;

void settle_number(json& value) {
  constexpr double kLimit = 9.2e18;
  if (value.is_structured()) {
    for (auto& part : value) settle_number(part);
  } else if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) {
    value = static_cast<double>(value.get<uint64_t>());
  } else if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::fabs(number) < kLimit && std::trunc(number) == number) value = static_cast<int64_t>(number);
  }
}

std::string label_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

json member(const json& object, const char* name, json otherwise) {
  return object.contains(name) ? object[name] : std::move(otherwise);
}

void read_hardware(const json& hardware, const std::set<int32_t>& active, model::RunInfo& info) {
  info.hosts = member(hardware, "hosts", json::array()).get<std::vector<std::string>>();
  for (const auto& given : member(hardware, "devices", json::array())) {
    model::Device device = model::device_of(given);
    if (!given.contains("active")) device.active = active.contains(device.device);
    info.devices.push_back(std::move(device));
  }
  if (!hardware.contains("devices")) {
    for (const int32_t device : active) info.devices.push_back({.device = device, .active = true});
  }
  for (const auto& rank : member(hardware, "ranks", json::array())) {
    info.ranks.push_back(model::rank_of(rank));
  }
}

std::vector<JsonFault> read_clocks(const json& clocks, model::RunInfo& info) {
  std::vector<JsonFault> faults;
  for (const auto& given : clocks) {
    const auto number = static_cast<int32_t>(info.clocks.size());
    if (given.value("clock_id", number) != number) {
      faults.push_back({"/metadata/clocks/" + std::to_string(number) + "/clock_id",
                        "expected " + std::to_string(number) + ", the place of the clock in the list"});
    }
    info.clocks.push_back({number, given["kind"], given.value("base_unix_ns", int64_t{0}),
                           given.value("resolution_ns", int64_t{1})});
  }
  return faults;
}

void read_windows(const json& windows, model::RunInfo& info) {
  for (const auto& w : member(windows, "kept", json::array())) {
    info.windows.push_back({w["kind"], w["name"], w["start_ns"], w["dur_ns"]});
  }
  info.windows_seen = windows.value("seen", static_cast<int64_t>(info.windows.size()));
}

std::string wide_text(WideSum sum) {
  const bool fits = sum >= -INT64_MAX && sum <= INT64_MAX;
  return fits ? std::to_string(static_cast<int64_t>(sum)) : "more than an integer holds";
}

}  // namespace

void settle_numbers(json& envelope) {
  for (auto& [name, value] : envelope.items()) {
    if (name != "metadata" || !value.is_object()) {
      settle_number(value);
      continue;
    }
    for (auto& [part, inside] : value.items()) {
      if (part != "extensions" && part != "origin") settle_number(inside);
    }
  }
}

std::vector<JsonFault> read_metadata(const json& metadata, const std::set<int32_t>& active,
                                     model::RunInfo& info) {
  const json labels = member(metadata, "labels", json::object());
  for (const auto& [name, value] : labels.items()) info.labels[name] = label_text(value);
  info.tool = metadata.value("tool", "");
  info.tool_version = metadata.value("tool_version", "");
  read_hardware(member(metadata, "hardware", json::object()), active, info);
  const json software = member(metadata, "software", json::object());
  info.backend = software.value("backend", "unknown");
  info.versions = member(software, "versions", json::object()).get<std::map<std::string, std::string>>();
  read_windows(member(metadata, "windows", json::object()), info);
  info.extensions = member(metadata, "extensions", json::object());
  if (metadata.contains("origin")) {
    info.extensions[std::string(model::kRunFileFormat)] = {{"origin", metadata["origin"]}};
  }
  const json one_clock = json::array({json{{"kind", "relative"}}});
  return read_clocks(member(metadata, "clocks", one_clock), info);
}

std::vector<JsonFault> check_summary(const json& summary, const std::vector<ArrayTotals>& arrays) {
  std::vector<JsonFault> faults;
  for (size_t t = 0; t < arrays.size(); t++) {
    const std::string name(model::run_file_tables()[t].name);
    const std::string place = "/summary" + pointer_step(name);
    const json one = member(summary, name.c_str(), json{{"rows", 0}});
    if (one["rows"] != arrays[t].rows) {
      faults.push_back({place + "/rows", "expected " + std::to_string(arrays[t].rows) +
                                             ", the rows of the document, found " + one["rows"].dump()});
    }
    if (one.contains("total_ns") && one["total_ns"].get<int64_t>() != arrays[t].total_ns) {
      faults.push_back({place + "/total_ns", "expected " + wide_text(arrays[t].total_ns) +
                                                 ", the sum of the rows, found " + one["total_ns"].dump()});
    }
  }
  return faults;
}

}  // namespace nl::ingest
