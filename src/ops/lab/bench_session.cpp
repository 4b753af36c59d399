#include "ops/lab/bench_session.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/aside.h"
#include "base/json.h"
#include "base/path_text.h"
#include "base/permissions.h"
#include "base/small_json.h"
#include "store/state.h"

namespace nl::ops {
namespace {

using nlohmann::json;

std::string sessions_folder(const std::string& ledger_folder) {
  return ledger_folder + "/bench";
}

Result<json> read_document(const std::string& folder) {
  NL_TRY(const std::string text, read_file(folder + "/session.json"));
  json document = parse_small_json(text);
  if (document.is_object() && document.contains("file_sha256")) return document;
  return Error{ErrorCode::kBadInput, "this session is damaged: " + folder};
}

/// Ends with the process.
Result<File> lock_of(const std::string& folder) {
  NL_TRY(File lock, File::open_to_read(folder + "/session.json"));
  if (::flock(lock.fd(), LOCK_EX | LOCK_NB) == 0) return lock;
  return Error{ErrorCode::kConflict, "somebody works on this session now: " + base_name(folder)};
}

json answer_of(const std::string& folder, json answer, const std::vector<json>& decided) {
  json claims = json::array();
  for (const json& target : decided)
    claims.insert(claims.end(), target["claims"].begin(), target["claims"].end());
  answer["session"] = base_name(folder);
  answer["finished"] = path_exists(folder + "/finished");
  answer["targets"] = std::move(claims);
  return answer;
}

std::string lines_name(const std::string& folder, const char* what) {
  return folder + "/" + what + ".jsonl";
}

}  // namespace

Result<BenchSession> BenchSession::start(const Context& context, const BenchHead& head) {
  NL_CHECK(make_shared_folders(sessions_folder(context.ledger_folder)));
  const std::string folder =
      fmt::format("{}/{}-{}-{}", sessions_folder(context.ledger_folder), head.started_unix_ns / 1'000'000'000,
                  head.suite, unique_text().substr(0, 6));
  if (::mkdir(folder.c_str(), 0700) != 0) return errno_error("cannot create folder", folder, errno);
  json document = to_json_tree(head);
  NL_CHECK(write_file_durably(folder + "/session.json", document.dump(1)));
  NL_TRY(File lock, lock_of(folder));
  return BenchSession(folder, std::move(document), std::move(lock));
}

Result<BenchSession> BenchSession::resume(const Context& context, const lab::BenchFile& file) {
  for (const std::string& name : bench_sessions(context.ledger_folder)) {
    const std::string folder = sessions_folder(context.ledger_folder) + "/" + name;
    const auto document = read_document(folder);
    const bool is_open = document && (*document)["file_sha256"] == file.sha256 &&
                         (*document)["file"] == file.path && !path_exists(folder + "/finished");
    if (!is_open) continue;
    NL_TRY(File lock, lock_of(folder));
    BenchSession session(folder, *document, std::move(lock));
    NL_CHECK(session.load());
    return session;
  }
  return Error{ErrorCode::kNotFound,
               "no unfinished session of this file: " + file.path,
               "a file that was changed begins anew: {}",
               {suggested("bench", {{"action", "run"}, {"file", file.path}})}};
}

Result<void> BenchSession::load() {
  NL_TRY(const auto samples, lab::LinesFile(lines_name(folder_, "samples")).read());
  for (const json& line : samples) {
    NL_TRY(lab::Sample sample, lab::sample_of(line));
    samples_.push_back(std::move(sample));
  }
  NL_TRY(claims_, lab::LinesFile(lines_name(folder_, "claims")).read());
  return {};
}

std::string BenchSession::name() const {
  return base_name(folder_);
}

bool BenchSession::is_decided(const std::string& target) const {
  return std::any_of(claims_.begin(), claims_.end(),
                     [&](const json& claim) { return claim.value("target", "") == target; });
}

bool BenchSession::are_all_met(const std::string& target) const {
  for (const json& decided : claims_) {
    if (decided["target"] != target) continue;
    for (const json& claim : decided["claims"]) {
      if (claim["verdict"] != "met") return false;
    }
  }
  return true;
}

Result<void> BenchSession::add_sample(const lab::Sample& sample) {
  NL_CHECK(lab::LinesFile(lines_name(folder_, "samples")).append(to_json_tree(sample)));
  samples_.push_back(sample);
  return {};
}

Result<void> BenchSession::add_claims(const std::vector<lab::ClaimResult>& claims) {
  json list = json::array();
  for (const lab::ClaimResult& claim : claims) list.push_back(to_json_tree(claim));
  NL_CHECK(lab::LinesFile(lines_name(folder_, "claims"))
               .append({{"target", claims.front().target}, {"claims", list}}));
  claims_.push_back({{"target", claims.front().target}, {"claims", std::move(list)}});
  return {};
}

json BenchSession::answer() const {
  return answer_of(folder_, document_, claims_);
}

Result<void> BenchSession::finish() {
  remove_tree(folder_ + "/runs");  // they are runs of the ledger now
  return write_file_durably(folder_ + "/finished", "");
}

Result<json> read_bench_session(const std::string& ledger_folder, const std::string& name) {
  const std::string folder = sessions_folder(ledger_folder) + "/" + name;
  const bool is_name = name.find('/') == std::string::npos && !name.starts_with('.');
  if (name.empty() || !is_name || !path_exists(folder))
    return Error{ErrorCode::kNotFound,
                 "no such session: " + name,
                 "{} measures one",
                 {suggested("bench", {{"action", "run"}})}};
  NL_TRY(const json document, read_document(folder));
  NL_TRY(const auto decided, lab::LinesFile(lines_name(folder, "claims")).read());
  return answer_of(folder, document, decided);
}

Result<json> read_bench_samples(const std::string& ledger_folder, const std::string& name) {
  NL_TRY(const auto samples,
         lab::LinesFile(lines_name(sessions_folder(ledger_folder) + "/" + name, "samples")).read());
  return json(samples);
}

std::vector<std::string> bench_sessions(const std::string& ledger_folder) {
  auto names = list_folder(sessions_folder(ledger_folder));
  std::reverse(names.begin(), names.end());  // they begin with their time
  return names;
}

}  // namespace nl::ops
