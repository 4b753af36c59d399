#include "ops/sidecar.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/files.h"
#include "model/labels.h"

namespace nl::ops {
namespace {

constexpr int64_t kMaxBytes = 64 * 1024;
constexpr char kName[] = "neurolens.yaml";
constexpr char kHint[] = "a sidecar has labels: {key: value}, tags: [name] and note: text";

/// Leaves the parser from inside its callbacks.
struct Stop {
  Error error;
};

/// Takes the parser's events one by one, so that nothing is built that was not asked for.
class SidecarEvents : public YAML::EventHandler {
 public:
  explicit SidecarEvents(const std::string& name) : name_(name) {}
  Sidecar take() { return std::move(sidecar_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) stop(mark, "there is a second document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    if (depth_ > 0) stop(key_.empty() ? mark : key_mark_, (key_.empty() ? "a key" : key_) + " has no value");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { stop(mark, "aliases are not allowed"); }

  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& text) override {
    refuse_anchor(mark, anchor);
    if (depth_ == 0) stop(mark, "a mapping is expected");
    if (depth_ == 1 && section_.empty()) return begin_section(mark, text);
    if (depth_ == 1) return take_note(mark, text);
    if (section_ == "tags") return take_tag(mark, text);
    take_label(mark, text);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    if (depth_ != 1 || section_ != "tags") stop(mark, "a list is only expected for tags");
    depth_++;
  }
  void OnSequenceEnd() override { leave(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    if (depth_ > 1 || (depth_ == 1 && section_ != "labels"))
      stop(mark, "a mapping is only expected for labels");
    depth_++;
  }
  void OnMapEnd() override { leave(); }

 private:
  [[noreturn]] void stop(const YAML::Mark& mark, const std::string& what) const {
    throw Stop{{ErrorCode::kBadInput, name_ + ":" + std::to_string(mark.line + 1) + ": " + what, kHint}};
  }
  void check(const YAML::Mark& mark, const Result<void>& fine) const {
    if (!fine) stop(mark, fine.error().message + " (" + fine.error().hint + ")");
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) stop(mark, "anchors are not allowed");
  }

  void begin_section(const YAML::Mark& mark, const std::string& text) {
    if (text != "labels" && text != "tags" && text != "note")
      stop(mark, "unknown key: " + text.substr(0, 64));
    if (std::find(sections_.begin(), sections_.end(), text) != sections_.end())
      stop(mark, text + " comes twice");
    sections_.push_back(text);
    section_ = key_ = text;
    key_mark_ = mark;
  }

  void take_note(const YAML::Mark& mark, std::string text) {
    if (section_ != "note") stop(mark, section_ + " cannot be a text");
    text.erase(text.find_last_not_of(" \t\n") + 1);  // a block of YAML ends with a line break
    check(mark, model::check_note(text));
    sidecar_.notes.push_back(text);
    section_.clear();
  }

  void take_tag(const YAML::Mark& mark, const std::string& text) {
    check(mark, model::check_name("tag", text));
    sidecar_.tags.push_back(text);
  }

  void take_label(const YAML::Mark& mark, const std::string& text) {
    if (label_.empty()) {
      check(mark, model::check_label_key(text));
      if (sidecar_.labels.contains(text)) stop(mark, "the label " + text + " comes twice");
      label_ = key_ = text;
      key_mark_ = mark;
      return;
    }
    check(mark, model::check_label_value(label_, text));
    sidecar_.labels[label_] = text;
    label_.clear();
  }

  void leave() {
    if (--depth_ == 1) section_.clear();
  }

  const std::string& name_;
  Sidecar sidecar_;
  int depth_ = 0;
  int documents_ = 0;
  std::string section_, label_, key_;
  YAML::Mark key_mark_;
  std::vector<std::string> sections_;
};

/// Later ones count before earlier ones.
void merge(Sidecar& into, Sidecar from) {
  for (auto& [key, value] : from.labels) into.labels[key] = std::move(value);
  into.tags.insert(into.tags.end(), from.tags.begin(), from.tags.end());
  into.notes.insert(into.notes.end(), from.notes.begin(), from.notes.end());
  into.found = true;
}

Result<void> merge_file(Sidecar& into, const std::string& path) {
  if (!path_exists(path)) return {};
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) {  // a pipe would never end
    return Error{ErrorCode::kBadInput, "the sidecar is not a file: " + path, kHint};
  }
  NL_TRY(const int64_t bytes, file_size(path));
  if (bytes > kMaxBytes) {
    return Error{ErrorCode::kLimit, "the sidecar has " + std::to_string(bytes) + " bytes: " + path,
                 "at most 65536"};
  }
  NL_TRY(const std::string text, read_file(path));
  NL_TRY(Sidecar one, parse_sidecar(text, path));
  merge(into, std::move(one));
  return {};
}

}  // namespace

Result<Sidecar> parse_sidecar(const std::string& text, const std::string& name) {
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    SidecarEvents events(name);
    while (parser.HandleNextDocument(events)) {
    }
    return events.take();
  } catch (const Stop& stop) {
    return stop.error;
  } catch (const YAML::Exception& e) {
    return Error{ErrorCode::kBadInput, name + ":" + std::to_string(e.mark.line + 1) + ": " + e.msg, kHint};
  }
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
