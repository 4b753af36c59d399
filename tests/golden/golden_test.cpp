// Every folder tests/golden/<format>/<case> holds input.* and expected.txt; from input.sql a database is
// made, from input.markers a recording. One runner gives each case for free: detection without a name, equal
// rows at any number of threads and window size, a Parquet round trip, truncation at many places.
// NEUROLENS_UPDATE_GOLDEN=1 writes expected.txt anew; look at the difference before you commit it.

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "recording_text.h"
#include "run_text.h"
#include "source_folder.h"

namespace nl::golden {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string format, name, folder;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const std::string root = source_folder() + "/tests/golden";
  for (const auto& format : list_folder(root)) {
    if (!fs::is_directory(root + "/" + format)) continue;
    for (const auto& name : list_folder(root + "/" + format))
      cases.push_back({format, name, root + "/" + format + "/" + name});
  }
  return cases;
}

/// The file that SQLite makes of the statements.
std::string database_of(const std::string& sql) {
  sqlite3* db = nullptr;
  sqlite3_open(":memory:", &db);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(db, "main", &size, 0);
  std::string file(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  sqlite3_free(bytes);
  sqlite3_free(message);
  sqlite3_close(db);
  return file;
}

std::string input_of(const Case& c) {
  for (const auto& name : list_folder(c.folder)) {
    if (!name.starts_with("input.")) continue;
    const std::string text = read_file(c.folder + "/" + name).value();
    if (name == "input.markers") return recording_of(text);
    return name == "input.sql" ? database_of(text) : text;
  }
  return {};
}

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.format << "/" << c.name;
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, GivesTheExpectedRows) {
  const std::string text = text_of_bytes(input_of(GetParam()), {});
  const std::string path = GetParam().folder + "/expected.txt";
  if (std::getenv("NEUROLENS_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file_durably(path, text));
  }
  EXPECT_EQ(text, read_file(path).value());
}

TEST_P(Golden, IsDetectedWithoutAName) {
  const std::string bytes = input_of(GetParam());
  const auto chosen = ingest::choose_adapter(std::string_view(bytes).substr(0, ingest::kHeadBytes), "", "");
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->adapter->format, GetParam().format);
}

TEST_P(Golden, DoesNotDependOnThreadsOrWindows) {
  const std::string bytes = input_of(GetParam());
  const std::string expected = text_of_bytes(bytes, {});
  for (const int threads : {1, 2, 4}) {
    ingest::ReadOptions options;
    options.threads = threads;
    options.window_bytes = 1;  // as small as it gets
    EXPECT_EQ(text_of_bytes(bytes, options), expected) << threads << " threads";
  }
}

TEST_P(Golden, SurvivesParquet) {
  const std::string bytes = input_of(GetParam());
  const std::string expected = text_of_bytes(bytes, {});
  if (expected.starts_with("error")) GTEST_SKIP() << "does not apply: the case is an error";
  const std::string folder =
      testing::TempDir() + "neurolens-golden-" + std::to_string(::getpid()) + GetParam().name;
  const auto text = text_of_bundle(bytes, folder);
  remove_tree(folder);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, expected);
}

/// Tables of lines have no end of their own: what is cut off between two lines is not missed.
bool is_of_lines(const std::string& format) {
  return format == "ncu" || format == "nsys-stats" || format == "rocprofv3" || format == "telemetry";
}

/// A cut inside of a line is an error or is told. A recording always tells that its end is missing.
bool tells_the_cut(const std::string& format, std::string_view bytes, size_t size, const std::string& text) {
  if (format == "recording") return text.find("\"unfinished\":1") != std::string::npos;
  if (!is_of_lines(format)) return false;
  const bool between_lines =
      size > 0 && (bytes[size - 1] == '\n' || bytes[size] == '\n' || bytes[size] == '\r');
  return between_lines || text.find("\"no_line_end\"") != std::string::npos;
}

TEST_P(Golden, EndsWithAnErrorWhenTruncated) {
  const std::string bytes = input_of(GetParam());
  if (text_of_bytes(bytes, {}).starts_with("error"))  // what is too much may be cut off
    GTEST_SKIP() << "does not apply: the case is an error";
  const size_t whole = bytes.find_last_not_of(" \n") + 1;
  const size_t step = std::max<size_t>(1, whole / 200);
  for (size_t size = 0; size < whole; size += step) {
    const std::string text = text_of_bytes(std::string_view(bytes).substr(0, size), {});
    EXPECT_TRUE(text.starts_with("error ") || tells_the_cut(GetParam().format, bytes, size, text))
        << size << " bytes: " << text.substr(0, 200);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden, testing::ValuesIn(all_cases()), [](const auto& param) {
  std::string name = param.param.format + "_" + param.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace nl::golden
