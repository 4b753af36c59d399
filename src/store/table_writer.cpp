// Up to one row group of a table is gathered first. If the table ends with it, the engine's COPY writes it:
// only then is it known how large the table is, and with that the encodings that suit it. What is larger goes
// through a bounded queue to ParquetWriter on a thread of its own, since the copies and the hashing of COPY
// were a quarter of an import.

#include "store/table_writer.h"

#include <duckdb.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "base/call_control.h"
#include "base/checked_thread.h"
#include "store/parquet_writer.h"

namespace nl::store {
namespace {

using model::Batch;
using model::kNull;
using model::Rows;
using model::Type;

constexpr size_t kQueuedBatches = 2;
constexpr size_t kRowGroupRows = 61'440;
constexpr size_t kBufferedText = 32 << 20;
constexpr size_t kFewRows = 256;
constexpr size_t kGatheredRows = 2048;
constexpr size_t kGatheredText = 4 << 20;

/// A string cell that points to the bytes of the batch. Short strings are stored inline; the engine compares
/// whole cells, so their unused bytes must be zero.
duckdb_string_t string_cell(std::string_view text) {
  duckdb_string_t cell{};
  if (text.size() <= sizeof cell.value.inlined.inlined) {
    cell.value.inlined.length = static_cast<uint32_t>(text.size());
    std::memcpy(cell.value.inlined.inlined, text.data(), text.size());
  } else {
    cell.value.pointer.length = static_cast<uint32_t>(text.size());
    std::memcpy(cell.value.pointer.prefix, text.data(), sizeof cell.value.pointer.prefix);
    cell.value.pointer.ptr = const_cast<char*>(text.data());
  }
  return cell;
}

/// Span kinds are passed as an enumeration, so that the Parquet writer can build its dictionary without
/// hashing. Readers see text.
duckdb_logical_type engine_type(Type type) {
  if (type == Type::span_kind) {
    std::vector<const char*> names;
    for (const std::string_view name : model::kSpanKinds) names.push_back(name.data());
    return duckdb_create_enum_type(names.data(), names.size());
  }
  const std::string_view sql = model::sql_type(type);
  return duckdb_create_logical_type(sql == "INTEGER"  ? DUCKDB_TYPE_INTEGER
                                    : sql == "BIGINT" ? DUCKDB_TYPE_BIGINT
                                    : sql == "DOUBLE" ? DUCKDB_TYPE_DOUBLE
                                                      : DUCKDB_TYPE_VARCHAR);
}

/// Copies rows [from, from + count) of one column of a batch to a vector.
class ColumnFill {
 public:
  explicit ColumnFill(duckdb_vector vector) : vector_(vector) {}

  void fill(const Batch& batch, model::TableId table, int column, size_t from, size_t count) {
    const Rows& rows = batch.rows(table);
    const Type type = model::table(table).columns[static_cast<size_t>(column)].type;
    if (!rows.has_values(column)) return all_null(count);
    const int64_t* const in = rows.column(column) + from;
    switch (type) {
      case Type::i64:
      case Type::f64:
        return copy_words(in, count);
      case Type::i32:
        return each<int32_t>(in, count, [](int64_t v) { return static_cast<int32_t>(v); });
      case Type::span_kind:
        return each<uint8_t>(in, count, [](int64_t v) { return static_cast<uint8_t>(v); });
      case Type::track:
        return each<int32_t>(in, count, [&](int64_t v) { return batch.track_ids[static_cast<size_t>(v)]; });
      default:
        return each<duckdb_string_t>(
            in, count, [&](int64_t v) { return string_cell(batch.strings[static_cast<size_t>(v)]); });
    }
  }

 private:
  template <class T>
  T* data() {
    return static_cast<T*>(duckdb_vector_get_data(vector_));
  }

  template <class T, class Convert>
  void each(const int64_t* in, size_t count, Convert convert) {
    T* const out = data<T>();
    for (size_t k = 0; k < count; k++) {
      if (in[k] == kNull) {
        set_null(k);
      } else {
        out[k] = convert(in[k]);
      }
    }
  }

  void copy_words(const int64_t* in, size_t count) {
    std::memcpy(data<int64_t>(), in, count * sizeof(int64_t));
    for (size_t k = 0; k < count; k++) {
      if (in[k] == kNull) set_null(k);
    }
  }

