#include "exports/exporter.h"

#include "exports/exporters.inc"

namespace nl::exports {

std::vector<const Exporter*> all_exporters() {
  std::vector<const Exporter*> all;
  for (const auto& get : kRegisteredExporters) all.push_back(&get());
  return all;
}

const Exporter* find_exporter(std::string_view format) {
  for (const Exporter* one : all_exporters()) {
    if (one->format == format) return one;
  }
  return nullptr;
}

}  // namespace nl::exports
