#pragma once
// The corpus of real profiles and the values that were computed from it without NeuroLens (GOLDEN.json).
// Found by NEUROLENS_TRACES or beside the repository; tests are skipped without it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files.h"
#include "base/json.h"
#include "ops/import/import_file.h"
#include "source_folder.h"
#include "store/run_views.h"

namespace nl::golden {

using nlohmann::json;

inline std::string corpus_folder() {
  const char* given = std::getenv("NEUROLENS_TRACES");
  return given != nullptr ? given : source_folder() + "/../shared/traces";
}

/// The values of a file of the corpus; empty if it is absent.
inline json values_of(const std::string& file) {
  const auto text = read_file(corpus_folder() + "/" + file);
  return text ? json::parse(*text) : json::object();
}
/// Read once: each of a thousand tests is a process that needs them, some of them many times.
inline const json& golden_values() {
  static const json values = values_of("GOLDEN.json");
  return values;
}
inline const json& nsight_values() {
  static const json values = values_of("GOLDEN_NSIGHT.json");
  return values;
}

class TempFolder {
 public:
  TempFolder() { path_ = testing::TempDir() + "neurolens-corpus-" + std::to_string(::getpid()); }
  ~TempFolder() { remove_tree(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// An imported trace with its views.
class Imported {
 public:
  Imported(const std::string& ledger_folder, const std::vector<std::string>& paths) {
    ops::Context context;
    context.ledger_folder = ledger_folder;
    auto ledger = store::Ledger::open(ledger_folder);
    auto report = ops::import_files(context, *ledger, paths, {});
    if (!report) {
      ADD_FAILURE() << paths[0] << ": " << report.error().message;
      return;
    }
    document = report->document;
    bundle = ledger->run_folder(report->run_id);
    engine_ = store::Engine::open({1, 512, ""}).value();
    connection_.emplace(engine_->connect().value());
    const auto viewed =
        store::create_views(*connection_, store::run_files(store::place_in_ledger(bundle)).value(), true);
    EXPECT_TRUE(viewed);
  }
  int64_t number(const std::string& sql) {
    const auto value = connection_->integer(sql);
    EXPECT_TRUE(value) << sql;
    return value ? *value : -1;
  }
  /// count, total_ns and distinct_names of some rows.
  void expect_group(const json& expected, const std::string& from) {
    EXPECT_EQ(number("SELECT count(*) FROM " + from), expected["count"]) << from;
    EXPECT_EQ(number("SELECT coalesce(sum(dur_ns), 0)::BIGINT FROM " + from), expected["total_ns"]) << from;
    EXPECT_EQ(number("SELECT count(DISTINCT name) FROM " + from), expected["distinct_names"]) << from;
    for (const auto& top : expected["top"]) {
      const std::string name = store::sql_quoted(top["name"].get<std::string>());
      const std::string one = "(SELECT * FROM " + from + ") WHERE name = " + name;
      EXPECT_EQ(number("SELECT count(*) FROM " + one), top["count"]) << top["name"];
      EXPECT_EQ(number("SELECT sum(dur_ns)::BIGINT FROM " + one), top["total_ns"]) << top["name"];
    }
  }

  json document;
  std::string bundle;

 private:
  std::shared_ptr<store::Engine> engine_;
  std::optional<store::Connection> connection_;
};

/// Paths in the corpus that start so; {"absent"} if there is no corpus.
inline std::vector<std::string> files_of(const std::string& prefix) {
  std::vector<std::string> files;
  const json& golden = golden_values();
  for (const auto& [file, values] : golden.items()) {
    if (file.starts_with(prefix)) files.push_back(file);
  }
  return files.empty() ? std::vector<std::string>{"absent"} : files;
}

/// One file of the corpus.
class CorpusFile : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "absent")
      GTEST_SKIP() << "no corpus at " << corpus_folder() << " (set NEUROLENS_TRACES)";
  }
  json expected() const { return golden_values().value(GetParam(), json()); }
  std::string path() const { return corpus_folder() + "/" + GetParam(); }
  TempFolder temp_;
};

inline std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param) name += isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

}  // namespace nl::golden