  void all_null(size_t count) { std::fill_n(validity(), (count + 63) / 64, uint64_t{0}); }

  uint64_t* validity() {
    if (valid_ == nullptr) {
      duckdb_vector_ensure_validity_writable(vector_);
      valid_ = duckdb_vector_get_validity(vector_);
    }
    return valid_;
  }
  void set_null(size_t k) { validity()[k / 64] &= ~(uint64_t{1} << (k % 64)); }

  duckdb_vector vector_;
  uint64_t* valid_ = nullptr;
};

/// Copies the rows of one table out of many batches, so that the batches, which also hold the rows of all
/// other tables, can be freed.
class TableBuffer {
 public:
  explicit TableBuffer(model::TableId table) : table_(table) {}

  void add(const Batch& from) {
    const Rows& rows = from.rows(table_);
    const size_t first = to_->rows(table_).size();
    for (size_t row = 0; row < rows.size(); row++) to_->add_row(table_);
    for (size_t c = 0; c < model::table(table_).columns.size(); c++) {
      if (rows.has_values(static_cast<int>(c))) add_column(from, static_cast<int>(c), first);
    }
  }
  bool is_full() const { return to_->rows(table_).size() > kRowGroupRows || text_bytes_ > kBufferedText; }
  size_t rows() const { return to_->rows(table_).size(); }
  size_t text_bytes() const { return text_bytes_; }
  bool has_values(int c) const { return to_->rows(table_).has_values(c); }
  std::shared_ptr<const Batch> take() { return std::move(to_); }

 private:
  void add_column(const Batch& from, int c, size_t first) {
    const Type type = model::table(table_).columns[static_cast<size_t>(c)].type;
    const int64_t* const cells = from.rows(table_).column(c);
    std::vector<int64_t> copied;  // string of the batch -> string of ours
    for (size_t row = 0; row < from.rows(table_).size(); row++) {
      if (cells[row] == kNull) continue;
      int64_t value = cells[row];
      if (type == Type::track) value = track(from.track_ids[static_cast<size_t>(value)]);
      if (type == Type::dict || type == Type::json) {
        if (copied.empty()) copied.resize(from.strings.size(), kNull);
        int64_t& ours = copied[static_cast<size_t>(value)];
        if (ours == kNull) ours = text(from.strings[static_cast<size_t>(value)]);
        value = ours;
      }
      to_->set(table_, first + row, c, value);
    }
  }
  int64_t text(std::string_view given) {
    text_bytes_ += given.size();
    return to_->add_string(to_->arena.keep(given));
  }
  int64_t track(int32_t id) {
    while (to_->track_ids.size() <= static_cast<size_t>(id)) {
      to_->track_ids.push_back(static_cast<int32_t>(to_->track_ids.size()));
    }
    return id;
  }

  model::TableId table_;
  std::shared_ptr<Batch> to_ = std::make_shared<Batch>();
  size_t text_bytes_ = 0;
};

std::atomic<uint64_t> next_function{0};

}  // namespace

/// The queue and the thread that writes, and for small tables the table function that COPY reads.
class TableWriter::Feed {
 public:
  Feed(std::shared_ptr<Engine> engine, model::TableId table, std::string path, Columns columns,
       uint64_t expected)
      : engine_(std::move(engine)),
        table_(table),
        path_(std::move(path)),
        wanted_(columns),
        expected_(expected) {}

