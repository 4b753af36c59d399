// Every Kineto trace of the corpus: nearly all kernel time has a class.

#include <filesystem>
#include <map>

#include "analyze/names/taxonomy.h"
#include "corpus.h"
#include "ingest/adapter.h"

namespace nl::golden {
namespace {

using analyze::OpClass;
using analyze::Taxonomy;

/// Adds up kernel time by name.
class KernelTimes : public model::RunSink {
 public:
  Result<void> push(std::shared_ptr<model::Batch> batch) override {
    const auto& rows = batch->rows(model::TableId::kernels);
    for (size_t i = 0; i < rows.size(); i++) {
      const int64_t name = rows.cell(i, model::kernels::name);
      const int64_t ns = rows.cell(i, model::kernels::dur_ns);
      if (name != model::kNull && ns != model::kNull) ns_[std::string(batch->strings[name])] += ns;
    }
    return {};
  }
  const std::map<std::string, int64_t>& ns() const { return ns_; }

 private:
  std::map<std::string, int64_t> ns_;
};

std::vector<std::string> kineto_files() {
  std::vector<std::string> files;
  std::error_code absent;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(corpus_folder() + "/kineto", absent)) {
    if (entry.is_regular_file()) {
      files.push_back(std::filesystem::relative(entry.path(), corpus_folder()).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files.empty() ? std::vector<std::string>{"absent"} : files;
}

class TaxonomyCorpus : public CorpusFile {};

TEST_P(TaxonomyCorpus, NearlyAllKernelTimeHasAClass) {
  auto source = ingest::open_file(path());
  ASSERT_TRUE(source);
  const auto chosen = ingest::choose_adapter((*source)->head(), path(), "");
  ASSERT_TRUE(chosen);
  KernelTimes times;
  model::RunInfo info;
  ingest::ReadOptions options;
  options.role = chosen->role;
  ASSERT_TRUE(chosen->adapter->read(**source, options, times, info));
  const auto taxonomy = Taxonomy::built_in();
  ASSERT_TRUE(taxonomy);
  double all = 0;
  double unknown = 0;
  std::string names;
  for (const auto& [name, ns] : times.ns()) {
    if (name == "Kernel")
      continue;  // the one kernel of the two traces of Kineto's documentation: says nothing
    all += static_cast<double>(ns);
    if (taxonomy->kernel(name).op_class != OpClass::k_other) continue;
    unknown += static_cast<double>(ns);
    names += std::to_string(ns) + " ns " + name.substr(0, 200) + "\n";
  }
  RecordProperty("unknown_percent", std::to_string(all == 0 ? 0 : 100 * unknown / all));
  EXPECT_LE(unknown, 0.05 * all) << names;
}

INSTANTIATE_TEST_SUITE_P(Kineto, TaxonomyCorpus, testing::ValuesIn(kineto_files()), test_name);

}  // namespace
}  // namespace nl::golden
