// The adapter of recordings on files that are not what they should be; what sound files give is in
// tests/golden/recording.

#include "wire/recording.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "golden/recording_text.h"
#include "ingest/adapter.h"
#include "neurolens/neurolens.h"

namespace nl::ingest {
namespace {

struct NoRows final : model::RunSink {
  Result<void> push(std::shared_ptr<model::Batch>) override { return {}; }
};

struct Read {
  std::optional<ErrorCode> error;
  model::RunInfo info;
};

Read read(std::string_view bytes) {
  Read result;
  auto source = open_memory(bytes);
  if (!source) return {source.error().code, {}};
  const auto chosen = choose_adapter((*source)->head(), "", "recording");
  NoRows sink;
  const auto done = chosen->adapter->read(**source, {}, sink, result.info);
  if (!done) result.error = done.error().code;
  return result;
}

constexpr const char* kThreads =
    "process 0 4711 1000000 1763000000000000000 40 python3\n"
    "name 0 1 request\n"
    "name 0 2 mark\n"
    "thread 0 1 4711 MainThread\n"
    "begin 1 1000000\nend 1 1000100\nmark 2 1000200 {\"a\":[1,2,{}]}\ncounter 1 1000300 0.5\n"
    "thread 0 2 4712 other\n"
    "begin 1 1000000\nbegin 1 1000050\nend 1 1000100\nlane_begin 1 1000200 7\nlane_end 1 1000300 7\n"
    "finish\n";
constexpr int64_t kRecords = 4 + 5;

/// Where the chunk of that number begins.
size_t chunk_at(const std::string& bytes, int number) {
  size_t at = sizeof(wire::FileHeader);
  for (; number > 0; number--) {
    wire::ChunkHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    at += sizeof header + header.bytes;
  }
  return at;
}

TEST(Recording, IsCompleteWhenSound) {
  const Read sound = read(golden::recording_of(kThreads));
  EXPECT_FALSE(sound.error);
  EXPECT_EQ(sound.info.counts.seen, kRecords);
  EXPECT_EQ(sound.info.counts.stored, 6);
  EXPECT_EQ(sound.info.counts.total_dropped(), 0);
}

TEST(Recording, AnyDamagedByteIsSurvivedAndCounted) {
  const std::string sound = golden::recording_of(kThreads);
  for (size_t at = 0; at < sound.size(); at++) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      std::string bytes = sound;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      const Read damaged = read(bytes);
      if (at < sizeof(wire::FileHeader) && damaged.error) continue;  // another format or version
      if (damaged.error) {
        EXPECT_EQ(*damaged.error, ErrorCode::kBadInput) << at;  // no name is left, so no marker
        continue;
      }
      ASSERT_TRUE(damaged.info.counts.closes()) << at;
      if (at < sizeof(wire::FileHeader)) continue;
      EXPECT_TRUE(damaged.info.health.contains("damaged_bytes") ||
                  damaged.info.health.contains("damaged_chunks"))
          << "unnoticed at " << at;
      const bool has_end = !damaged.info.health.contains("unfinished");
      EXPECT_TRUE(!has_end || damaged.info.counts.seen == kRecords) << "the end says how many: " << at;
    }
  }
}

TEST(Recording, GoesOnBehindADamagedChunk) {
  std::string bytes = golden::recording_of(kThreads);
  bytes[chunk_at(bytes, 3) + sizeof(wire::ChunkHeader) + 3] ^= 1;  // in the records of the first thread
  const Read damaged = read(bytes);
  ASSERT_FALSE(damaged.error);
  EXPECT_EQ(damaged.info.counts.dropped.at("damaged_chunk"), 4);
  EXPECT_EQ(damaged.info.counts.seen, kRecords);

  bytes = golden::recording_of(kThreads);
  bytes[chunk_at(bytes, 3) + 10] ^= 1;  // in their header: how many they were is told by the end
  const Read lost = read(bytes);
  ASSERT_FALSE(lost.error);
  EXPECT_EQ(lost.info.counts.dropped.at("damaged_chunk"), 4);
  EXPECT_EQ(lost.info.counts.seen, kRecords);
}

TEST(Recording, ACutIsToldAndItsRecordsAreCounted) {
  const std::string sound = golden::recording_of(kThreads);
  const size_t records = chunk_at(sound, 3), other = chunk_at(sound, 4);
  for (size_t size = records + sizeof(wire::ChunkHeader); size < other; size++) {
    const Read cut = read(sound.substr(0, size));
    ASSERT_TRUE(cut.error) << "no whole chunk of markers is left";
  }
  for (size_t size = other; size < sound.size(); size++) {
    const Read cut = read(sound.substr(0, size));
    ASSERT_FALSE(cut.error) << size;
    EXPECT_EQ(cut.info.health.at("unfinished"), 1);
    const bool is_inside = size >= other + sizeof(wire::ChunkHeader) && size < chunk_at(sound, 5);
    EXPECT_EQ(cut.info.counts.dropped.contains("cut_off"), is_inside) << size;
    EXPECT_EQ(cut.info.counts.seen, is_inside ? kRecords : size < chunk_at(sound, 5) ? 4 : kRecords);
    EXPECT_TRUE(cut.info.counts.closes());
  }
}

/// Sound checksums around records that are none.
std::string with_records(const std::vector<wire::Word>& words, uint32_t said) {
  std::string bytes = golden::recording_of(
      "process 0 4711 1000000 1763000000000000000 40 python3\nname 0 1 request\nthread 0 1 1 t\ncounter 1 5 "
      "1\n");
  wire::append_chunk(bytes, {.kind = wire::ChunkKind::kRecords, .records = said},
                     {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(wire::Word)});
  return bytes;
}