  ~Feed() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      if (copying_ != nullptr) duckdb_interrupt(copying_);
      changed_.notify_all();
    }
    (void)thread_.join();
  }

  Result<void> push(std::shared_ptr<const Batch> batch) {
    if ((batch->rows(table_).used() & ~expected_) != 0) {
      return Error{ErrorCode::kInternal, "a column of " + std::string(model::table(table_).name) +
                                             " has a value that its adapter did not declare"};
    }
    if (!is_started_) {
      buffer_.add(*batch);
      if (!buffer_.is_full()) return {};
      queue_.push_back(take_gathered());
      start([this] { return write_large(); });
      return {};
    }
    // If a batch has only few rows of this table, they are copied, so that the whole batch does not wait in
    // the queue for them.
    const bool few = batch->rows(table_).size() < kFewRows;
    if (few) buffer_.add(*batch);
    const bool enough = buffer_.rows() >= kGatheredRows || buffer_.text_bytes() > kGatheredText;
    if (buffer_.rows() > 0 && (!few || enough)) NL_CHECK(enqueue(take_gathered()));
    return few ? Result<void>() : enqueue(std::move(batch));
  }

  void close() {
    if (!is_started_) {
      closed_ = true;
      columns_ = wanted_ == Columns::kAll ? all_columns() : used_columns();
      options_ = parquet_options(static_cast<int64_t>(buffer_.rows()), buffer_.text_bytes());
      current_ = take_gathered();
      start([this] { return run_copy(); });
      return;
    }
    if (buffer_.rows() > 0) (void)enqueue(take_gathered());  // finish() reports the error
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  Result<TableFile> finish() {
    if (!closed_) close();
    NL_CHECK(wait_for_end());
    NL_CHECK(thread_.join());
    if (failed_) return *failed_;
    TableFile file;
    file.name = model::table(table_).name;
    file.rows = rows_;
    return file;
  }

 private:
  /// If the call is cancelled while it waits, the destructor stops the copy.
  Result<void> wait_for_end() {
    constexpr auto kAskEvery = std::chrono::milliseconds(20);
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kAskEvery, [&] { return has_ended_; })) NL_CHECK(check_cancelled());
    return {};
  }

  std::shared_ptr<const Batch> take_gathered() {
    auto batch = buffer_.take();
    buffer_ = TableBuffer(table_);
    return batch;
  }

  Result<void> enqueue(std::shared_ptr<const Batch> batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.size() < kQueuedBatches || failed_; });
    if (failed_) return *failed_;
    queue_.push_back(std::move(batch));
    changed_.notify_all();
    return {};
  }

  std::vector<int> all_columns() const {
    std::vector<int> columns;
    for (size_t c = 0; c < model::table(table_).columns.size(); c++) {
      const bool stored = model::table(table_).columns[c].type != Type::row_id;
      if (stored && (expected_ >> c & 1) != 0) columns.push_back(static_cast<int>(c));
    }
    return columns;
  }

  std::vector<int> used_columns() const {
    std::vector<int> columns = all_columns();
    std::erase_if(columns, [&](int c) { return !buffer_.has_values(c); });
    // A Parquet file without columns has no rows.
    return columns.empty() ? all_columns() : columns;
  }

  void start(std::function<Result<void>()> write) {
    is_started_ = true;
    thread_ = CheckedThread([this, write = std::move(write)]() -> Result<void> {
      note_end(without_exceptions(write));
      return {};
    });
    if (!thread_.is_started()) note_end(thread_.join());
  }

  /// Wakes those who wait for space in the queue: without this they would wait forever.
  void note_end(Result<void> done) {
    const std::lock_guard lock(mutex_);
    if (!done) failed_ = std::move(done.error());
    has_ended_ = true;
    changed_.notify_all();
  }

  /// Being stopped must be an error: otherwise a valid file with too few rows would be left.
  Result<void> write_large() {
    ParquetWriter writer(table_, path_, wanted_ == Columns::kAll ? expected_ : 0);
    NL_CHECK(writer.open());
    while (const auto batch = next_batch()) NL_CHECK(writer.add(*batch));
    if (is_stopped()) return stopped_error();
    NL_CHECK(writer.finish());
    rows_ = writer.rows();
    return {};
  }

  /// Null at the end, or when it is stopped.
  std::shared_ptr<const Batch> next_batch() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !queue_.empty() || closed_ || stopped_; });
    if (stopped_ || queue_.empty()) return nullptr;
    auto batch = std::move(queue_.front());
    queue_.pop_front();
    changed_.notify_all();
    return batch;
  }

  bool is_stopped() {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }

  static Error stopped_error() { return Error{ErrorCode::kCancelled, "the import was stopped"}; }

  Result<void> run_copy() {
    NL_TRY(Connection connection, engine_->connect());
    const std::string function = "nl_rows_" + std::to_string(next_function++);
    register_function(connection, function);
    set_copying(connection.raw());
    auto copied =
        connection.run("COPY (SELECT * FROM " + function + "()) TO " + sql_quoted(path_) + " " + options_);
    set_copying(nullptr);
    return copied;
  }

  void set_copying(duckdb_connection connection) {
    const std::lock_guard lock(mutex_);
    copying_ = connection;
  }

  void register_function(Connection& connection, const std::string& name) {
    duckdb_table_function function = duckdb_create_table_function();
    duckdb_table_function_set_name(function, name.c_str());
    duckdb_table_function_set_extra_info(function, this, nullptr);
    duckdb_table_function_set_bind(function, [](duckdb_bind_info info) {
      auto* self = static_cast<Feed*>(duckdb_bind_get_extra_info(info));
      for (const int c : self->columns_) {
        const model::Column& column = model::table(self->table_).columns[static_cast<size_t>(c)];
        duckdb_logical_type type = engine_type(column.type);
        duckdb_bind_add_result_column(info, std::string(column.name).c_str(), type);
        duckdb_destroy_logical_type(&type);
      }
    });
    duckdb_table_function_set_init(function,
                                   [](duckdb_init_info info) { duckdb_init_set_max_threads(info, 1); });
    duckdb_table_function_set_function(function, [](duckdb_function_info info, duckdb_data_chunk out) {
      auto* self = static_cast<Feed*>(duckdb_function_get_extra_info(info));
      const auto filled = without_exceptions([&] { return self->fill(out); });
      if (!filled) duckdb_function_set_error(info, filled.error().message.c_str());
    });
    duckdb_register_table_function(connection.raw(), function);
    duckdb_destroy_table_function(&function);
  }

  /// A chunk of size 0 means the end. Being stopped must be an error: otherwise COPY would leave a valid file
  /// with too few rows.
  Result<void> fill(duckdb_data_chunk out) {
    if (is_stopped()) return stopped_error();
    const auto left = current_->rows(table_).size() - row_;
    const size_t count = std::min<size_t>(duckdb_vector_size(), left);
    for (size_t c = 0; c < columns_.size(); c++) {
      ColumnFill(duckdb_data_chunk_get_vector(out, c)).fill(*current_, table_, columns_[c], row_, count);
    }
    row_ += count;
    rows_ += static_cast<int64_t>(count);
    duckdb_data_chunk_set_size(out, count);
    return {};
  }

  const std::shared_ptr<Engine> engine_;
  const model::TableId table_;
  const std::string path_;
  const Columns wanted_;
  const uint64_t expected_;
  TableBuffer buffer_{table_};  // belongs to the caller
  // Until the thread starts these belong to the caller, then they are only read.
  std::vector<int> columns_;
  std::string options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<const Batch>> queue_;
  std::optional<Error> failed_;
  bool is_started_ = false;  // belongs to the caller
  bool closed_ = false;
  bool stopped_ = false;
  bool has_ended_ = false;
  duckdb_connection copying_ = nullptr;  // while COPY runs
  // Used by the writing thread only.
  std::shared_ptr<const Batch> current_;  // all rows of a small table; the engine refers to its text
  size_t row_ = 0;
  int64_t rows_ = 0;
  CheckedThread thread_;
};

