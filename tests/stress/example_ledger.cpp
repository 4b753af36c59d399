#include "stress/example_ledger.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <stdexcept>

#include "base/files.h"

namespace nl::stress {
namespace {

void add_kinds(const std::string& folder, const std::string& name, std::set<std::string>& kinds) {
  static const std::regex run_id("[0-9a-f]{64}"), beside_database("\\.sqlite-(wal|shm|journal)$"),
      fingerprints("^(ledger/fingerprints/[^/]+/)[0-9a-f]+");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::string path = name + "/" + std::filesystem::relative(entry.path(), folder).string();
    if (std::regex_search(path, beside_database)) continue;
    path = std::regex_replace(path, run_id, "<run>");
    kinds.insert(std::regex_replace(path, fingerprints, "$1<columns>"));
  }
}

}  // namespace

ExampleLedger::ExampleLedger(int events) {
  std::string path = std::filesystem::temp_directory_path() / "neurolens-stress-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make a folder: " + path);
  path_ = path;
  std::filesystem::create_directory(temp());
  if (const char* const given = std::getenv("TMPDIR")) given_temp_ = given;
  ::setenv("TMPDIR", temp().c_str(), 1);
  examples_.trace = write("one.json", example_trace(events, 0));
  examples_.one = import(examples_.trace, "set=fixed");
  examples_.two = import(write("two.json", example_trace(events, 3)), "set=fixed");
  examples_.run_file = path_ + "/run.json";
  must({"export", {{"run", examples_.two}, {"output", examples_.run_file}}});
  must({"tag", {{"run", examples_.one}, {"names", {"example"}}}});
  must({"note", {{"run", examples_.one}, {"text", "an example"}}});
  must({"baseline", {{"name", "example"}, {"run", examples_.one}}});
}

ExampleLedger::~ExampleLedger() {
  if (given_temp_) {
    ::setenv("TMPDIR", given_temp_->c_str(), 1);
  } else {
    ::unsetenv("TMPDIR");
  }
  remove_tree(path_);
}

std::string ExampleLedger::write(const std::string& name, const std::string& text) const {
  const std::string path = path_ + "/" + name;
  if (!write_file_durably(path, text)) throw std::runtime_error("cannot write: " + path);
  return path;
}

std::string ExampleLedger::output(size_t caller) const {
  const std::string folder = path_ + "/output-" + std::to_string(caller);
  std::filesystem::create_directories(folder);
  return folder;
}

Examples ExampleLedger::examples(const std::string& output) const {
  Examples examples = examples_;
  examples.output = output;
  return examples;
}

ops::Context ExampleLedger::context() const {
  ops::Context context;
  context.ledger_folder = folder();
  context.principal = "example";
  context.command = "example";
  context.face = ops::Face::kCli;
  context.may = ops::Effect::kWrite;
  context.host_paths = true;
  context.page_files = {make_folders, replace_file};
  return context;
}

std::string ExampleLedger::must(const Call& call) const {
  auto answer = answer_of(call, context(), {});
  if (!answer) throw std::runtime_error(call_text(call) + ": " + answer.error().message);
  return *answer;
}

std::string ExampleLedger::import(const std::string& path, const std::string& label) const {
  const std::string answer = must({"import", {{"paths", {path}}, {"set", {label}}}});
  constexpr std::string_view kKey = "\"run_id\": \"";
  return answer.substr(answer.find(kKey) + kKey.size(), 64);
}

void ExampleLedger::remove_derived() const {
  remove_tree(folder() + "/fingerprints");
  for (const std::string& run : list_folder(folder() + "/runs"))
    remove_tree(folder() + "/runs/" + run + "/derived");
}

std::set<std::string> ExampleLedger::kinds_of_files() const {
  std::set<std::string> kinds;
  add_kinds(folder(), "ledger", kinds);
  add_kinds(temp(), "temp", kinds);
  return kinds;
}

std::set<std::string> left_overs(const std::set<std::string>& quiet, const std::set<std::string>& now) {
  std::set<std::string> more;
  for (const std::string& kind : now) {
    if (!quiet.contains(kind)) more.insert(kind);
  }
  return more;
}

}  // namespace nl::stress
