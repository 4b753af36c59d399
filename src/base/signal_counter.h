#pragma once
// SignalCounter: how often a signal came to this process since the object was made. A signal reaches the
// whole process, so all objects see it; the first one installs the handler, the last one puts back what was
// there before. Any thread may make one and ask.

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