TableWriter::TableWriter(std::shared_ptr<Engine> engine, model::TableId table, std::string path,
                         Columns columns, uint64_t expected)
    : feed_(std::make_unique<Feed>(std::move(engine), table, std::move(path), columns, expected)) {}

TableWriter::~TableWriter() = default;

Result<void> TableWriter::push(std::shared_ptr<const model::Batch> batch) {
  return feed_->push(std::move(batch));
}

void TableWriter::close() {
  feed_->close();
}

Result<TableFile> TableWriter::finish() {
  return feed_->finish();
}

std::string parquet_options(int64_t rows, size_t text_bytes) {
  // A dictionary saves space when values repeat. In small tables even times and ids would fit into one, which
  // makes the file larger; hence the limit.
  const int64_t dictionary = std::clamp<int64_t>(rows / 10, 20, 2000);
  // The highest levels need up to two seconds per megabyte for some texts.
  const int level = rows <= 20'000 && text_bytes <= (2 << 20) ? 19 : 3;
  return "(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL " + std::to_string(level) +
         ", ROW_GROUP_SIZE " + std::to_string(kRowGroupRows) +
         ", PARQUET_VERSION V2, DICTIONARY_SIZE_LIMIT " + std::to_string(dictionary) +
         ", WRITE_BLOOM_FILTER false)";
}

}  // namespace nl::store
