// The door of the operations, over the whole registry: what a declaration says is refused, is refused. A new
// operation is tested without a line here.

#include "ops/door.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/json_schema.h"

namespace nl::ops {
namespace {

using nlohmann::json;

Context master() {
  Context context;
  context.ledger_folder = testing::TempDir() + "neurolens-door-nobody-opens-this";
  context.face = Face::kCli;
  context.may = Effect::kExec;
  context.host_paths = true;
  return context;
}

/// Lets nothing through; what it was asked is kept.
struct Gatekeeper {
  json seen = nullptr;

  Context context() {
    Context made = master();
    made.authorise = [this](const Operation&, const json& parameters) -> Result<void> {
      seen = parameters;
      return Error{ErrorCode::kConflict, "the gatekeeper"};
    };
    return made;
  }
};

json example_of(const Operation& operation) {
  return json::parse(operation.example);
}

const json& properties_of(const Operation& operation) {
  return parameters_schema(operation)["properties"];
}

void expect_refused(const Operation& operation, const json& parameters, Context context, ErrorCode code,
                    const std::string& part) {
  const auto outcome = call(operation.name, parameters, context);
  const std::string what = std::string(operation.name) + " " + parameters.dump();
  ASSERT_FALSE(outcome) << what;
  EXPECT_STREQ(error_code_name(outcome.error().code), error_code_name(code))
      << what << outcome.error().message;
  EXPECT_NE(outcome.error().message.find(part), std::string::npos) << what << ": " << outcome.error().message;
}

json of_wrong_type(const json& property) {
  return property["type"] == "string" || property["type"] == "array" ? json(7) : json("seven");
}

json of_right_type(const json& property) {
  if (property["type"] == "array") return json::array({"x"});
  return property["type"] == "integer" ? property.value("minimum", json(1)) : json("x");
}

class EveryOperation : public testing::TestWithParam<const Operation*> {
 protected:
  const Operation& operation() const { return *GetParam(); }
};

TEST_P(EveryOperation, HasAnExampleThatFollowsItsSchema) {
  Gatekeeper gatekeeper;
  expect_refused(operation(), example_of(operation()), gatekeeper.context(), ErrorCode::kConflict,
                 "gatekeeper");
}

TEST_P(EveryOperation, RefusesAWrongType) {
  for (const auto& [name, property] : properties_of(operation()).items()) {
    json parameters = example_of(operation());
    parameters[name] = of_wrong_type(property);
    expect_refused(operation(), parameters, master(), ErrorCode::kBadInput, "/" + name);
    if (property["type"] != "array") continue;
    parameters[name] = json::array({of_wrong_type(property["items"])});
    expect_refused(operation(), parameters, master(), ErrorCode::kBadInput, "/" + name + "/0");
  }
}

TEST_P(EveryOperation, RefusesWhatIsOutOfRange) {
  for (const auto& [name, property] : properties_of(operation()).items()) {
    json parameters = example_of(operation());
    for (const auto& [key, step] : {std::pair{"minimum", -1}, std::pair{"maximum", 1}}) {
      if (!property.contains(key)) continue;
      parameters[name] = property[key].get<int64_t>() + step;
      expect_refused(operation(), parameters, master(), ErrorCode::kBadInput, "/" + name);
    }
    if (!property.contains("enum")) continue;
    parameters[name] = "none of these";
    expect_refused(operation(), parameters, master(), ErrorCode::kBadInput, "/" + name);
  }
}

TEST_P(EveryOperation, RefusesAMissingKey) {
  for (const auto& name : parameters_schema(operation()).value("required", json::array())) {
    json parameters = example_of(operation());
    parameters.erase(name.get<std::string>());
    expect_refused(operation(), parameters, master(), ErrorCode::kBadInput, name);
  }
}

TEST_P(EveryOperation, RefusesAnUnknownKey) {
  json parameters = example_of(operation());
  parameters["no_such_key"] = 1;
  expect_refused(operation(), parameters, master(), ErrorCode::kBadInput, "/no_such_key");
}

TEST_P(EveryOperation, RefusesParametersThatAreNoObject) {
  expect_refused(operation(), json::array(), master(), ErrorCode::kBadInput, "parameters of");
  expect_refused(operation(), nullptr, master(), ErrorCode::kBadInput, "parameters of");
}

TEST_P(EveryOperation, RefusesAHostPathWhereNoneIsAllowed) {
  Context context = master();
  context.host_paths = false;
  for (const auto& [name, property] : properties_of(operation()).items()) {
    if (!property.contains("x-host-path")) continue;
    json parameters = example_of(operation());
    parameters[name] = of_right_type(property);
    const json& mark = property["x-host-path"];
    if (mark.is_object()) parameters.update(mark);
    expect_refused(operation(), parameters, context, ErrorCode::kPermission, "files on this machine");
  }
}

TEST_P(EveryOperation, RefusesAnEffectWithoutTheRight) {
  Context context = master();
  const auto refuse_below = [&](Effect needed, const json& parameters) {
    for (const Effect may : {Effect::kRead, Effect::kWrite}) {
      context.may = may;
      if (may < needed) expect_refused(operation(), parameters, context, ErrorCode::kPermission, "");
    }
  };
  refuse_below(operation().effect, example_of(operation()));
  for (const auto& [name, property] : properties_of(operation()).items()) {
    if (!property.contains("x-effect")) continue;
    json parameters = example_of(operation());
    parameters[name] = of_right_type(property);
    refuse_below(Effect::kWrite, parameters);
  }
}

TEST_P(EveryOperation, IsOfferedByItsFacesAlone) {
  const Reach& reach = operation().reach;
  for (const auto& [face, offered] : {std::pair{Face::kCli, reach.cli}, std::pair{Face::kHttp, reach.http},
                                      std::pair{Face::kMcp, reach.mcp}}) {
    Gatekeeper gatekeeper;
    Context context = gatekeeper.context();
    context.face = face;
    expect_refused(operation(), example_of(operation()), context,
                   offered ? ErrorCode::kConflict : ErrorCode::kPermission,
                   offered ? "gatekeeper" : "not offered");
  }
}

TEST_P(EveryOperation, NeverRunsProgramsOrWritesFilesOverHttp) {
  if (!operation().reach.http) return;
  EXPECT_NE(operation().effect, Effect::kExec);
}

TEST_P(EveryOperation, GetsTheDefaultsOfItsSchema) {
  Gatekeeper gatekeeper;
  Context context = gatekeeper.context();
  const json given = example_of(operation());
  ASSERT_FALSE(call(operation().name, given, context));
  json expected = given;
  for (const auto& [name, property] : properties_of(operation()).items()) {
    if (property.contains("default") && !given.contains(name)) expected[name] = property["default"];
  }
  EXPECT_EQ(gatekeeper.seen, expected);
}

/// What the table of marks in operation.h does not have is a slip.
TEST_P(EveryOperation, HasNoMarkThatNobodyKnows) {
  const std::set<std::string> known = {"x-own-default",    "x-run",        "x-host-path", "x-upload",
                                       "x-effect",         "x-positional", "x-short",     "x-many",
                                       "x-optional-value", "x-rare",       "x-prose",     "x-behind-dashes"};
  for (const auto& [name, property] : properties_of(operation()).items()) {
    for (const auto& [key, value] : property.items())
      EXPECT_TRUE(!key.starts_with("x-") || known.contains(key)) << name << ": " << key;
  }
}

INSTANTIATE_TEST_SUITE_P(Door, EveryOperation, testing::ValuesIn(all_operations()),
                         [](const auto& tested) { return std::string(tested.param->name); });

TEST(Door, KnowsNoOtherOperation) {
  Context context = master();
  const auto outcome = call("no_such_operation", json::object(), context);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kNotFound);
}

TEST(Door, TurnsExceptionsIntoErrors) {
  Context context = master();
  context.authorise = [](const Operation&, const json&) -> Result<void> { throw std::runtime_error("oh"); };
  const auto failed = call("metrics", json::object(), context);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInternal);
  EXPECT_NE(failed.error().message.find("oh"), std::string::npos);

  context.authorise = [](const Operation&, const json&) -> Result<void> { throw std::bad_alloc(); };
  const auto full = call("metrics", json::object(), context);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kLimit);

  context.authorise = [](const Operation&, const json&) -> Result<void> { throw 7; };
  const auto odd = call("metrics", json::object(), context);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, ErrorCode::kInternal);
}

TEST(Door, NamesAllFaultsAtOnce) {
  Context context = master();
  const auto outcome = call("show", {{"top", 0}, {"run", 7}}, context);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("/top"), std::string::npos) << outcome.error().message;
  EXPECT_NE(outcome.error().message.find("/run"), std::string::npos) << outcome.error().message;
}

TEST(Door, MayBeUsedByManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> answers = 0;
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&] {
      Context context = master();
      for (const Operation* operation : all_operations()) {
        Gatekeeper gatekeeper;
        Context own = gatekeeper.context();
        answers += !call(operation->name, example_of(*operation), own) && !gatekeeper.seen.is_null();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(answers, 8 * static_cast<int>(all_operations().size()));
}

}  // namespace
}  // namespace nl::ops
