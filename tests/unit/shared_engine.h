#pragma once
// One engine for tests that only parse. It is closed before main ends: the engine uses thread-local memory,
// which is gone when objects of static duration are destroyed.

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "store/engine.h"

namespace nl {

class SharedEngine : public testing::Environment {
 public:
  static store::Connection& connection() {
    if (!engine_) {
      engine_ = store::Engine::open({}).value();
      connection_.emplace(engine_->connect().value());
    }
    return *connection_;
  }
  void TearDown() override {
    connection_.reset();
    engine_.reset();
  }

 private:
  inline static std::shared_ptr<store::Engine> engine_ = {};
  inline static std::optional<store::Connection> connection_ = {};
};

inline testing::Environment* const kSharedEngine = testing::AddGlobalTestEnvironment(new SharedEngine);

}  // namespace nl
