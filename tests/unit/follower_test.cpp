// A recording that is followed while it is written: the same spans as an import of the whole file, bounded
// memory with exact counts, and an end instead of a crash whatever happens to the file.

#include "follow/follower.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "base/files.h"
#include "capture/record/recording_file.h"
#include "capture/record/segments.h"
#include "recorded.h"
#include "wire/clock_pair.h"

namespace nl::follow {
namespace {

using wire::ChunkHeader;
using wire::ChunkKind;
using wire::RecordKind;
using wire::Word;

/// Of the recordings: when their test began, since what lies long ago leaves the picture.
int64_t start_ns = 0;
constexpr int64_t kTenMinutes = 600'000'000'000;  ///< longer than a test takes on any machine
constexpr auto kLong = std::chrono::seconds(10);

bool never() {
  return false;
}

/// Chunks that say who process 0 is and what its names are.
std::string definitions(uint32_t names) {
  std::string facts;
  wire::append_bytes(facts, wire::ProcessFacts{4242, start_ns, 1'700'000'000'000'000'000, 10, 4, 4});
  facts += "workkey0";
  std::string chunks;
  wire::append_chunk(chunks, {.kind = ChunkKind::kProcess}, facts);
  std::string payload;
  for (uint32_t name = 1; name <= names; name++)
    wire::append_name(payload, name, "", "name " + std::to_string(name));
  wire::append_chunk(chunks, {.kind = ChunkKind::kNames}, payload);
  return chunks;
}

/// A program of several threads that enter and leave scopes at random, a chunk at a time.
class Program {
 public:
  Program(uint32_t threads, uint32_t names, unsigned seed)
      : names_(names), random_(seed), open_(threads), now_(threads, start_ns) {}

  /// The next records of one thread.
  struct Piece {
    ChunkHeader header;
    std::string payload;
  };
  Piece next(int records) {
    const auto thread = static_cast<uint32_t>(random_() % open_.size());
    ChunkHeader header{
        .kind = ChunkKind::kRecords, .ring = thread, .thread = thread, .thread_id = 100 + thread};
    std::string payload;
    for (int i = 0; i < records; i++) add(thread, payload, header);
    return {header, payload};
  }
  /// Ends what is open in a thread.
  Piece end(uint32_t thread) {
    ChunkHeader header{
        .kind = ChunkKind::kRecords, .ring = thread, .thread = thread, .thread_id = 100 + thread};
    std::string payload;
    while (!open_[thread].empty()) leave(thread, payload, header);
    return {header, payload};
  }
  uint64_t spans() const { return spans_; }
  uint64_t records() const { return records_; }

