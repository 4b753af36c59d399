#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "ops/import/import_file.h"
#include "source_folder.h"

namespace nl::ops {
namespace {

class ImportSourceTest : public testing::Test {
 protected:
  void TearDown() override { remove_tree(folder_); }

  Result<ImportReport> import(const std::string& ledger_name, const ImportSource& source) {
    Context context;
    context.ledger_folder = folder_ + "/" + ledger_name;
    NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
    return import_sources(context, ledger, {source}, {});
  }
  ImportSource in_memory(const std::string& name) {
    return {name, [this] { return ingest::open_memory(bytes_); }};
  }

  const std::string path_ = source_folder() + "/samples/kineto_small.json";
  const std::string bytes_ = read_file(path_).value();
  const std::string folder_ = testing::TempDir() + "neurolens-import-source-" + std::to_string(::getpid());
};

TEST_F(ImportSourceTest, BytesGiveTheRunThatTheFileGives) {
  const auto from_file = import("file", {path_, [this] { return ingest::open_file(path_); }, true});
  const auto from_bytes = import("bytes", in_memory("upload.json"));
  ASSERT_TRUE(from_file && from_bytes);
  EXPECT_EQ(from_bytes->run_id, from_file->run_id);
  EXPECT_EQ(from_bytes->document, from_file->document);
}

TEST_F(ImportSourceTest, BytesThatAreThereAlreadyAreNotImportedAgain) {
  ASSERT_TRUE(import("bytes", in_memory("upload.json")));
  const auto again = import("bytes", in_memory("other.json"));
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->created);
}

TEST_F(ImportSourceTest, AnErrorNamesTheSource) {
  const auto failed = import("bytes", {"upload.json", [] { return ingest::open_memory("{}"); }});
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("upload.json"), std::string::npos);
}

}  // namespace
}  // namespace nl::ops
