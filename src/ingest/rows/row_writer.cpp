#include "ingest/rows/row_writer.h"

#include "base/json.h"

namespace nl::ingest {

size_t RowWriter::add(model::TableId table) {
  rows_++;
  return batch_->add_row(table);
}

int64_t RowWriter::text_number(std::string_view text) {
  if (const auto it = texts_.find(text); it != texts_.end()) return it->second;
  const std::string_view kept = batch_->arena.keep(text);
  const int64_t number = batch_->add_string(kept);
  texts_.emplace(kept, number);
  text_bytes_ += text.size();
  return number;
}

int64_t RowWriter::text(std::string_view text) {
  if (text.empty()) return model::kNull;
  if (is_utf8(text)) return text_number(text);
  info_.health["text_is_not_utf8"]++;
  return text_number(repaired_utf8(text));
}

void RowWriter::set_text(model::TableId table, size_t row, int column, std::string_view text) {
  set(table, row, column, this->text(text));
}

void RowWriter::set_args(model::TableId table, size_t row, int column,
                         const std::map<std::string, std::string>& args) {
  if (args.empty()) return;
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [key, value] : args) object[repaired_utf8(key)] = repaired_utf8(value);
  set_text(table, row, column, object.dump());
}

void RowWriter::set_track(model::TableId table, size_t row, int column, int32_t track) {
  const auto [it, is_new] = tracks_.try_emplace(track, static_cast<int64_t>(batch_->track_ids.size()));
  if (is_new) batch_->track_ids.push_back(track);
  batch_->set(table, row, column, it->second);
}

Result<void> RowWriter::flush_if_large() {
  if (rows_ < kMaxRows && text_bytes_ < kMaxTextBytes) return {};
  return flush();
}

Result<void> RowWriter::flush() {
  if (rows_ == 0) return {};
  NL_CHECK(sink_.push(std::move(batch_)));
  batch_ = std::make_shared<model::Batch>();
  texts_.clear();
  tracks_.clear();
  rows_ = text_bytes_ = 0;
  generation_++;
  return {};
}

}  // namespace nl::ingest
