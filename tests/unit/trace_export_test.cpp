// What the exporters of traces are made of: the encoder of protobuf, lanes and rounds of slices, windows, and
// JSON as annotations.

#include <gtest/gtest.h>

#include <set>

#include "exports/protobuf.h"
#include "exports/safe_utf8.h"
#include "exports/timeline/json_annotations.h"
#include "exports/timeline/slice_places.h"
#include "exports/timeline/trace_rows.h"

namespace nl::exports {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

TEST(Protobuf, NumbersAreAsInTheSpecification) {
  ProtoWriter out;
  out.varint(1, 150);
  EXPECT_EQ(hex(out.view()), "089601");
  out.clear();
  out.signed_varint(2, -1);
  EXPECT_EQ(hex(out.view()), "10ffffffffffffffffff01");
  out.clear();
  out.varint(16, UINT64_MAX);
  EXPECT_EQ(hex(out.view()), "8001ffffffffffffffffff01");
  out.clear();
  out.fixed64(1, 0x0102030405060708u);
  EXPECT_EQ(hex(out.view()), "090807060504030201");
  out.clear();
  out.real(3, 1.0);
  EXPECT_EQ(hex(out.view()), "19000000000000f03f");
}

TEST(Protobuf, TextsAndPackedNumbers) {
  ProtoWriter out;
  out.text(2, "testing");
  EXPECT_EQ(hex(out.view()), "120774657374696e67");
  out.clear();
  const uint64_t numbers[] = {3, 270, 86942};
  out.packed(6, std::span<const uint64_t>(numbers));
  EXPECT_EQ(hex(out.view()), "3206038e029ea705");
}

TEST(Protobuf, MessagesNestAndMayBeLong) {
  ProtoWriter out;
  out.message(3, [&] { out.varint(1, 150); });
  EXPECT_EQ(hex(out.view()), "1a03089601");
  for (const size_t size : {0u, 125u, 126u, 127u, 128u, 16384u, 3000000u}) {
    out.clear();
    const std::string text(size, 'x');
    out.message(1, [&] { out.message(2, [&] { out.text(3, text); }); });
    ProtoWriter inner, middle, outer;
    inner.text(3, text);
    middle.bytes(2, inner.view());
    outer.bytes(1, middle.view());
    EXPECT_EQ(out.view(), outer.view()) << size;
  }
}

// ---- Lanes and rounds

struct Placed {
  SliceKey key;
  SlicePlace place;
};

/// Does what a reader does: sorts by time, keeps the order of the file within one time, closes the innermost.
/// True if each slice ends at its own end.
bool nests(std::vector<Placed> slices) {
  struct Event {
    int64_t time;
    size_t slice;
    bool begins;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < slices.size(); i++) {
    if (slices[i].key.dur_ns > 0) events.push_back({slices[i].key.start_ns + slices[i].key.dur_ns, i, false});
  }
  std::vector<size_t> order(slices.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto at = [&](size_t i) {
      const auto& [key, place] = slices[i];
      return std::tuple(place.round, key.table, place.round == 0 ? key.id : static_cast<int64_t>(i));
    };
    return at(a) < at(b);
  });
  for (const size_t i : order) {
    events.push_back({slices[i].key.start_ns, i, true});
    if (slices[i].key.dur_ns == 0) events.push_back({slices[i].key.start_ns, i, false});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });
  std::map<std::pair<int64_t, int>, std::vector<size_t>> open;
  for (const Event& event : events) {
    auto& stack = open[{slices[event.slice].key.track, slices[event.slice].place.lane}];
    if (event.begins) {
      stack.push_back(event.slice);
      continue;
    }
    if (stack.empty()) return false;
    const SliceKey& closed = slices[stack.back()].key;
    stack.pop_back();
    if (closed.start_ns + closed.dur_ns != event.time) return false;
  }
  return true;
}

std::vector<Placed> placed(std::vector<SliceKey> keys) {
  std::sort(keys.begin(), keys.end(), [](const SliceKey& a, const SliceKey& b) {
    return std::tuple(a.track, a.start_ns, -a.dur_ns, a.table, a.id) <
           std::tuple(b.track, b.start_ns, -b.dur_ns, b.table, b.id);
  });
  SlicePlaces places;
  std::vector<Placed> all;
  for (const SliceKey& key : keys) {
    const auto place = places.place(key);
    EXPECT_TRUE(place.has_value());
    if (place) all.push_back({key, *place});
  }
  return all;
}

TEST(SlicePlaces, WhatNestsStaysOnTheTrack) {
  const auto all =
      placed({{0, 0, 100, 0, 0}, {0, 0, 50, 0, 1}, {0, 50, 50, 0, 2}, {0, 100, 10, 0, 3}, {0, 100, 0, 0, 4}});
  for (const auto& [key, place] : all) {
    EXPECT_EQ(place.lane, 0) << key.id;
    EXPECT_EQ(place.round, 0) << key.id;
  }
  EXPECT_TRUE(nests(all));
}

