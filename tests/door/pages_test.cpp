// Pages of reports and comparisons: the caller gets them as bytes, and only a face that has files writes
// some.

#include <gtest/gtest.h>

#include <map>

#include "door/ledger_fixture.h"

namespace nl::ops {
namespace {

using nlohmann::json;

class Pages : public LedgerOfSamples {
 protected:
  /// The face keeps the files instead of writing them.
  std::map<std::string, std::string> files_of(const char* operation, const json& parameters) const {
    std::map<std::string, std::string> files;
    Context own = context(Effect::kWrite);
    own.page_files.make_folders = [](const std::string&) { return Result<void>(); };
    own.page_files.write = [&](const std::string& path, std::string_view page) {
      files[path] = page;
      return Result<void>();
    };
    const auto outcome = call(operation, parameters, own);
    EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message);
    return files;
  }
  std::string page_of(const char* operation, const json& parameters, Effect may) const {
    std::string page;
    Context own = context(may);
    own.host_paths = false;
    own.bytes = [&](std::string_view piece) {
      page += piece;
      return Result<void>();
    };
    const auto outcome = call(operation, parameters, own);
    EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message);
    return page;
  }
  json runs() const { return {ids_[0], ids_[1]}; }
};

TEST_F(Pages, OfAComparisonAreTheSameAsBytesAndInFiles) {
  for (const char* kind : {"html", "markdown", "junit"}) {
    const auto files = files_of("compare", {{"runs", runs()}, {kind, "/nowhere/page"}});
    ASSERT_EQ(files.size(), 1U) << kind;
    EXPECT_GT(files.at("/nowhere/page").size(), 100U) << kind;
    EXPECT_EQ(page_of("compare", {{"runs", runs()}, {"page", kind}}, Effect::kRead),
              files.at("/nowhere/page"))
        << kind;
  }
}

TEST_F(Pages, OfAReportAreTheSameAsBytesAndInFiles) {
  const auto files = files_of("report", {{"run", ids_[0]}, {"output", "/nowhere"}});
  for (const char* format : {"html", "json"}) {
    EXPECT_EQ(page_of("report", {{"run", ids_[0]}, {"format", format}}, Effect::kWrite),
              files.at(std::string("/nowhere/report.") + format));
  }
}

TEST_F(Pages, AreNoFilesWhereTheFaceHasNone) {
  Context own = context(Effect::kWrite);
  own.page_files = {};
  const auto outcome = call("compare", {{"runs", runs()}, {"html", folder_ + "/page.html"}}, own);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(path_exists(folder_ + "/page.html"));
}

TEST_F(Pages, NeedSomewhereToGo) {
  Context own = context(Effect::kRead);
  const auto outcome = call("compare", {{"runs", runs()}, {"page", "html"}}, own);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace nl::ops
