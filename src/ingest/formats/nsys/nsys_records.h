#pragma once
// Reads the record tables of an nsys export. Each record becomes a row of ours, is folded into another one,
// or is dropped with a reason, and all three are counted. Tables and columns are looked up by name, because
// both differ between versions and a table without rows is missing altogether.

#include <map>
#include <set>

#include "ingest/formats/nsys/nsys_rows.h"

namespace nl::ingest {

/// Which times can be true: those of the session, with some room.
struct NsysSession {
  int64_t first_ns = -1'000'000'000'000'000'000;
  int64_t last_ns = 1'000'000'000'000'000'000;

  bool holds(int64_t time) const { return time >= first_ns && time <= last_ns; }
};

/// (process, device as the source numbers it) -> number that is the same for all processes. Empty where the
/// source's own number will do.
using NsysDeviceNumbers = std::map<std::pair<int64_t, int64_t>, int64_t>;

struct NsysFacts {
  std::set<int64_t> devices;  ///< numbers of devices that did some work
};

/// All records, in a fixed order of tables. The tracks are left to be written.
Result<void> read_nsys_records(NsysRows& rows, const NsysSession& session, const NsysDeviceNumbers& numbers,
                               NsysFacts& facts);

/// True for tables whose rows are records of the run rather than facts about it.
bool is_nsys_record_table(const SqliteTable& table);

}  // namespace nl::ingest
