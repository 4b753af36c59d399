#pragma once
// A packed run: a whole bundle as one file, FILE.nlz. It can be sent, kept as one object of a bucket, and
// read without being unpacked as a whole:
//
//   NLZ1\n                                   the first five bytes
//   run.json, run.json.sha256, *.parquet …   the files as they are, one behind the other, sorted by name
//   {"files": [{name, offset, bytes, sha256}], "run_id": …, "version": 1}   the index
//   NLZ1 <where the index begins> <sha256 of the index>\n                   the last 91 bytes
//
// So the end tells the index, and one ranged read gives one table. The same files give the same bytes. The
// sha256 of the index names the content as a whole.
//
// Such a file is untrusted. Everything that its index says is checked before it is used: names are those that
// a bundle can have, and files neither overlap nor leave gaps.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace nl::store {

inline constexpr std::string_view kPackedStart = "NLZ1\n";
inline constexpr std::string_view kPackedEnding = ".nlz";
/// What people said of the run: labels, tags and notes.
inline constexpr std::string_view kPackedSidecar = "neurolens.yaml";
/// Folder of the profiles that the run was made from.
inline constexpr std::string_view kPackedSources = "sources/";

struct PackedFile {
  std::string name;
  int64_t offset = 0;
  int64_t bytes = 0;
  std::string sha256 = {};
};

class PackedRun {
 public:
  /// Reads the index. bad_input if the file is not a packed run or was changed, unsupported if it is newer.
  static Result<PackedRun> open(const std::string& path);

  /// As the file says; nothing proves it.
  const std::string& run_id() const { return run_id_; }
  /// Of the index.
  const std::string& sha256() const { return sha256_; }
  const std::vector<PackedFile>& files() const { return files_; }
  /// Null if there is none of this name.
  const PackedFile* find(std::string_view name) const;

  /// One of its files, at most `most_bytes` long; bad_input if its bytes are not those that the index tells.
  Result<std::string> read(const PackedFile& file, int64_t most_bytes) const;
  /// Writes one of its files to this path, and checks it like read. Stops when the call is cancelled.
  Result<void> unpack(const PackedFile& file, const std::string& path, bool flushes) const;
  /// Reads one of its files to the end, only to check it.
  Result<void> check(const PackedFile& file) const;
  /// The facts: run.json and the tables. The folder is there. What goes into a cache need not be flushed.
  Result<void> unpack_bundle(const std::string& folder, bool flushes) const;

 private:
  PackedRun(File file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Result<void> read_index();
  Result<void> take_index(std::string_view text, int64_t begin);
  Result<std::string> read_range(int64_t offset, int64_t bytes) const;
  Result<void> each_piece(const PackedFile& file,
                          const std::function<Result<void>(std::string_view)>& take) const;
  Error bad(const std::string& why) const;

  File file_;
  std::string path_;
  std::string run_id_;
  std::string sha256_;
  std::vector<PackedFile> files_;
};

/// Does the file begin like a packed run?
bool is_packed_run(const std::string& path);

/// One file to pack: bytes on the disk, or a text.
struct FileToPack {
  std::string name;
  std::string path = {};
  std::string text = {};
};

/// Packs the files in the order of their names; the sha256 of the index. Stops when the call is cancelled.
Result<std::string> write_packed_run(const std::string& run_id, std::vector<FileToPack> files,
                                     const std::function<Result<void>(std::string_view)>& write);

}  // namespace nl::store
