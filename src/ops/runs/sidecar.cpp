#include "ops/runs/sidecar.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/yaml.h"
#include "model/labels.h"

namespace nl::ops {
namespace {

constexpr int64_t kMaxBytes = 64 * 1024;
constexpr char kName[] = "neurolens.yaml";
constexpr char kHint[] = "the file may have labels: {key: value}, tags: [name], note: text and notes: [text]";

/// Takes one section after the other; `name` stands in messages.
class SidecarReader {
 public:
  explicit SidecarReader(const std::string& name) : name_(name) {}

  Result<Sidecar> read(const YamlNode& root) {
    if (root.kind == YamlNode::Kind::kNull) return std::move(sidecar_);
    if (!root.is_map()) return fault(root.line, "a mapping is expected");
    for (const auto& [key, line, value] : root.members) {
      if (value.kind == YamlNode::Kind::kNull) return fault(line, key.substr(0, 64) + " has no value");
      NL_CHECK(take(key, line, value));
    }
    return std::move(sidecar_);
  }

 private:
  Error fault(int line, const std::string& what) const { return yaml_error(name_, line, what, kHint); }
  Result<void> check(int line, const Result<void>& fine) const {
    if (!fine) return fault(line, fine.error().message + " (" + fine.error().hint + ")");
    return {};
  }

  Result<void> take(const std::string& key, int line, const YamlNode& value) {
    if (key == "labels") return take_labels(value);
    if (key == "tags") return take_tags(value);
    if (key == "note") return take_note(value);
    if (key == "notes") return take_notes(value);
    return fault(line, "unknown key: " + key.substr(0, 64));
  }

  Result<void> take_labels(const YamlNode& labels) {
    if (!labels.is_map()) return fault(labels.line, "labels must be a mapping");
    for (const auto& [key, line, value] : labels.members) {
      NL_CHECK(check(line, model::check_label_key(key)));
      if (!value.is_text()) return fault(line, "the label " + key + " needs a text");
      NL_CHECK(check(value.line, model::check_label_value(key, value.text)));
      sidecar_.labels[key] = value.text;
    }
    return {};
  }

  Result<void> take_tags(const YamlNode& tags) {
    if (!tags.is_list()) return fault(tags.line, "tags must be a list");
    for (const auto& tag : tags.items) {
      if (!tag.is_text()) return fault(tag.line, "a tag must be a text");
      NL_CHECK(check(tag.line, model::check_name("tag", tag.text)));
      sidecar_.tags.push_back(tag.text);
    }
    return {};
  }

  Result<void> take_notes(const YamlNode& notes) {
    if (!notes.is_list()) return fault(notes.line, "notes must be a list");
    for (const auto& note : notes.items) NL_CHECK(take_note(note));
    return {};
  }

  Result<void> take_note(const YamlNode& note) {
    if (!note.is_text()) return fault(note.line, "the note must be a text");
    std::string text = note.text;
    text.erase(text.find_last_not_of(" \t\n") + 1);  // a block of YAML ends with a line break
    NL_CHECK(check(note.line, model::check_note(text)));
    sidecar_.notes.push_back(text);
    return {};
  }

  const std::string& name_;
  Sidecar sidecar_;
};

/// Later ones count before earlier ones.
void merge(Sidecar& into, Sidecar from) {
  for (auto& [key, value] : from.labels) into.labels[key] = std::move(value);
  into.tags.insert(into.tags.end(), from.tags.begin(), from.tags.end());
  into.notes.insert(into.notes.end(), from.notes.begin(), from.notes.end());
}

/// Of a link, whose it is counts: anybody can make one that leads to a file of ours.
bool is_of_the_caller_or_root(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && (info.st_uid == ::geteuid() || info.st_uid == 0);
}

Result<void> merge_file(Sidecar& into, const std::string& path) {
  if (!path_exists(path)) return {};
  if (!is_of_the_caller_or_root(path)) {
    into.passed_over.push_back(path);
    return {};
  }
  NL_TRY(const std::string text, read_small_file(path, kMaxBytes));
  NL_TRY(Sidecar one, parse_sidecar(text, path));
  merge(into, std::move(one));
  into.files.push_back(path);
  return {};
}

}  // namespace

Result<Sidecar> parse_sidecar(const std::string& text, const std::string& name) {
  NL_TRY(const YamlNode root, parse_yaml(text, name));
  return SidecarReader(name).read(root);
}

Result<Sidecar> read_sidecars(const std::string& profile) {
  Sidecar sidecar;
  const size_t slash = profile.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : profile.substr(0, slash + 1);
  NL_CHECK(merge_file(sidecar, folder + kName));
  NL_CHECK(merge_file(sidecar, profile + "." + kName));
  return sidecar;
}

}  // namespace nl::ops