TEST(SlicePlaces, WhatCrossesGoesToTheNextLane) {
  const auto all =
      placed({{0, 0, 10, 0, 0}, {0, 5, 10, 0, 1}, {0, 7, 10, 0, 2}, {0, 10, 3, 0, 3}, {1, 5, 10, 0, 4}});
  std::map<int64_t, int> lanes;
  for (const auto& [key, place] : all) lanes[key.id] = place.lane;
  EXPECT_EQ(lanes, (std::map<int64_t, int>{{0, 0}, {1, 1}, {2, 2}, {3, 0}, {4, 0}}));
  EXPECT_TRUE(nests(all));
}

TEST(SlicePlaces, TheOuterOneIsWrittenFirst) {
  // The outer slice is the later row, as in traces that write an event when it ends.
  const auto all = placed({{0, 0, 100, 0, 7}, {0, 0, 50, 0, 3}, {0, 0, 20, 0, 9}});
  EXPECT_EQ(all[0].place.round, 0);
  EXPECT_EQ(all[1].place.round, 1);
  EXPECT_EQ(all[2].place.round, 1);
  EXPECT_TRUE(nests(all));
}

TEST(SlicePlaces, AnySlicesCanBeRead) {
  uint64_t state = 42;
  const auto random = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state >> 33) % below);
  };
  for (int round = 0; round < 300; round++) {
    std::vector<SliceKey> keys;
    for (int i = 0; i < 60; i++)
      keys.push_back({random(2), random(12), random(8), static_cast<int>(random(3)), i});
    const auto all = placed(keys);
    EXPECT_TRUE(nests(all)) << round;
    // The model itself is not always content.
    if (round == 0) {
      auto wrong = all;
      for (auto& [key, place] : wrong) place = {0, 0};
      EXPECT_FALSE(nests(wrong));
    }
  }
}

TEST(SlicePlaces, NeverMoreLanesThanTheLimit) {
  SlicePlaces places;
  int64_t lost = 0;
  for (int64_t i = 0; i < SlicePlaces::kMaxLanes + 10; i++)
    lost += places.place({0, i, 1'000'000, 0, i}) ? 0 : 1;
  EXPECT_EQ(lost, 10);
}

// ---- Windows, texts, arguments

TEST(TraceWindow, ARowIsWrittenIfItTouches) {
  const std::vector<Stretch> window = {{10, 20}, {30, 40}};
  EXPECT_TRUE(touches_window({}, 5, 6));
  EXPECT_FALSE(touches_window(window, 0, 10));
  EXPECT_TRUE(touches_window(window, 0, 11));
  EXPECT_TRUE(touches_window(window, 0, 100));
  EXPECT_FALSE(touches_window(window, 20, 30));
  EXPECT_TRUE(touches_window(window, 20, 31));
  EXPECT_FALSE(touches_window(window, 40, 50));
  EXPECT_TRUE(touches_window(window, 10, 10));
  EXPECT_FALSE(touches_window(window, 20, 20));
}

TEST(SafeUtf8, BytesThatAreNoneAreReplaced) {
  std::string scratch;
  EXPECT_EQ(safe_utf8("plain", scratch), "plain");
  EXPECT_EQ(safe_utf8("\xC3\xA4 and more than eight", scratch), "\xC3\xA4 and more than eight");
  EXPECT_EQ(safe_utf8("a\xFF"
                      "b\xC3",
                      scratch),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

std::string annotated(std::string_view json) {
  ProtoWriter out;
  const bool fine = write_json_annotations(out, 4, json, [&](std::string_view key) { out.text(10, key); });
  return fine ? hex(out.view()) : "refused, " + std::to_string(out.size());
}

TEST(JsonAnnotations, ValuesHaveTheirTypes) {
  EXPECT_EQ(annotated(R"({"a": -1})"), "220e52016120ffffffffffffffffff01");
  EXPECT_EQ(annotated(R"({"a":true,"b":"x\u00e4\n"})"),
            "2205520161100122095201623204"
            "78c3a40a");
  EXPECT_EQ(annotated(R"({"a":[1,{}]})"),
            "220d520161"
            "6202"
            "2001"
            "6204"
            "32027b7d");
  EXPECT_EQ(annotated(R"({"a":{"b":null}})"),
            "220e520161"
            "5a09"
            "520162"
            "32046e756c6c");
  // Too large for 64 bits: no digit is lost.
  EXPECT_EQ(annotated(R"({"a":18446744073709551616})"),
            "2219520161"
            "3214" +
                hex("18446744073709551616"));
  EXPECT_EQ(annotated("{}"), "");
}

TEST(JsonAnnotations, NothingIsWrittenOfWhatIsNoObject) {
  for (const char* json :
       {"", "[1]", "{\"a\":1", "{\"a\":1}x", "{\"a\":}", "{\"a\":1,}", "{\"a\":\"\\u12\"}", "{\"a\":1x}"})
    EXPECT_EQ(annotated(json), "refused, 0") << json;
  std::string deep = "{\"a\":";
  for (int i = 0; i < 1000; i++) deep += '[';
  EXPECT_EQ(annotated(deep), "refused, 0");
}

}  // namespace
}  // namespace nl::exports