TEST(Recording, RecordsThatAreNoneAreDropped) {
  using wire::RecordKind;
  const auto head = [](int kind, uint32_t words, uint32_t name) {
    return wire::record_head(static_cast<RecordKind>(kind), words, name);
  };
  const struct {
    std::vector<wire::Word> words;
    uint32_t said;
    const char* reason;
    int64_t dropped;
  } cases[] = {
      {{head(1, 0, 1), 5}, 1, "bad_record", 1},
      {{head(1, 1, 1), 5}, 1, "bad_record", 1},
      {{head(1, 9, 1), 5}, 1, "bad_record", 1},
      {{head(1, 0, 1), 5, 0, 0, 0, 0, 0, 0}, 4, "bad_record", 4},
      {{head(1, 0, 1), 5}, 4'000'000'000, "bad_record", 1},
      {{head(1, 3, 1), 5, 6}, 1, "bad_record", 1},
      {{head(3, 2, 1), 5}, 1, "bad_record", 1},
      {{head(5, 2, 1), 5}, 1, "bad_record", 1},
      {{head(5, 3, 1), 5, 1}, 1, "bad_record", 1},
      {{head(5, 3, 1), 5, ~0ull}, 1, "bad_record", 1},
      {{head(6, 2, 1), 5}, 1, "bad_record", 1},
      {{head(0, 2, 1), 5}, 1, "unsupported_kind", 1},
      {{head(7, 2, 1), 5}, 1, "unsupported_kind", 1},
      {{head(200, 2, 1), 5}, 1, "unsupported_kind", 1},
      {{head(1, 2, 2), 5}, 1, "undefined_name", 1},
      {{head(1, 2, ~0u), 5}, 1, "undefined_name", 1},
      {{head(1, 2, 1), ~0ull}, 1, "bad_time", 1},
  };
  for (const auto& c : cases) {
    const Read result = read(with_records(c.words, c.said));
    ASSERT_FALSE(result.error);
    EXPECT_TRUE(result.info.counts.closes());
    EXPECT_EQ(result.info.counts.dropped, (std::map<std::string, int64_t>{{c.reason, c.dropped}}))
        << std::hex << c.words[0];
  }
}

TEST(Recording, ChunksThatLieAreOnlyCounted) {
  std::string names(wire::kMaxChunkBytes, '\xFF');
  std::string bytes = golden::recording_of(kThreads);
  for (const auto kind : {1u, 2u, 4u, 5u, 77u}) {
    for (const size_t size : {size_t{0}, size_t{8}, wire::kMaxChunkBytes}) {
      for (const uint32_t process : {0u, 5u, ~0u})
        wire::append_chunk(bytes, {.kind = static_cast<wire::ChunkKind>(kind), .process = process},
                           std::string_view(names).substr(0, size));
    }
  }
  const Read result = read(bytes);
  ASSERT_FALSE(result.error);
  EXPECT_TRUE(result.info.counts.closes());
  EXPECT_EQ(result.info.counts.seen, kRecords);
  EXPECT_GT(result.info.health.at("bad_chunk"), 10);
  EXPECT_EQ(result.info.health.at("unknown_chunk"), 9);
}

TEST(Recording, ManyNamesOfManyProcessesAreBounded) {
  std::string bytes = golden::recording_of(kThreads);
  for (uint32_t process = 1; process < 3000; process++) {  // each wants a table of 16,384 names
    std::string payload;
    wire::append_name(payload, wire::kMaxNames - 1, "", "x");
    wire::append_chunk(bytes, {.kind = wire::ChunkKind::kNames, .process = process}, payload);
  }
  const Read result = read(bytes);
  ASSERT_FALSE(result.error);
  EXPECT_GT(result.info.health.at("bad_chunk"), 2900) << "64 MiB of names at most";
}

TEST(Recording, AnotherVersionIsNotRead) {
  std::string bytes = golden::recording_of(kThreads);
  bytes[8] = 2;
  EXPECT_EQ(read(bytes).error, ErrorCode::kUnsupported);
}

TEST(Attributes, AreJson) {
  const neurolens::AttributeText text({{"n", -5},
                                       {"big", 18446744073709551615ull},
                                       {"x", 0.25},
                                       {"bad", 0.0 / 0.0},
                                       {"yes", true},
                                       {"te\"xt", "a\\\"\n\x01é"}});
  const auto json = nlohmann::json::parse(std::string_view(text.data(), text.size()));
  EXPECT_EQ(json, (nlohmann::json{{"n", -5},
                                  {"big", 18446744073709551615ull},
                                  {"x", 0.25},
                                  {"bad", nullptr},
                                  {"yes", true},
                                  {"te\"xt", "a\\\"\n\x01é"}}));
}

TEST(Attributes, ThatDoNotFitAreLeftOutAndCounted) {
  const std::string large(5000, 'x'), half(2500, 'y');
  const neurolens::AttributeText text(
      {{"large", large.c_str()}, {"a", 1}, {"half", half.c_str()}, {"again", half.c_str()}});
  const auto json = nlohmann::json::parse(std::string_view(text.data(), text.size()));
  EXPECT_EQ(json, (nlohmann::json{{"a", 1}, {"half", half}, {"attributes_left_out", 2}}));
  const neurolens::AttributeText none({{"large", large.c_str()}});
  EXPECT_EQ(std::string(none.data(), none.size()), "{\"attributes_left_out\":1}");
  EXPECT_EQ(neurolens::AttributeText({}).size(), 0u);
}

}  // namespace
}  // namespace nl::ingest
