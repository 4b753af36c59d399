#pragma once
// MachineLock: the right to use this machine, or one of its devices, alone or beside others. Everybody who
// measures on the machine takes it, whichever user they are, so that two measurements do not disturb each
// other. It is a NamedLock on a file of the machine; it ends with its process. It binds only those who ask
// for it.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "lab/machine/named_lock.h"

namespace nl::lab {

inline constexpr const char* kWholeMachine = "machine";
/// Names the folder of the locks, for tests.
inline constexpr const char* kLocksVariable = "NEUROLENS_LOCKS";
/// The process that holds the machine alone for whoever sees this variable: a job of the queue need not ask
/// again.
inline constexpr const char* kHolderVariable = "NEUROLENS_MACHINE_HOLDER";

class MachineLock {
 public:
  /// `device`: kWholeMachine, or a name such as "gpu0", which also shares the machine, so that whoever uses
  /// the whole machine alone uses its devices alone. `conflict` names the holder when the time is over.
  static Result<MachineLock> take(const Environment& surroundings, const std::string& device, Use use,
                                  const std::string& purpose, std::chrono::milliseconds wait);
  /// Who has the device or the machine in use now, as far as they said; absent if nobody has.
  static std::optional<LockHolder> holder(const Environment& surroundings, const std::string& device);

 private:
  std::vector<NamedLock> locks_;
};

/// Letters, digits, '-' and '_', at most 40.
bool is_device_name(const std::string& name);

}  // namespace nl::lab
