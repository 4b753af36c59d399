#include "ingest/source/byte_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>

#include "base/sha256.h"

namespace nl::ingest {
namespace {

std::string gzipped(std::string text) {
  std::string out(text.size() + 4096, '\0');
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.next_in = reinterpret_cast<uint8_t*>(text.data());
  stream.avail_in = static_cast<uint32_t>(text.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  EXPECT_EQ(isal_deflate_stateless(&stream), COMP_OK);
  out.resize(stream.total_out);
  return out;
}

std::string zstd_compressed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);  // as the zstd tool does
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

Result<std::string> all_of(std::string_view bytes, size_t piece) {
  NL_TRY(auto source, open_memory(bytes));
  std::string text;
  std::string buffer(piece, '\0');
  for (;;) {
    NL_TRY(const size_t n, source->read(buffer.data(), piece));
    text.append(buffer, 0, n);
    if (n < piece) break;
  }
  NL_CHECK(source->drain());
  EXPECT_EQ(source->sha256(), sha256_hex(bytes));
  EXPECT_EQ(source->raw_bytes(), static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(source->text_bytes(), static_cast<int64_t>(text.size()));
  return text;
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 200'000; i++) text += std::to_string(i * 7919 % 1000003) + ",";
  return text;
}

TEST(ByteSource, ReadsPlainGzipAndZstd) {
  const std::string text = long_text();
  for (const std::string& bytes : {text, gzipped(text), zstd_compressed(text)}) {
    for (const size_t piece : {size_t{1000}, size_t{1} << 20}) EXPECT_EQ(all_of(bytes, piece).value(), text);
  }
}

TEST(ByteSource, ReadsSeveralMembersAndPadding) {
  const std::string text = long_text();
  const std::string two = gzipped(text) + gzipped("and more") + gzipped("");
  EXPECT_EQ(all_of(two, 4096).value(), text + "and more");
  EXPECT_EQ(all_of(two + std::string(512, '\0'), 4096).value(), text + "and more");
  EXPECT_EQ(all_of(zstd_compressed(text) + zstd_compressed("end"), 4096).value(), text + "end");
}

TEST(ByteSource, TellsTruncationAndDamage) {
  const std::string text = long_text();
  for (const std::string& bytes : {gzipped(text), zstd_compressed(text)}) {
    for (size_t size = 5; size < bytes.size(); size += bytes.size() / 37) {
      const auto cut = all_of(std::string_view(bytes).substr(0, size), 1 << 16);
      ASSERT_FALSE(cut) << size;
      EXPECT_EQ(cut.error().code, ErrorCode::kBadInput);
    }
    std::string damaged = bytes;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
    EXPECT_FALSE(all_of(damaged, 1 << 16));
  }
  EXPECT_FALSE(all_of(gzipped(text) + "garbage", 1 << 16));
}

TEST(ByteSource, RefusesEmptyInput) {
  EXPECT_EQ(open_memory("").error().code, ErrorCode::kBadInput);
  EXPECT_EQ(open_memory(gzipped("")).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(open_file("/nonexistent/trace.json").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(open_file("/").error().code, ErrorCode::kBadInput);
  EXPECT_EQ(open_file("/dev/zero").error().code, ErrorCode::kBadInput);
}

/// A path of its own that is removed at the end.
class ByteSourcePath : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  void write(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }

  const std::string path_ = testing::TempDir() + "byte_source_" + std::to_string(::getpid()) + "_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ByteSourcePath, NoticesThatAFileGrew) {
  write(std::string(kHeadBytes, 'x'));
  const auto source = open_file(path_).value();
  EXPECT_TRUE(source->unchanged());
  write("more");
  EXPECT_EQ(source->unchanged().error().code, ErrorCode::kConflict);
  EXPECT_EQ(source->drain().error().code, ErrorCode::kConflict);
}

TEST_F(ByteSourcePath, NoticesThatAFileShrank) {
  write(std::string(4 * kHeadBytes, 'x'));
  const auto source = open_file(path_).value();
  std::filesystem::resize_file(path_, kHeadBytes);
  std::string out(4 * kHeadBytes, '\0');
  EXPECT_EQ(source->read(out.data(), out.size()).error().code, ErrorCode::kConflict);
}

TEST_F(ByteSourcePath, ReadsAFileThatStaysAsItIs) {
  write(std::string(4 * kHeadBytes, 'x'));
  const auto source = open_file(path_).value();
  EXPECT_TRUE(source->drain());
  EXPECT_TRUE(source->unchanged());
  EXPECT_EQ(source->raw_bytes(), int64_t{4 * kHeadBytes});
}

TEST_F(ByteSourcePath, GivesUpAPipeThatNobodyWritesInto) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  PipeWait wait;
  wait.for_writer = std::chrono::milliseconds(100);
  EXPECT_EQ(open_file(path_, wait).error().code, ErrorCode::kUnavailable);
}

TEST_F(ByteSourcePath, WaitsForAPipeUntilCancelled) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int writer = ::open(path_.c_str(), O_RDWR);  // does not wait for a reader, unlike O_WRONLY
  int asked = 0;
  PipeWait wait;
  wait.for_writer = std::chrono::milliseconds(0);  // there is one
  wait.cancelled = [&] { return ++asked == 3; };
  EXPECT_EQ(open_file(path_, wait).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(asked, 3);
  ::close(writer);
}

}  // namespace
}  // namespace nl::ingest
