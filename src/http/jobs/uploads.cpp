#include "http/jobs/uploads.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <tuple>

#include "base/files.h"
#include "base/path_text.h"
#include "base/permissions.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/small_json.h"
#include "ops/envelope.h"
#include "store/ledger.h"

namespace nl::http {
namespace {

using nlohmann::json;

constexpr size_t kUploadIdBytes = 16;
constexpr size_t kMostNameLetters = 160;
constexpr int64_t kKeptShare = 20;
constexpr int64_t kForgottenSeconds = int64_t{24} * 3600;

bool is_id(const std::string& id) {
  return id.size() == 2 * kUploadIdBytes && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Error no_such_upload() {
  return Error{ErrorCode::kNotFound, "there is no such upload", "POST /api/v1/uploads begins one"};
}

int64_t size_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

std::optional<json> read_document(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  json document = parse_small_json(*text);
  return document.is_object() ? std::optional(std::move(document)) : std::nullopt;
}

bool is_sha256(const json& text) {
  return text.is_string() && text.get<std::string>().size() == 64 &&
         text.get<std::string>().find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<void> check_announced(const json& files, size_t most) {
  if (!files.is_array() || files.empty() || files.size() > most)
    return Error{ErrorCode::kBadInput,
                 "files must be a list of {name, bytes}, of at most " + std::to_string(most)};
  for (const json& file : files) {
    const bool is_fine = file.is_object() && file.contains("name") && file["name"].is_string() &&
                         whole_number(file, "bytes").has_value() &&
                         (!file.contains("sha256") || is_sha256(file["sha256"]));
    if (!is_fine)
      return Error{ErrorCode::kBadInput, "a file must have a name, its bytes, and perhaps its sha256 in hex"};
  }
  return {};
}

int64_t bytes_of(const json& files) {
  int64_t sum = 0;
  for (const json& file : files) {
    const int64_t bytes = file["bytes"];
    if (bytes > INT64_MAX - sum) return INT64_MAX;
    sum += bytes;
  }
  return sum;
}

Result<void> append(const std::string& path, int64_t offset, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno_error("cannot open", base_name(path), errno);
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int number = errno;
      ::close(fd);
      if (number == ENOSPC || number == EDQUOT)
        return Error{ErrorCode::kLimit, "the disk of the server is full"};
      return errno_error("cannot write", base_name(path), number);
    }
    offset += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  ::close(fd);
  return {};
}

}  // namespace

std::string safe_file_name(std::string_view given) {
  std::string name;
  for (const char c : foreign_base_name(given)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          std::string_view("._-+=@,").find(c) != std::string_view::npos;
    name += is_plain ? c : '_';
  }
  if (name.size() > kMostNameLetters)
    name.erase(0, name.size() - kMostNameLetters);  // the end tells the format
  while (name.starts_with('.') || name.starts_with('-')) name.erase(0, 1);
  return name.empty() ? "profile" : name;
}

std::string Uploads::path_of(const std::string& id, size_t file, const json& announced) const {
  return folder_of(id) + "/" + std::to_string(file) + "/" +
         safe_file_name(announced["name"].get<std::string>());
}

Result<void> Uploads::check_room(const UploadOwner& owner, int64_t bytes) const {
  int64_t all = 0, of_owner = 0;
  for (const std::string& id : list_folder(folder_)) {
    const auto document = read_document(folder_of(id) + "/upload.json");
    if (!document || path_exists(folder_of(id) + "/answer.json")) continue;
    const int64_t announced = bytes_of((*document)["files"]);
    all += announced;
    if ((*document)["owner"] == owner.name) of_owner += announced;
  }
  struct statvfs disk {};
  const bool is_known = ::statvfs(folder_.c_str(), &disk) == 0;
  const auto block = static_cast<int64_t>(disk.f_frsize);
  // On a small disk a part of it stays free, not more than there is.
  const int64_t kept =
      std::min(limits_.least_free_bytes, static_cast<int64_t>(disk.f_blocks) * block / kKeptShare);
  const int64_t available = is_known ? static_cast<int64_t>(disk.f_bavail) * block - kept : INT64_MAX;
  if (bytes > limits_.most_of_one_owner - of_owner || bytes > limits_.most_bytes - all)
    return Error{ErrorCode::kLimit, "too many bytes are on their way already",
                 "wait until they are imported, or remove an upload"};
  if (bytes > available)
    return Error{ErrorCode::kLimit, "the disk of the server has no room for these files"};
  return {};
}

json Uploads::told(const std::string& id, const json& document) const {
  json files = json::array();
  for (size_t i = 0; i < document["files"].size(); i++) {
    json file = document["files"][i];
    file["received"] = size_of(path_of(id, i, file));
    files.push_back(std::move(file));
  }
  return {{"upload_id", id}, {"files", std::move(files)}};
}

Result<json> Uploads::begin(const UploadOwner& owner, const json& announced) {
  NL_CHECK(check_announced(announced, limits_.most_files));
  const std::lock_guard lock(mutex_);
  NL_CHECK(make_folders(folder_));
  ::chmod(folder_.c_str(), 0700);
  NL_CHECK(check_room(owner, bytes_of(announced)));
  const std::string id = hex_of(random_bytes(kUploadIdBytes));
  json document = {{"owner", owner.name},
                   {"project", owner.project},
                   {"begun_at_ns", store::unix_now_ns()},
                   {"files", announced}};
  for (size_t i = 0; i < announced.size(); i++)
    NL_CHECK(make_folders(folder_of(id) + "/" + std::to_string(i)));
  ::chmod(folder_of(id).c_str(), 0700);
  for (size_t i = 0; i < announced.size(); i++)
    ::chmod((folder_of(id) + "/" + std::to_string(i)).c_str(), 0700);
  NL_CHECK(write_file_durably(folder_of(id) + "/upload.json", ops::compact_json(document)));
  return told(id, document);
}

Result<json> Uploads::document(const UploadOwner& owner, const std::string& id) const {
  if (!is_id(id)) return no_such_upload();
  auto document = read_document(folder_of(id) + "/upload.json");
  if (!document || (*document)["owner"] != owner.name || (*document)["project"] != owner.project)
    return no_such_upload();
  return *std::move(document);
}

Result<json> Uploads::look(const UploadOwner& owner, const std::string& id) const {
  NL_TRY(const json found, document(owner, id));
  return told(id, found);
}

Result<void> Uploads::write(const UploadOwner& owner, const std::string& id, size_t file, int64_t offset,
                            std::string_view bytes) {
  NL_TRY(const json found, document(owner, id));
  if (file >= found["files"].size()) return Error{ErrorCode::kNotFound, "the upload has no such file"};
  if (path_exists(folder_of(id) + "/import.json"))
    return Error{ErrorCode::kConflict, "the upload is being imported"};
  const json& announced = found["files"][file];
  const std::string path = path_of(id, file, announced);
  if (offset != size_of(path))
    return Error{ErrorCode::kConflict, "the next byte of the file is number " + std::to_string(size_of(path)),
                 "continue with that offset"};
  if (std::cmp_greater(bytes.size(), announced["bytes"].get<int64_t>() - offset))
    return Error{ErrorCode::kBadInput, "there are more bytes than were announced"};
  return append(path, offset, bytes);
}

Result<std::vector<std::string>> Uploads::files(const UploadOwner& owner, const std::string& id) const {
  NL_TRY(const json found, document(owner, id));
  if (path_exists(folder_of(id) + "/answer.json"))
    return Error{ErrorCode::kConflict, "the upload was imported already",
                 "GET /api/v1/jobs/" + id + " has the answer"};
  std::vector<std::string> paths;
  for (size_t i = 0; i < found["files"].size(); i++) {
    const json& file = found["files"][i];
    paths.push_back(path_of(id, i, file));
    if (size_of(paths[i]) != file["bytes"].get<int64_t>() || !path_exists(paths[i]))
      return Error{ErrorCode::kBadInput, "a file is not complete: " + base_name(paths[i]),
                   "send the rest of it first"};
  }
  return paths;
}

Result<std::vector<std::string>> Uploads::complete(const UploadOwner& owner, const std::string& id) const {
  NL_TRY(const json found, document(owner, id));
  NL_TRY(auto paths, files(owner, id));
  for (size_t i = 0; i < paths.size(); i++) {
    const json& file = found["files"][i];
    if (!file.contains("sha256")) continue;
    NL_TRY(const std::string hash, sha256_of_file(paths[i]));
    if (hash != file["sha256"].get<std::string>())
      return Error{ErrorCode::kBadInput, "a file does not have the announced sha256: " + base_name(paths[i]),
                   "send it again"};
  }
  return paths;
}

Result<void> Uploads::remove(const UploadOwner& owner, const std::string& id) {
  NL_TRY(const json found, document(owner, id));
  if (path_exists(folder_of(id) + "/import.json") && !path_exists(folder_of(id) + "/answer.json"))
    return Error{ErrorCode::kConflict, "the upload is being imported", "cancel its job"};
  remove_tree(folder_of(id));
  return {};
}

Result<void> Uploads::promise(const UploadOwner& owner, const std::string& id, const json& parameters) {
  NL_TRY(const json found, document(owner, id));
  const std::lock_guard lock(mutex_);
  const std::string path = folder_of(id) + "/import.json";
  if (path_exists(path)) return Error{ErrorCode::kConflict, "the upload is being imported already"};
  return write_file_durably(path,
                            ops::compact_json({{"parameters", parameters}, {"at_ns", store::unix_now_ns()}}));
}

void Uploads::take_back(const std::string& id) {
  ::unlink((folder_of(id) + "/import.json").c_str());
}

void Uploads::finished(const std::string& id, int status, const std::string& answer) {
  const json envelope = json::parse(answer, nullptr, false);
  (void)write_file_durably(folder_of(id) + "/answer.json",
                           ops::compact_json({{"status", status}, {"answer", envelope}}));
  for (const std::string& name : list_folder(folder_of(id))) {
    if (!name.ends_with(".json")) remove_tree(folder_of(id) + "/" + name);
  }
}

std::optional<json> Uploads::answer(const UploadOwner& owner, const std::string& id) const {
  if (!document(owner, id)) return std::nullopt;
  return read_document(folder_of(id) + "/answer.json");
}

std::vector<Uploads::Promise> Uploads::promises() const {
  std::vector<std::pair<int64_t, Promise>> found;
  for (const std::string& id : list_folder(folder_)) {
    const auto upload = read_document(folder_of(id) + "/upload.json");
    const auto call = read_document(folder_of(id) + "/import.json");
    if (!upload || !call || path_exists(folder_of(id) + "/answer.json")) continue;
    found.push_back(
        {(*call)["at_ns"], {id, {(*upload)["owner"], (*upload)["project"]}, (*call)["parameters"]}});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.id) < std::tie(b.first, b.second.id);
  });
  std::vector<Promise> out;
  out.reserve(found.size());
  for (auto& [at, promise] : found) out.push_back(std::move(promise));
  return out;
}

void Uploads::forget_old() {
  for (const std::string& id : list_folder(folder_)) {
    const bool waits =
        path_exists(folder_of(id) + "/import.json") && !path_exists(folder_of(id) + "/answer.json");
    struct stat info {};
    if (waits || !is_id(id) || ::stat(folder_of(id).c_str(), &info) != 0) continue;
    int64_t touched = info.st_mtime;
    for (const std::string& name : list_folder(folder_of(id))) {
      const std::string folder = folder_of(id) + "/" + name;
      for (const std::string& file : list_folder(folder)) {
        if (::stat(fmt::format("{}/{}", folder, file).c_str(), &info) == 0)
          touched = std::max<int64_t>(touched, info.st_mtime);
      }
    }
    if (std::time(nullptr) - touched > kForgottenSeconds) remove_tree(folder_of(id));
  }
}

}  // namespace nl::http
