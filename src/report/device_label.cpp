#include "report/device_label.h"

namespace nl::report {

using nlohmann::json;

std::string device_id(const json& row) {
  const std::string rank = row["rank"].is_null() ? "" : "rank-" + row["rank"].dump() + "-";
  if (row["device"] == "cpu") return rank + "host";
  return rank + "device-" + (row["device"].is_null() ? "unknown" : row["device"].dump());
}

std::string device_title(const json& row) {
  const std::string rank = row["rank"].is_null() ? "" : " of rank " + row["rank"].dump();
  if (row["device"] == "cpu") return "host" + rank;
  return "device " + (row["device"].is_null() ? "?" : row["device"].dump()) + rank;
}

bool same_device(const json& a, const json& b) {
  return a["device"] == b["device"] && a["rank"] == b["rank"];
}

json rows_of(const json& rows, const json& device) {
  json list = json::array();
  for (const json& row : rows) {
    if (same_device(row, device)) list.push_back(row);
  }
  return list;
}

}  // namespace nl::report
