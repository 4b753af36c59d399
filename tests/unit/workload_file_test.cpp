#include "ops/capture/workload_file.h"

#include <gtest/gtest.h>

namespace nl::ops {
namespace {

using Words = std::vector<std::string>;

Workload parsed(const std::string& text, const Words& overrides = {}) {
  auto workload = parse_workload(text, "w.yaml", overrides);
  EXPECT_TRUE(workload) << workload.error().message;
  return workload ? *workload : Workload();
}

constexpr char kWhole[] = R"(
command: [python3, run.py, --batch, "{batch}", "{not a value}", "--json={\"a\": {batch}}"]
folder: sub
environment: {OMP_NUM_THREADS: 4, RUN_NAME: "b{batch}"}
values: {batch: 8, length: 128}
labels: {model: llama, batch: "{batch}"}
range: LLM@decode
phases: {prefill: LLM@prefill}
inputs: [prompts.json]
)";

TEST(WorkloadFile, ValuesAreFilledInEverywhere) {
  const Workload workload = parsed(kWhole);
  EXPECT_EQ(workload.command,
            (Words{"python3", "run.py", "--batch", "8", "{not a value}", R"(--json={"a": 8})"}));
  EXPECT_EQ(workload.folder, "sub");
  EXPECT_EQ(workload.environment, (Words{"OMP_NUM_THREADS=4", "RUN_NAME=b8"}));
  EXPECT_EQ(workload.labels, (std::map<std::string, std::string>{{"model", "llama"}, {"batch", "8"}}));
  EXPECT_EQ(*workload.range, (capture::NvtxRange{"LLM", "decode"}));
  EXPECT_EQ(workload.phases, Words{"prefill=LLM@prefill"});
  EXPECT_EQ(workload.inputs, Words{"prompts.json"});
}

TEST(WorkloadFile, OverridesReplaceValuesOrArePassedOn) {
  const Workload workload = parsed(kWhole, {"batch=16", "optimizer.lr=1e-3", "note=a=b"});
  EXPECT_EQ(workload.command[3], "16");
  EXPECT_EQ(workload.labels.at("batch"), "16");
  EXPECT_EQ(workload.values.at("length"), "128");
  EXPECT_EQ(Words(workload.command.end() - 2, workload.command.end()),
            (Words{"optimizer.lr=1e-3", "note=a=b"}));
}

TEST(WorkloadFile, WhatDeepIsToDo) {
  const Workload workload = parsed(
      "{command: [run], values: {n: 7}, mode: light, top: '{n}', nsys: host, ncu: minimal, metrics: "
      "[dram__bytes.sum], "
      "allow: {seeds: drawn by the device}}");
  EXPECT_EQ(workload.mode, "light");
  EXPECT_EQ(workload.top, 7);
  EXPECT_EQ(workload.nsys, "host");
  EXPECT_EQ(workload.ncu, "minimal");
  EXPECT_EQ(workload.metrics, Words{"dram__bytes.sum"});
  EXPECT_EQ(workload.allow.at("seeds"), "drawn by the device");
}

TEST(WorkloadFile, TurnsAreValuesAndVariables) {
  const std::string text = "{command: [run, '{iterations}', '{warm_up}'], values: {iterations: 10}}";
  auto workload = parse_workload(text, "w.yaml", {"iterations=20"}, {"warm_up=3"});
  ASSERT_TRUE(workload && pass_turns_on(*workload));
  EXPECT_EQ(workload->command, (Words{"run", "20", "3"}));
  EXPECT_EQ(workload->environment, (Words{"NEUROLENS_ITERATIONS=20", "NEUROLENS_WARM_UP=3"}));
  for (const char* bad : {"iterations=0", "iterations=many", "iterations=", "warm_up=-1", "warm_up=1.5"}) {
    auto wrong = parse_workload(text, "w.yaml", {}, {bad});
    ASSERT_TRUE(wrong);
    EXPECT_FALSE(pass_turns_on(*wrong)) << bad;
  }
}

TEST(WorkloadFile, AValueIsNeverReadAgain) {
  const Workload workload = parsed("{command: [run, '{a}'], values: {a: 1, b: 2}}", {"a={b}"});
  EXPECT_EQ(workload.command[1], "{b}");
}

TEST(WorkloadFile, FaultsNameTheLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "a mapping"},
      {"[run]", "a mapping"},
      {"labels: {model: x}", "no command"},
      {"command: run", "must be a list"},
      {"command: []", "no command"},
      {"command:\n  - [a]", "w.yaml:2: an item of command must be a text"},
      {"command: [run]\nmodel: x", "w.yaml:2: unknown key: model"},
      {"command: [run]\nmode: quick", "w.yaml:2: mode is"},
      {"command: [run]\ntop: 0", "w.yaml:2: top is"},
      {"command: [run]\nmetrics: ['a,b']", "w.yaml:2: not the name of a counter"},
      {"command: [run]\nrange: 'A@'", "w.yaml:2: not a range"},
      {"command: [run]\nphases: {warm_up: x}", "w.yaml:2: phases are"},
      {"command: [run]\nenvironment: {'A=B': x}", "w.yaml:2: not a variable"},
      {"command: [run]\nlabels: {Model: x}", "w.yaml:2"},
      {"command: [run]\nvalues: {'a b': x}", "w.yaml:2: not a valid name for a value"},
      {"command: [run]\nfolder:", "w.yaml:2: folder has no value"},
      {"command: [run, \"a\\0b\"]", "zero byte"},
      {"command: &a [run]\ninputs: *a", "not allowed"},
  };
  for (const auto& [text, words] : cases) {
    const auto workload = parse_workload(text, "w.yaml", {});
    ASSERT_FALSE(workload) << text;
    EXPECT_EQ(workload.error().code, ErrorCode::kBadInput) << text;
    EXPECT_NE(workload.error().message.find(words), std::string::npos)
        << text << " -> " << workload.error().message;
  }
  const auto unclear = parse_workload("command: [run]", "w.yaml", {"batch"});
  EXPECT_TRUE(!unclear && unclear.error().code == ErrorCode::kBadInput);
}

}  // namespace
}  // namespace nl::ops
