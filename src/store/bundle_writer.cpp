#include "store/bundle_writer.h"

#include "base/files.h"
#include "store/file_check.h"

namespace nl::store {

BundleWriter::BundleWriter(std::shared_ptr<Engine> engine, std::string folder)
    : engine_(std::move(engine)), folder_(std::move(folder)) {
  expected_.fill(UINT64_MAX);
}

std::string table_file_name(std::string_view table) {
  return std::string(table) + ".parquet";
}

Result<void> BundleWriter::push(std::shared_ptr<model::Batch> batch) {
  for (size_t t = 0; t < model::kTableCount; t++) {
    rows_[t] += static_cast<int64_t>(batch->rows(static_cast<model::TableId>(t)).size());
  }
  for (size_t t = 0; t < model::kTableCount; t++) {
    const auto id = static_cast<model::TableId>(t);
    if (batch->rows(id).size() == 0) continue;
    if (!writers_[t]) {
      const std::string path = folder_ + "/" + table_file_name(model::table(id).name);
      writers_[t] =
          std::make_unique<TableWriter>(engine_, id, path, TableWriter::Columns::kUsed, expected_[t]);
    }
    NL_CHECK(writers_[t]->push(batch));
  }
  return {};
}

Result<std::vector<TableFile>> BundleWriter::finish() {
  for (const auto& writer : writers_) {
    if (writer) writer->close();
  }
  std::vector<TableFile> files;
  for (size_t t = 0; t < model::kTableCount; t++) {
    if (!writers_[t]) continue;
    NL_TRY(TableFile file, writers_[t]->finish());
    if (file.rows != rows_[t]) {
      return Error{ErrorCode::kInternal, "rows were lost while writing table " + file.name};
    }
    const std::string path = folder_ + "/" + table_file_name(file.name);
    NL_TRY(const FileSeal seal, seal_of_file(path));
    file.bytes = seal.bytes;
    file.sha256 = seal.sha256;
    NL_CHECK(sync_path(path));
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace nl::store
