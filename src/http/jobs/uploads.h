#pragma once
// Uploads: files on their way into the ledger. They are written to a folder of the server, may be continued
// after an interruption, and wait there until they are imported. An import that was promised is written down
// before the promise, so that the next start of the server keeps it. Any thread; one process uses the folder.
//
//   <folder>/<id>/upload.json     whose it is, what was announced
//   <folder>/<id>/<n>/<name>      the bytes of a file so far
//   <folder>/<id>/import.json     the call that was promised
//   <folder>/<id>/answer.json     what came of it; the files are gone then

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace nl::http {

struct UploadOwner {
  std::string name;
  std::string project;
};

struct UploadLimits {
  int64_t most_bytes = int64_t{64} << 30;  ///< of all files together
  int64_t most_of_one_owner = int64_t{32} << 30;
  int64_t least_free_bytes = int64_t{1} << 30;  ///< of the disk, or a twentieth of it: for the runs
  size_t most_files = 1024;                     ///< of one upload
};

class Uploads {
 public:
  Uploads(std::string folder, UploadLimits limits) : folder_(std::move(folder)), limits_(limits) {}

  /// `announced`: [{name, bytes, sha256?}]. Returns what look() does. limit: there is no room.
  Result<nlohmann::json> begin(const UploadOwner& owner, const nlohmann::json& announced);
  /// {upload_id, files: [{name, bytes, received}]}; not_found unless the owner has such an upload.
  Result<nlohmann::json> look(const UploadOwner& owner, const std::string& id) const;
  /// Writes at `offset`, which must be where the file ends so far: conflict otherwise.
  Result<void> write(const UploadOwner& owner, const std::string& id, size_t file, int64_t offset,
                     std::string_view bytes);
  /// Paths of its files, if all are there with all their bytes.
  Result<std::vector<std::string>> files(const UploadOwner& owner, const std::string& id) const;
  /// The same, if they also have the announced hashes.
  Result<std::vector<std::string>> complete(const UploadOwner& owner, const std::string& id) const;
  Result<void> remove(const UploadOwner& owner, const std::string& id);

  /// Promises a call on the upload; keeps the promise over a restart.
  Result<void> promise(const UploadOwner& owner, const std::string& id, const nlohmann::json& parameters);
  /// The promise could not be kept, but may be another time.
  void take_back(const std::string& id);
  /// The files are no longer needed; the answer is kept for a while.
  void finished(const std::string& id, int status, const std::string& answer);
  /// What came of a promise that was kept before this start; nothing if there is none of this owner.
  std::optional<nlohmann::json> answer(const UploadOwner& owner, const std::string& id) const;

  struct Promise {
    std::string id;
    UploadOwner owner;
    nlohmann::json parameters;
  };
  /// Of an earlier start, the oldest first.
  std::vector<Promise> promises() const;
  /// Removes what nobody has touched for a day.
  void forget_old();
  std::string folder_of(const std::string& id) const { return folder_ + "/" + id; }

 private:
  Result<nlohmann::json> document(const UploadOwner& owner, const std::string& id) const;
  std::string path_of(const std::string& id, size_t file, const nlohmann::json& announced) const;
  Result<void> check_room(const UploadOwner& owner, int64_t bytes) const;
  nlohmann::json told(const std::string& id, const nlohmann::json& document) const;

  const std::string folder_;
  const UploadLimits limits_;
  mutable std::mutex mutex_;
};

/// A name that is safe to be a file's, as close to the given one as can be.
std::string safe_file_name(std::string_view given);

}  // namespace nl::http
