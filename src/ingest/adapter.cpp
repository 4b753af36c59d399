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

ChosenAdapter chosen(const Adapter* adapter, const Sniffed& sniffed) {
  return {adapter, sniffed.role.empty() ? adapter->role : sniffed.role};
}

}  // namespace

Result<ChosenAdapter> choose_adapter(std::string_view head, std::string_view file_name,
                                     std::string_view format) {
  const auto all = all_adapters();
  double best = 0;
  std::vector<const Adapter*> candidates;
  Sniffed sniffed;
  for (const Adapter* a : all) {
    const Sniffed own = a->sniff(head, file_name);
    if (a->format == format) return chosen(a, own);
    if (own.sure <= 0 || own.sure < best) continue;
    if (own.sure > best) candidates.clear();
    best = own.sure;
    sniffed = own;
    candidates.push_back(a);
  }
  if (!format.empty()) {
    return Error{ErrorCode::kBadInput, "unknown format: " + std::string(format),
                 "known formats: " + names(all)};
  }
  if (candidates.size() == 1) return chosen(candidates[0], sniffed);
  if (candidates.empty()) {
    return Error{ErrorCode::kUnsupported, "the format of the input is not known",
                 "formats that can be read: " + names(all) + "; --format NAME sets the format"};
  }
  return Error{ErrorCode::kBadInput, "the input could be one of: " + names(candidates),
               "choose with --format NAME"};
}

}  // namespace nl::ingest
