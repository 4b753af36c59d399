#include "ops/run_names.h"

#include <sys/stat.h>

#include "base/decimal.h"
#include "base/files.h"
#include "ops/import_file.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

Error no_such_run(const std::string& name) {
  return Error{ErrorCode::kNotFound, "no run and no file is called: " + name,
               "neurolens runs lists the runs; a path of a profile is imported on the way"};
}

Result<NamedRun> by_latest(store::Ledger& ledger, const std::string& name) {
  int64_t back = 0;
  const std::string rest = name.substr(std::string("@latest").size());
  if (!rest.empty() && (rest[0] != '~' || !parse_int64(rest.substr(1), back) || back < 0))
    return no_such_run(name);
  NL_TRY(const std::string id, ledger.latest(back));
  return NamedRun{id, ledger.run_folder(id)};
}

Result<NamedRun> by_prefix(store::Ledger& ledger, const std::string& name) {
  const bool hex = name.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hex || name.size() < 4 || name.size() > 64) return no_such_run(name);
  NL_TRY(const auto ids, ledger.find(name, 3));
  if (ids.empty()) return no_such_run(name);
  if (ids.size() > 1) {
    return Error{ErrorCode::kBadInput,
                 "several runs start with " + name + ": " + short_id(ids[0]) + ", " + short_id(ids[1]) +
                     (ids.size() > 2 ? ", …" : ""),
                 "write more characters of the id"};
  }
  return NamedRun{ids[0], ledger.run_folder(ids[0])};
}

}  // namespace

Result<NamedRun> resolve_run_unread(Context& context, const std::string& name) {
  std::string folder = name;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (!context.host_paths || !path_exists(folder + "/run.json")) return resolve_run(context, name);
  const auto document = store::read_run_document(folder + "/run.json");
  const std::string base = folder.substr(folder.rfind('/') + 1);
  return NamedRun{document ? (*document)["run_id"].get<std::string>() : base, folder};
}

Result<NamedRun> resolve_run(Context& context, const std::string& name) {
  struct stat info {};
  const bool exists = context.host_paths && ::stat(name.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    NL_TRY(const auto document, store::read_run_document(name + "/run.json"));
    return NamedRun{document["run_id"], name};
  }
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  if (exists) {
    ImportOptions options;
    options.on_the_way = true;
    NL_TRY(const auto report, import_files(context, ledger, {name}, options));
    return NamedRun{report.run_id, ledger.run_folder(report.run_id), report.created};
  }
  if (name.starts_with("@latest")) return by_latest(ledger, name);
  return by_prefix(ledger, name);
}

}  // namespace nl::ops
