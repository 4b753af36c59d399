#include "store/arrow_stream.h"

#include <charconv>

#include "store/flat_builder.h"

namespace nl::store {
namespace {

constexpr int64_t kRowsOfBatch = 8192;
constexpr size_t kBytesOfBatch = 4 << 20;
constexpr int16_t kVersion5 = 4;
enum MessageKind : uint8_t { kSchema = 1, kRecordBatch = 3 };
enum TypeKind : uint8_t { kInt = 2, kFloatingPoint = 3, kUtf8 = 5, kBool = 6 };

TypeKind type_of(CellKind kind) {
  switch (kind) {
    case CellKind::kInteger:
      return kInt;
    case CellKind::kDouble:
      return kFloatingPoint;
    case CellKind::kBoolean:
      return kBool;
    default:
      return kUtf8;
  }
}

FlatBuilder::Position put_type(FlatBuilder& builder, TypeKind type) {
  FlatBuilder::Table table(builder);
  if (type == kInt) {
    table.field(0, int32_t{64});
    table.field(1, uint8_t{1});  // signed
  }
  if (type == kFloatingPoint) table.field(0, int16_t{2});  // double
  return table.end();
}

std::string message(FlatBuilder& builder, MessageKind kind, FlatBuilder::Position header,
                    int64_t body_bytes) {
  FlatBuilder::Table table(builder);
  table.field(3, body_bytes);
  table.offset(2, header);
  table.field(0, kVersion5);
  table.field(1, static_cast<uint8_t>(kind));
  const auto root = table.end();
  return builder.finish(root);
}

std::string padded(std::string bytes) {
  bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
  return bytes;
}

template <class T>
void append(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T number_of(std::string_view text) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void set_bit(std::string& bits, int64_t at, bool value) {
  if (at % 8 == 0) bits.push_back('\0');
  if (value) bits.back() = static_cast<char>(static_cast<unsigned char>(bits.back()) | (1U << (at % 8)));
}

}  // namespace

Result<void> ArrowStream::send(const std::string& metadata, std::string_view body) {
  std::string head;
  append(head, uint32_t{0xFFFFFFFF});
  append(head, static_cast<int32_t>(metadata.size()));
  NL_CHECK(write_(head + metadata));
  return body.empty() ? Result<void>() : write_(body);
}

Result<void> ArrowStream::begin(const std::vector<ResultColumn>& columns) {
  FlatBuilder builder;
  std::vector<FlatBuilder::Position> fields;
  for (const ResultColumn& column : columns) {
    columns_.emplace_back().kind = column.kind;
    const auto name = builder.text(column.name);
    const auto type = put_type(builder, type_of(column.kind));
    const auto children = builder.vector_of(std::vector<FlatBuilder::Position>());
    FlatBuilder::Table field(builder);
    field.offset(0, name);
    field.offset(3, type);
    field.offset(5, children);
    field.field(1, uint8_t{1});  // may be NULL
    field.field(2, static_cast<uint8_t>(type_of(column.kind)));
    fields.push_back(field.end());
  }
  const auto list = builder.vector_of(fields);
  FlatBuilder::Table schema(builder);
  schema.offset(1, list);
  const auto header = schema.end();
  return send(message(builder, kSchema, header, 0), "");
}

Result<void> ArrowStream::row(std::span<const Cell> cells) {
  for (size_t i = 0; i < columns_.size(); i++) {
    Column& column = columns_[i];
    const Cell& cell = cells[i];
    set_bit(column.validity, rows_, !cell.is_null);
    column.nulls += cell.is_null ? 1 : 0;
    switch (type_of(column.kind)) {
      case kInt:
        append(column.values, cell.is_null ? int64_t{0} : number_of<int64_t>(cell.text));
        break;
      case kFloatingPoint:
        append(column.values, cell.is_null ? 0.0 : number_of<double>(cell.text));
        break;
      case kBool:
        set_bit(column.values, rows_, !cell.is_null && cell.text == "true");
        break;
      case kUtf8:
        if (rows_ == 0) append(column.offsets, int32_t{0});
        if (!cell.is_null) column.values += cell.text;
        append(column.offsets, static_cast<int32_t>(column.values.size()));
        break;
    }
    bytes_ += cell.text.size() + 8;
  }
  rows_++;
  return rows_ >= kRowsOfBatch || bytes_ >= kBytesOfBatch ? flush() : Result<void>();
}

Result<void> ArrowStream::flush() {
  if (rows_ == 0) return {};
  std::string body;
  std::vector<std::pair<int64_t, int64_t>> nodes, buffers;
  const auto add = [&](std::string& bytes) {
    buffers.emplace_back(static_cast<int64_t>(body.size()), static_cast<int64_t>(bytes.size()));
    body += padded(std::move(bytes));
    bytes.clear();
  };
  for (Column& column : columns_) {
    nodes.emplace_back(rows_, column.nulls);
    add(column.validity);
    if (type_of(column.kind) == kUtf8) add(column.offsets);
    add(column.values);
    column.nulls = 0;
  }
  FlatBuilder builder;
  const auto buffer_list = builder.vector_of(buffers);
  const auto node_list = builder.vector_of(nodes);
  FlatBuilder::Table batch(builder);
  batch.field(0, rows_);
  batch.offset(1, node_list);
  batch.offset(2, buffer_list);
  const auto header = batch.end();
  rows_ = 0;
  bytes_ = 0;
  return send(message(builder, kRecordBatch, header, static_cast<int64_t>(body.size())), body);
}

Result<void> ArrowStream::finish() {
  NL_CHECK(flush());
  std::string end;
  append(end, uint32_t{0xFFFFFFFF});
  append(end, int32_t{0});
  return write_(end);
}

}  // namespace nl::store
