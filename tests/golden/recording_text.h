#pragma once
// Recordings written by hand: one line a record, for cases and tests that need exact ones.
//
//   process NUMBER PID MONOTONIC_NS UNIX_NS BOUND_NS PROGRAM   name PROCESS ID TEXT [DOMAIN]
//   thread PROCESS NUMBER THREAD_ID NAME                       the records behind it are of this thread
//   samples PROCESS NUMBER THREAD_ID NAME                      the same for samples
//   sample NS STACK WEIGHT · sampling HZ WITH_KERNEL THROTTLED · module NUMBER PATH [BUILD_ID]
//   frame NUMBER MODULE ADDRESS · frame_name NUMBER TEXT · stack NUMBER FRAME...
//   begin ID NS [JSON] · end ID NS · lane_begin ID NS LANE · lane_end ID NS LANE · counter ID NS VALUE
//   mark ID NS [JSON] · range_start ID NS RANGE [JSON] · range_end 0 NS RANGE · thread_name ID NS THREAD_ID
//   kernel ID START END DEVICE CONTEXT STREAM CORRELATION [GRAPH NODE] · device ID NUMBER BYTES PROCESSORS
//   MAJOR copy START END DEVICE CONTEXT STREAM CORRELATION BYTES KIND FROM TO [IS_SET] sync START END TYPE
//   CONTEXT STREAM CORRELATION · call ID START END THREAD_ID CORRELATION RETURNED IS_DRIVER overhead START
//   END KIND THREAD_ID · gpu_clock MONOTONIC_NS CUPTI_NS BOUND_NS IS_OURS · notice PROCESS TEXT losses
//   PROCESS REASON COUNT ... · finish

#include <string>
#include <string_view>

namespace nl::golden {

std::string recording_of(std::string_view text);

}  // namespace nl::golden
