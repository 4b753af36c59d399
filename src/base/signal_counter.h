#pragma once
// SignalCounter: counts how often a signal reached this process since the object was made. A signal reaches
// the whole process, so all objects count it. The first object installs the handler and the last one restores
// the handler that was there before. Any thread may make one and read it.

#include <cstdint>

namespace nl {

class SignalCounter {
 public:
  explicit SignalCounter(int number);
  SignalCounter(const SignalCounter&) = delete;
  SignalCounter& operator=(const SignalCounter&) = delete;
  ~SignalCounter();

  uint64_t count() const;

 private:
  const int number_;
  uint64_t before_;
};

}  // namespace nl
