#include "base/private_folder.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace nl {
namespace {

std::vector<std::string> places_for_private(const Environment& surroundings) {
  std::vector<std::string> places;
  for (const std::string& given :
       {surroundings.get("XDG_RUNTIME_DIR"), surroundings.get("TMPDIR"), std::string("/tmp")}) {
    std::error_code failed;
    if (!given.starts_with('/')) continue;
    const std::string place = std::filesystem::canonical(given, failed).string();
    if (!failed) places.push_back(place);
  }
  return places;
}

/// Nobody but the caller and root can rename or replace what the caller makes in it.
bool keeps_names(const std::string& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  if (info.st_uid != ::geteuid() && info.st_uid != 0) return false;
  return (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (info.st_mode & S_ISVTX) != 0;
}

bool lets_load(const std::string& folder) {
  struct statvfs disk {};
  return ::statvfs(folder.c_str(), &disk) != 0 || (disk.f_flag & ST_NOEXEC) == 0;
}

}  // namespace

Result<FolderAside> make_private_folder(const Environment& surroundings, PrivateUse use) {
  std::string why = "there is none";
  for (const std::string& place : places_for_private(surroundings)) {
    if (!keeps_names(place)) {
      why = "others may change what is in " + place;
    } else if (use == PrivateUse::kCode && !lets_load(place)) {
      why = "programs cannot load libraries from " + place;
    } else {
      const std::string start = place + "/neurolens-" + std::to_string(::geteuid()) + "-";
      remove_abandoned(start);
      auto folder = FolderAside::create(start);
      if (folder) return folder;
      why = folder.error().message;
    }
  }
  return Error{ErrorCode::kUnavailable, "no folder for temporary files: " + why,
               "name one of yours in TMPDIR, on a file system that is not mounted with noexec"};
}

}  // namespace nl
