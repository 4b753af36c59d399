#pragma once
// Recordings written by hand: one line a record, for cases and tests that need exact ones.
//
//   process NUMBER PID MONOTONIC_NS UNIX_NS BOUND_NS PROGRAM   name PROCESS ID TEXT [DOMAIN]
//   thread PROCESS NUMBER THREAD_ID NAME                       the records behind it are of this thread
//   begin ID NS · end ID NS · lane_begin ID NS LANE · lane_end ID NS LANE · counter ID NS VALUE · mark ID NS
//   [JSON] losses PROCESS REASON COUNT ...                            finish

#include <string>
#include <string_view>

namespace nl::golden {

std::string recording_of(std::string_view text);

}  // namespace nl::golden
