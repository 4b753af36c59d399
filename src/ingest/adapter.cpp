#include "ingest/adapter.h"

#include <string>

#include "ingest/adapters.inc"

namespace nl::ingest {

std::vector<const Adapter*> all_adapters() {
  std::vector<const Adapter*> all;
  for (const auto& get : kRegisteredAdapters) all.push_back(&get());
  return all;
}

namespace {

std::string names(const std::vector<const Adapter*>& adapters) {
  std::string list;
  for (const Adapter* a : adapters) list += (list.empty() ? "" : ", ") + std::string(a->format);
  return list;
}

}  // namespace

Result<const Adapter*> choose_adapter(std::string_view head, std::string_view file_name,
                                      std::string_view format) {
  const auto all = all_adapters();
  if (!format.empty()) {
    for (const Adapter* a : all) {
      if (a->format == format) return a;
    }
    return Error{ErrorCode::kBadInput, "unknown format: " + std::string(format),
                 "known formats: " + names(all)};
  }
  double best = 0;
  std::vector<const Adapter*> candidates;
  for (const Adapter* a : all) {
    const double sure = a->sniff(head, file_name);
    if (sure <= 0 || sure < best) continue;
    if (sure > best) candidates.clear();
    best = sure;
    candidates.push_back(a);
  }
  if (candidates.size() == 1) return candidates[0];
  if (candidates.empty()) {
    return Error{ErrorCode::kUnsupported, "the format of the input is not known",
                 "formats read today: " + names(all) + "; --format NAME overrules the detection"};
  }
  return Error{ErrorCode::kBadInput, "the input could be one of: " + names(candidates),
               "choose with --format NAME"};
}

}  // namespace nl::ingest
