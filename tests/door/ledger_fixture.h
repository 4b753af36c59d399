#pragma once
// A ledger with the samples in it, and calls on it through the door.

#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "ops/door.h"
#include "source_folder.h"

namespace nl::ops {

class LedgerOfSamples : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "neurolens-door-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    for (const char* sample : {"kineto_small.json", "kineto_small_after.json", "native_full.json"})
      ids_.push_back(must("import", {{"paths", {sample_path(sample)}}}, Effect::kWrite)["run_id"]);
  }
  void TearDown() override { remove_tree(folder_); }

  static std::string sample_path(const std::string& name) { return source_folder() + "/samples/" + name; }
  std::string ledger() const { return folder_ + "/ledger"; }

  Context context(Effect may) const {
    Context made;
    made.ledger_folder = ledger();
    made.principal = "tester";
    made.face = Face::kCli;
    made.may = may;
    made.host_paths = true;
    made.page_files = {make_folders, replace_file};
    return made;
  }
  nlohmann::json must(const char* operation, const nlohmann::json& parameters, Effect may) const {
    Context own = context(may);
    auto outcome = call(operation, parameters, own);
    EXPECT_TRUE(outcome) << operation << ": " << (outcome ? "" : outcome.error().message);
    return outcome ? outcome->data : nlohmann::json();
  }

  std::string folder_;
  std::vector<std::string> ids_;
};

}  // namespace nl::ops
