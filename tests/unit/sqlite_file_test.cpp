#include "ingest/sqlite/sqlite_file.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <bit>
#include <random>

#include "ingest/sqlite/sqlite_schema.h"

namespace nl::ingest {
namespace {

/// A database in memory.
class Database {
 public:
  explicit Database(const std::string& sql = {}) {
    sqlite3_open(":memory:", &db_);
    run(sql);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { sqlite3_close(db_); }

  void run(const std::string& sql) {
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_free(message);
  }
  std::string bytes() {
    sqlite3_int64 size = 0;
    unsigned char* const data = sqlite3_serialize(db_, "main", &size, 0);
    std::string file(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
    sqlite3_free(data);
    return file;
  }
  /// Every row as text, as SQLite sees it.
  std::string rows(const std::string& table) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(db_, ("SELECT rowid, * FROM " + table + " ORDER BY rowid").c_str(), -1, &statement,
                       nullptr);
    std::string text;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      for (int c = 0; c < sqlite3_column_count(statement); c++) text += cell(statement, c) + "|";
      text += "\n";
    }
    sqlite3_finalize(statement);
    return text;
  }

 private:
  static std::string cell(sqlite3_stmt* s, int c) {
    switch (sqlite3_column_type(s, c)) {
      case SQLITE_INTEGER:
        return "i" + std::to_string(sqlite3_column_int64(s, c));
      case SQLITE_FLOAT:
        return "r" + std::to_string(std::bit_cast<int64_t>(sqlite3_column_double(s, c)));
      case SQLITE_NULL:
        return "n";
      default:
        return (sqlite3_column_type(s, c) == SQLITE_TEXT ? "t" : "b") +
               std::string(static_cast<const char*>(sqlite3_column_blob(s, c)),
                           static_cast<size_t>(sqlite3_column_bytes(s, c)));
    }
  }
  sqlite3* db_ = nullptr;
};

/// An open file with what it reads from.
struct Opened {
  std::unique_ptr<ByteSource> source;
  std::unique_ptr<SqliteFile> file;
};

Result<Opened> open_bytes(const std::string& bytes) {
  NL_TRY(auto source, open_memory(bytes));
  static const ReadOptions kOptions;
  NL_TRY(auto access, RandomAccess::open(*source, kOptions));
  NL_TRY(auto file, SqliteFile::open(std::move(access)));
  return Opened{std::move(source), std::make_unique<SqliteFile>(std::move(file))};
}

std::string cell_text(const SqliteCell& cell) {
  switch (cell.kind) {
    case SqliteKind::kNull:
      return "n";
    case SqliteKind::kInteger:
      return "i" + std::to_string(cell.integer);
    case SqliteKind::kReal:
      return "r" + std::to_string(cell.integer);
    default:
      return (cell.kind == SqliteKind::kText ? "t" : "b") + std::string(cell.bytes);
  }
}

/// Every row as text, as we see it; or the code of the error.
std::string rows_of(const std::string& bytes, const std::string& name) {
  auto opened = open_bytes(bytes);
  if (!opened) return error_code_name(opened.error().code);
  const SqliteTable* const table = opened->file->table(name);
  if (table == nullptr) return "no table";
  std::vector<int> columns;
  for (size_t c = 0; c < table->columns.size(); c++) columns.push_back(static_cast<int>(c));
  SqliteScan scan(opened->file->pages(), *table, columns);
  std::string text;
  for (;;) {
    const auto more = scan.next();
    if (!more) return error_code_name(more.error().code);
    if (!*more) return text;
    text += "i" + std::to_string(scan.rowid()) + "|";
    for (size_t c = 0; c < columns.size(); c++) text += cell_text(scan[c]) + "|";
    text += "\n";
  }
}

/// A value in SQL that exercises every way to store one.
std::string random_value(std::mt19937_64& random) {
  switch (random() % 7) {
    case 0:
      return "NULL";
    case 1:
      return std::to_string(random() % 3);
    case 2:
      return std::to_string(static_cast<int64_t>(random()) >> (random() % 63));
    case 3:
      return std::to_string(-static_cast<int64_t>(random() % 70000));
    case 4:
      return std::to_string(static_cast<double>(static_cast<int64_t>(random())) / 7);
    case 5:
      return "hex(randomblob(" + std::to_string(random() % (random() % 40 == 0 ? 9000 : 60)) + "))";
    default:
      return "randomblob(" + std::to_string(random() % 90) + ")";
  }
}

TEST(SqliteFile, ReadsWhatSqliteReads) {
  for (uint64_t seed = 0; seed < 24; seed++) {
    std::mt19937_64 random(seed);
    static constexpr int kPageSizes[] = {512, 1024, 4096, 65536};
    Database database("PRAGMA page_size=" + std::to_string(kPageSizes[seed % 4]));
    if (seed % 3 == 1) database.run("PRAGMA auto_vacuum=1");
    database.run(seed % 2 == 0 ? "CREATE TABLE t (a, b INTEGER PRIMARY KEY, c, d TEXT, e)"
                               : "CREATE TABLE t (a, b, c, d TEXT, e)");
    std::string inserts = "BEGIN;";
    for (size_t i = 0; i < 20 + seed * 30; i++) {
      const std::string id = seed % 2 == 0 ? std::to_string(i * 7 + random() % 7) : random_value(random);
      inserts += "INSERT INTO t VALUES (" + random_value(random) + "," + id + "," + random_value(random) +
                 "," + random_value(random) + "," + random_value(random) + ");";
    }
    database.run(inserts + "COMMIT");
    if (seed % 5 == 2) database.run("DELETE FROM t WHERE rowid % 3 = 0");
    if (seed % 5 == 3) database.run("ALTER TABLE t ADD COLUMN f");
    EXPECT_EQ(rows_of(database.bytes(), "t"), database.rows("t")) << "seed " << seed;
  }
}

TEST(SqliteFile, KnowsThePlacesOfRows) {
  Database database("PRAGMA page_size=512; CREATE TABLE t (a, b)");
  for (int i = 0; i < 200; i++)
    database.run("INSERT INTO t VALUES (" + std::to_string(i) + ", hex(zeroblob(300)))");
  const std::string bytes = database.bytes();
  auto opened = open_bytes(bytes).value();
  SqliteScan all(opened.file->pages(), *opened.file->table("t"), {});
  std::vector<SqlitePlace> places;
  while (all.next().value()) places.push_back(all.place());
  SqliteScan one(opened.file->pages(), *opened.file->table("t"), {0, 1});
  for (const size_t i : {199, 0, 57, 58, 57}) {
    ASSERT_TRUE(one.read(places[i]));
    EXPECT_EQ(one[0].integer, static_cast<int64_t>(i));
    EXPECT_EQ(one[1].bytes, std::string(600, '0'));
  }
}

TEST(SqliteFile, RefusesWhatItCannotRead) {
  Database database("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
  const std::string good = database.bytes();
  EXPECT_EQ(rows_of(good, "t"), "i1|i1|\n");
  const auto changed = [&](size_t at, char value) {
    std::string bytes = good;
    bytes[at] = value;
    return rows_of(bytes, "t");
  };
  EXPECT_EQ(changed(18, 2), "unsupported");  // WAL
  EXPECT_EQ(changed(59, 2), "unsupported");  // UTF-16
  EXPECT_EQ(changed(0, 'x'), "bad_input");
  EXPECT_EQ(changed(16, 3), "bad_input");    // page size 768
  EXPECT_EQ(changed(20, 127), "bad_input");  // room at the end of each page, where the records are
  EXPECT_EQ(rows_of(good.substr(0, good.size() - 1), "t"), "bad_input");
  EXPECT_EQ(rows_of(good.substr(0, 4096), "t"), "bad_input");
  EXPECT_EQ(rows_of(good.substr(0, 50), "t"), "bad_input");
}

/// A table of several levels whose pages can be turned against the reader.
std::string deep_database() {
  Database database("PRAGMA page_size=512; CREATE TABLE t (a, b)");
  std::string inserts = "BEGIN;";
  for (int i = 0; i < 3000; i++) inserts += "INSERT INTO t VALUES (" + std::to_string(i) + ", 'some text');";
  database.run(inserts + "COMMIT");
  return database.bytes();
}

TEST(SqliteFile, EndsOnPagesThatPointAtEachOther) {
  std::string bytes = deep_database();
  size_t inner = 0;
  for (size_t page = 1; page < bytes.size() / 512; page++) {
    if (bytes[page * 512] != 5) continue;
    inner++;
    // Every child is the root, so that each level multiplies the work.
    const size_t cells = static_cast<unsigned char>(bytes[page * 512 + 4]);
    for (size_t c = 0; c < cells; c++) {
      const auto* const at = reinterpret_cast<const unsigned char*>(bytes.data()) + page * 512 + 12 + c * 2;
      const size_t cell = page * 512 + static_cast<size_t>(at[0] << 8 | at[1]);
      bytes.replace(cell, 4, std::string("\0\0\0\2", 4));
    }
  }
  EXPECT_GT(inner, 2u);
  EXPECT_EQ(rows_of(bytes, "t"), "bad_input");
}

TEST(SqliteFile, EndsOnTextThatGoesInCircles) {
  Database database("PRAGMA page_size=512; CREATE TABLE t (a); INSERT INTO t VALUES (hex(zeroblob(20000)))");
  std::string bytes = database.bytes();
  for (size_t page = 2; page < bytes.size() / 512; page++)
    bytes.replace(page * 512, 4, std::string("\0\0\0\3", 4));
  EXPECT_NE(rows_of(bytes, "t"), "");  // the wrong text, but an end
  for (size_t page = 2; page < bytes.size() / 512; page++)
    bytes.replace(page * 512, 4, std::string("\0\0\0\0", 4));
  EXPECT_EQ(rows_of(bytes, "t"), "bad_input");
}

TEST(SqliteFile, SurvivesAnyByte) {
  const std::string good = deep_database();
  std::mt19937_64 random(7);
  for (int i = 0; i < 400; i++) {
    std::string bytes = good;
    for (int k = 0; k < 4; k++)
      bytes[random() % (random() % 2 == 0 ? 2048 : bytes.size())] = static_cast<char>(random());
    const std::string rows = rows_of(bytes, "t");
    EXPECT_FALSE(rows == "internal" || rows == "io") << rows;
  }
}

std::string columns_text(std::string_view sql) {
  const auto columns = sqlite_columns(sql);
  if (!columns) return "?";
  std::string text;
  for (const auto& name : columns->names) text += name + " ";
  return text + std::to_string(columns->rowid);
}

TEST(SqliteSchema, FindsTheColumns) {
  EXPECT_EQ(columns_text("CREATE TABLE t (a INTEGER, b TEXT)"), "a b -1");
  EXPECT_EQ(columns_text("CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, v)"), "id v 0");
  EXPECT_EQ(columns_text("CREATE TABLE t (v, id integer, PRIMARY KEY(ID))"), "v id 1");
  EXPECT_EQ(columns_text("CREATE TABLE t (a INTEGER, b INTEGER, PRIMARY KEY (a, b))"), "a b -1");
  EXPECT_EQ(columns_text("CREATE TABLE t (id INTEGER PRIMARY KEY DESC)"), "id -1");
  EXPECT_EQ(columns_text("CREATE TABLE t (id INT PRIMARY KEY)"), "id -1");
  EXPECT_EQ(columns_text("CREATE TABLE t (-- a (comment, of\n a /* two ( */ DECIMAL(10,2) DEFAULT (1+(2)), "
                         "\"b \"\"c\", [d e], `f`)"),
            "a b \"c d e f -1");
  EXPECT_EQ(columns_text("CREATE TABLE t (a TEXT CHECK (a IN (')', ',')), b, UNIQUE (a), CONSTRAINT k "
                         "FOREIGN KEY (b) REFERENCES u(v))"),
            "a b -1");
  EXPECT_EQ(columns_text("CREATE TABLE t (a, \"primary\", 'check')"), "a primary check -1");
}

TEST(SqliteSchema, RefusesRecordsInAnotherOrder) {
  EXPECT_EQ(columns_text("CREATE TABLE t (a INTEGER PRIMARY KEY) WITHOUT ROWID"), "?");
  EXPECT_EQ(columns_text("CREATE TABLE t (a, b AS (a + 1), c)"), "?");
  EXPECT_EQ(columns_text("CREATE TABLE t (a, b INT GENERATED ALWAYS AS (a) STORED)"), "?");
  for (const char* text : {"", "CREATE TABLE t", "CREATE TABLE t (", "CREATE TABLE t (a", "CREATE TABLE t ()",
                           "CREATE TABLE t (a,,b)", "CREATE TABLE t (a /*", "CREATE TABLE t ('"}) {
    EXPECT_EQ(columns_text(text), "?") << text;
  }
}

}  // namespace
}  // namespace nl::ingest