 private:
  void add(uint32_t thread, std::string& payload, ChunkHeader& header) {
    const bool leaves = !open_[thread].empty() && (open_[thread].size() > 5 || random_() % 2 == 0);
    if (leaves) return leave(thread, payload, header);
    const auto name = 1 + static_cast<uint32_t>(random_() % names_);
    open_[thread].push_back(name);
    put(thread, RecordKind::kBegin, name, payload, header);
  }
  void leave(uint32_t thread, std::string& payload, ChunkHeader& header) {
    put(thread, RecordKind::kEnd, open_[thread].back(), payload, header);
    open_[thread].pop_back();
    spans_++;
  }
  void put(uint32_t thread, RecordKind kind, uint32_t name, std::string& payload, ChunkHeader& header) {
    now_[thread] += static_cast<int64_t>(random_() % 20'000);
    wire::append_bytes(payload, wire::record_head(kind, wire::kScopeWords, name));
    wire::append_bytes(payload, static_cast<Word>(now_[thread]));
    header.records++;
    records_++;
  }

  uint32_t names_;
  std::mt19937 random_;
  std::vector<std::vector<uint32_t>> open_;
  std::vector<int64_t> now_;
  uint64_t spans_ = 0, records_ = 0;
};

std::string end_chunk(uint64_t records) {
  std::string facts, chunk;
  wire::append_bytes(facts, wire::EndFacts{records});
  wire::append_chunk(chunk, {.kind = ChunkKind::kEnd}, facts);
  return chunk;
}

/// Count by name of what the picture follows; everything of these tests lies in the last seconds.
std::map<std::string, int64_t> names_of(Follower& follower) {
  std::map<std::string, int64_t> counts;
  for (const NameSum& sum : follower.picture().top_names(follower.picture().newest_ns(), SIZE_MAX))
    counts[std::string(follower.picture().name(sum.name))] = static_cast<int64_t>(sum.count);
  return counts;
}

/// followed = kept + left, and every row adds up to what was followed.
void expect_closed(Follower& follower) {
  LivePicture& picture = follower.picture();
  EXPECT_EQ(picture.followed(), picture.kept() + picture.left());
}

class FollowerTest : public testing::Test {
 protected:
  void SetUp() override {
    start_ns = wire::clock_ns(CLOCK_MONOTONIC);
    ASSERT_TRUE(make_folders(folder_.path()));
  }
  std::string file() const { return folder_.path() + "/recording.nlr"; }
  std::unique_ptr<Follower> follow(PictureLimits limits = {.keep_ns = kTenMinutes}) {
    auto follower = Follower::open({.folder = folder_.path(), .limits = limits});
    EXPECT_TRUE(follower) << (follower ? "" : follower.error().message);
    return follower ? std::move(*follower) : nullptr;
  }
  TestFolder folder_;
};

TEST_F(FollowerTest, SeesWhatTheImportOfTheWholeSees) {
  Program program(4, 7, 1);
  auto recording = capture::RecordingFile::create(file()).value();
  recording.add(definitions(7));
  ASSERT_TRUE(recording.flush());
  const auto follower = follow();
  ASSERT_NE(follower, nullptr);
  for (int i = 0; i < 300; i++) {
    const auto piece = program.next(40);
    recording.add(piece.header, piece.payload);
    if (i % 3 == 0) {
      ASSERT_TRUE(recording.flush());
    }
    if (i % 7 == 0) follower->catch_up(kLong, never);
    ASSERT_TRUE(follower->is_running()) << follower->why();
    expect_closed(*follower);
  }
  for (uint32_t thread = 0; thread < 4; thread++) {
    const auto piece = program.end(thread);
    recording.add(piece.header, piece.payload);
  }
  recording.add(end_chunk(program.records()));
  ASSERT_TRUE(recording.flush());
  follower->catch_up(kLong, never);
  EXPECT_FALSE(follower->is_running());
  EXPECT_EQ(follower->why(), "");
  EXPECT_EQ(follower->open_scopes(), 0u);
  const Imported whole(file());
  ASSERT_EQ(whole.error, "");
  EXPECT_EQ(follower->seen(), program.records());
  EXPECT_EQ(follower->picture().followed(), program.spans());
  EXPECT_EQ(names_of(*follower), whole.names);
}

TEST_F(FollowerTest, BytesMayComeInAnyPieces) {
  for (unsigned seed = 0; seed < 5; seed++) {
    Program program(3, 5, seed);
    std::string bytes;
    wire::append_file_header(bytes, "boot");
    bytes += definitions(5);
    for (int i = 0; i < 60; i++) {
      const auto piece = program.next(30);
      wire::append_chunk(bytes, piece.header, piece.payload);
    }
    bytes += end_chunk(program.records());
    std::filesystem::remove(file());
    const int fd = ::open(file().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ASSERT_EQ(::flock(fd, LOCK_EX), 0);  // as a recorder does
    const auto follower = follow();
    std::mt19937 random(seed);
    for (size_t at = 0; at < bytes.size();) {
      const size_t size = std::min<size_t>(bytes.size() - at, 1 + random() % 3000);
      ASSERT_EQ(::write(fd, bytes.data() + at, size), static_cast<ssize_t>(size));
      at += size;
      follower->catch_up(kLong, never);
      EXPECT_EQ(follower->why(), "");
      expect_closed(*follower);
    }
    EXPECT_FALSE(follower->is_running());
    EXPECT_EQ(follower->seen(), program.records());
    EXPECT_EQ(follower->picture().followed(), program.spans());
    ::close(fd);
  }
}

TEST_F(FollowerTest, AFlightRecorderIsFollowedFromFileToFile) {
  Program program(2, 3, 3);
  auto segments = capture::Segments::create({folder_.path(), 64 << 10, true}).value();
  segments.define(0, definitions(3));
  ASSERT_TRUE(segments.flush());
  const auto follower = follow();
  for (int i = 0; i < 300; i++) {
    const auto piece = program.next(50);
    segments.add(piece.header, piece.payload);
    ASSERT_TRUE(segments.flush());
    if (i % 10 == 0) follower->catch_up(kLong, never);
  }
  follower->catch_up(kLong, never);
  EXPECT_EQ(follower->missed_segments(), 0u);
  EXPECT_EQ(follower->seen(), program.records());
  const auto dumped = segments.dump("dump.nlr", "");
  ASSERT_TRUE(dumped);
  EXPECT_LT(dumped->records, program.records());
  EXPECT_EQ(follower->recorded(), dumped->records);
  EXPECT_EQ(follower->picture().followed(), program.spans());
  EXPECT_TRUE(follower->is_running());
}

TEST_F(FollowerTest, WhoLooksTooSeldomIsToldSo) {
  Program program(2, 3, 4);
  auto segments = capture::Segments::create({folder_.path(), 64 << 10, true}).value();
  segments.define(0, definitions(3));
  ASSERT_TRUE(segments.flush());
  const auto follower = follow();
  for (int i = 0; i < 600; i++) {
    const auto piece = program.next(50);
    segments.add(piece.header, piece.payload);
    ASSERT_TRUE(segments.flush());
  }
  follower->catch_up(kLong, never);
  EXPECT_GT(follower->missed_segments(), 0u);
  EXPECT_LT(follower->seen(), program.records());
  expect_closed(*follower);
}

/// A chunk with one record of thread 0, so many ns after the start.
void add_record(capture::Segments& segments, RecordKind kind, uint32_t name, int64_t after_ns) {
  std::string payload;
  wire::append_bytes(payload, wire::record_head(kind, wire::kScopeWords, name));
  wire::append_bytes(payload, static_cast<Word>(start_ns + after_ns));
  segments.add({.kind = ChunkKind::kRecords, .records = 1}, payload);
}

/// Their ends were in the files that were missed. What comes later is not inside of them.
TEST_F(FollowerTest, ScopesAreNotOpenForEverIfTheirEndsWereMissed) {
  auto segments = capture::Segments::create({folder_.path(), 64 << 10, true}).value();
  segments.define(0, definitions(3));
  for (int i = 0; i < 3; i++) add_record(segments, RecordKind::kBegin, 3, i);
  ASSERT_TRUE(segments.flush());
  const auto follower = follow();
  follower->catch_up(kLong, never);
  ASSERT_EQ(follower->open_scopes(), 3u);
  const auto fill = [&](int pairs) {
    for (int i = 0; i < pairs; i++) {
      add_record(segments, RecordKind::kBegin, 1, 100 + 2 * i);
      add_record(segments, RecordKind::kEnd, 1, 101 + 2 * i);
      ASSERT_TRUE(segments.flush());
    }
  };
  fill(1000);  // some files, so that the ends are in none that is read
  for (int i = 0; i < 3; i++) add_record(segments, RecordKind::kEnd, 3, 10'000 + i);
  fill(1000);
  follower->catch_up(kLong, never);
  ASSERT_GT(follower->missed_segments(), 0u);
  EXPECT_EQ(follower->open_scopes(), 0u);
  uint64_t on_top = 0;
  for (const auto& [number, row] : follower->picture().rows()) on_top += row.key.depth == 0 ? row.spans : 0;
  EXPECT_GT(on_top, 0u);
}

/// How fast a backlog is read is not how fast the program sets markers.
TEST_F(FollowerTest, TheRateIsThatOfTheProgramWhileABacklogIsRead) {
  start_ns -= 100'000'000'000;
  Program program(1, 3, 10);
  auto recording = capture::RecordingFile::create(file()).value();
  recording.add(definitions(3));
  for (int i = 0; i < 20'000; i++) {
    const auto piece = program.next(40);
    recording.add(piece.header, piece.payload);
  }
  ASSERT_TRUE(recording.flush());
  const auto follower = follow();
  const auto no_time = std::chrono::milliseconds(0);
  const double most = static_cast<double>(program.records()) / 5;  // it ran for some seconds
  while (follower->behind_bytes() > 0 || follower->seen() == 0) {
    follower->catch_up(no_time, never);
    ASSERT_LT(follower->rate_per_s(), most);
    std::this_thread::sleep_for(std::chrono::milliseconds(550));
  }
  EXPECT_EQ(follower->seen(), program.records());
  follower->catch_up(kLong, never);
  EXPECT_LT(follower->rate_per_s(), most);
}

TEST_F(FollowerTest, WhoOnlyCountsDecodesNothing) {
  Program program(2, 3, 11);
  auto segments = capture::Segments::create({folder_.path(), 64 << 10, true}).value();
  segments.define(0, definitions(3));
  ASSERT_TRUE(segments.flush());
  const auto follower = Follower::open({.folder = folder_.path(), .counts_only = true}).value();
  for (int i = 0; i < 300; i++) {
    const auto piece = program.next(50);
    segments.add(piece.header, piece.payload);
    ASSERT_TRUE(segments.flush());
    if (i % 10 == 0) follower->catch_up(kLong, never);
  }
  follower->catch_up(kLong, never);
  EXPECT_EQ(follower->seen(), program.records());
  EXPECT_EQ(follower->recorded(), segments.dump("dump.nlr", "")->records);
  EXPECT_EQ(follower->processes(), std::set<int64_t>{4242});
  EXPECT_EQ(follower->picture().followed(), 0u);
  EXPECT_TRUE(follower->picture().rows().empty());
}

TEST_F(FollowerTest, MemoryIsBoundedAndWhatLeavesIsCounted) {
  Program program(8, 50, 5);
  auto recording = capture::RecordingFile::create(file()).value();
  recording.add(definitions(50));
  const PictureLimits limits{.keep_ns = 5'000'000'000, .most_spans = 1000, .most_rows = 10, .most_names = 8};
  for (int i = 0; i < 500; i++) {
    const auto piece = program.next(100);
    recording.add(piece.header, piece.payload);
  }
  ASSERT_TRUE(recording.flush());
  const auto follower = follow(limits);
  follower->catch_up(kLong, never);
  const LivePicture& picture = follower->picture();
  EXPECT_EQ(picture.followed(), program.spans());
  EXPECT_LE(picture.kept(), 1000u);
  EXPECT_GT(picture.without_row(), 0u);
  EXPECT_LE(picture.rows().size(), 10u);
  EXPECT_LE(names_of(*follower).size(), 9u);  // and one for all others
  expect_closed(*follower);
}

/// Every bucket of a row that is not too old adds up, from near and from afar.
TEST_F(FollowerTest, ThePictureCountsEachSpanOnce) {
  Program program(3, 5, 6);
  auto recording = capture::RecordingFile::create(file()).value();
  recording.add(definitions(5));
  for (int i = 0; i < 200; i++) {
    const auto piece = program.next(50);
    recording.add(piece.header, piece.payload);
  }
  for (uint32_t thread = 0; thread < 3; thread++) {
    const auto piece = program.end(thread);
    recording.add(piece.header, piece.payload);
  }
  ASSERT_TRUE(recording.flush());
  const auto follower = follow();
  follower->catch_up(kLong, never);
  LivePicture& picture = follower->picture();
  ASSERT_EQ(picture.kept(), program.spans());
  for (const uint32_t exponent : {14u, 18u, 23u, 28u, 30u}) {
    const auto buckets = static_cast<uint32_t>((picture.newest_ns() >> exponent) + 1);
    const DrawnTile tile = picture.draw({exponent, 0, buckets}, picture.newest_ns());
    const auto& counts = tile.columns.count;
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), program.spans()) << exponent;
    EXPECT_EQ(tile.columns.rows.size(), picture.rows().size()) << exponent;
    ASSERT_EQ(tile.columns.ends.back(), tile.columns.items.size());
  }
}

TEST_F(FollowerTest, AScopeThatIsOpenIsDrawnUpToNow) {
  auto recording = capture::RecordingFile::create(file()).value();
  recording.add(definitions(1));
  std::string payload;
  wire::append_bytes(payload, wire::record_head(RecordKind::kBegin, wire::kScopeWords, 1));
  wire::append_bytes(payload, static_cast<Word>(start_ns + 1000));
  recording.add({.kind = ChunkKind::kRecords, .records = 1}, payload);
  ASSERT_TRUE(recording.flush());
  const auto follower = follow();
  follower->catch_up(kLong, never);
  EXPECT_EQ(follower->open_scopes(), 1u);
  const DrawnTile tile = follower->picture().draw({10, 0, 100}, 50'000);
  ASSERT_EQ(tile.columns.items.size(), 1u);
  EXPECT_EQ(tile.columns.start_ns[0], 1000);
  EXPECT_EQ(tile.columns.dur_ns[0], 49'000);
  EXPECT_EQ(tile.names.at(0), "name 1");
}

// ---- The untrusted world

TEST_F(FollowerTest, AFileThatIsCutEndsThePicture) {
  Program program(2, 3, 7);
  auto recording = capture::RecordingFile::create(file()).value();
  recording.add(definitions(3));
  const auto piece = program.next(500);
  recording.add(piece.header, piece.payload);
  ASSERT_TRUE(recording.flush());
  const auto follower = follow();
  follower->catch_up(kLong, never);
  ASSERT_TRUE(follower->is_running());
  ASSERT_EQ(::truncate(file().c_str(), 100), 0);
  follower->catch_up(kLong, never);
  EXPECT_FALSE(follower->is_running());
  EXPECT_NE(follower->why(), "");
  follower->catch_up(kLong, never);
  expect_closed(*follower);
}

TEST_F(FollowerTest, ARecorderThatWasKilledIsNoticed) {
  {
    auto recording = capture::RecordingFile::create(file()).value();
    recording.add(definitions(3));
    ASSERT_TRUE(recording.flush());
  }
  const auto follower = follow();
  follower->catch_up(kLong, never);
  EXPECT_TRUE(follower->was_killed());
  EXPECT_NE(follower->why(), "");
}

TEST_F(FollowerTest, DamagedBytesNeverDoHarm) {
  Program program(3, 5, 8);
  std::string bytes;
  wire::append_file_header(bytes, "boot");
  bytes += definitions(5);
  for (int i = 0; i < 20; i++) {
    const auto piece = program.next(30);
    wire::append_chunk(bytes, piece.header, piece.payload);
  }
  bytes += end_chunk(program.records());
  std::mt19937 random(9);
  for (int i = 0; i < 200; i++) {
    std::string damaged = bytes;
    for (int n = 0; n < 3; n++) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (i % 4 == 0) damaged.resize(random() % damaged.size());
    ASSERT_TRUE(replace_file(file(), damaged));
    const auto follower = follow();
    ASSERT_NE(follower, nullptr);
    follower->catch_up(kLong, never);
    follower->catch_up(kLong, never);
    expect_closed(*follower);
    (void)follower->picture().draw({20, 0, 500}, follower->now_ns());
  }
}

TEST_F(FollowerTest, AFolderWithoutARecordingIsNotFound) {
  const auto none = Follower::open({.folder = folder_.path()});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  ASSERT_EQ(::symlink("/etc/passwd", file().c_str()), 0);
  const auto link = Follower::open({.folder = folder_.path()});
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().code, ErrorCode::kNotFound);
}

/// One that cannot be opened is not one that is not there.
TEST_F(FollowerTest, WhatCannotBeOpenedIsAnError) {
  const auto closed = Follower::open({.folder = folder_.path() + "/" + std::string(300, 'x')});
  ASSERT_FALSE(closed);
  EXPECT_NE(closed.error().code, ErrorCode::kNotFound);
}

// ---- Beside a recorder

TEST(FollowerOfARecorder, RecordedAndLostAreAllThatWasSet) {
  TestFolder folder;
  auto recorder =
      capture::Recorder::start({.folder = folder.path(), .library = "/none", .ring_bytes = 16 << 10}).value();
  const auto follower = Follower::open({.folder = folder.path()}).value();
  constexpr uint64_t kSet = 20'000;
  const pid_t child = start_child([&] {
    const neurolens_api& api = start_collector(recorder->environment());
    const uint32_t name = name_of(api, "work");
    for (uint64_t i = 0; i < kSet; i++) api.counter(name, static_cast<double>(i));
  });
  ASSERT_EQ(signal_of(child), 0);  // nobody drained its ring meanwhile
  follower->catch_up(kLong, never);
  const uint64_t before = follower->lost()[static_cast<size_t>(wire::Loss::kRingFull)];
  EXPECT_GT(before, 0u);
  ASSERT_TRUE(recorder->poll());
  follower->catch_up(kLong, never);
  EXPECT_EQ(follower->recorded() + before, kSet);
  const auto end = recorder->finish();
  ASSERT_TRUE(end);
  follower->catch_up(kLong, never);
  EXPECT_FALSE(follower->is_running());
  EXPECT_EQ(follower->recorded(), end->recorded);
  EXPECT_EQ(follower->lost(), end->lost);
  EXPECT_EQ(follower->recorded() + end->total_lost(), kSet);
}

}  // namespace
}  // namespace nl::follow
