#include "model/pipeline.hpp"

#include <gtest/gtest.h>

namespace fenceline {
namespace {

using namespace std::chrono_literals;

PipelineSpec docs() {
  PipelineSpec spec{.name = "docs", .stages = {{.name = "ready"}, {.name = "review"}, {.name = "publish"}}};
  spec.stages[1].ttl = 10min;
  spec.stages[1].timeout = 30min;
  spec.stages[2].entry = {
      .kind = EntryKind::approval, .count = 1, .by = {"ana"}, .within = 48h, .then = EntryEnd::reject};
  return spec;
}

std::string pipeline_complaint(const PipelineSpec& spec) {
  const Result<void> ok = check_pipeline(spec);
  return ok ? "" : ok.error().message;
}

TEST(Pipeline, AsTextAndBackIsTheSame) {
  PipelineSpec spec = docs();
  spec.loops = 7;
  spec.critical = true;
  spec.stages[0].moves = std::vector<std::string>{"publish"};
  spec.stages[1].attempts = 3;
  spec.stages[1].concurrency = 2;
  spec.stages[1].input = StageInput::previous;
  spec.stages[1].entry = {.kind = EntryKind::check, .command = {"./ok.sh", "a b"}, .every = 5s};
  const Result<PipelineSpec> back = parse_pipeline(pipeline_text(spec));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, spec);
  EXPECT_EQ(pipeline_text(*back), pipeline_text(spec));
}

TEST(Pipeline, TextOfANewerVersionOrOfSomethingElseIsRefused) {
  std::string text = pipeline_text(docs());
  text.replace(text.find("\"version\":1"), 11, "\"version\":2");
  EXPECT_NE(parse_pipeline(text).error().message.find("newer"), std::string::npos);
  EXPECT_FALSE(parse_pipeline("[]"));
  EXPECT_FALSE(parse_pipeline("{"));
  EXPECT_NE(parse_pipeline(R"({"version":1,"name":"a","loops":3,"critical":false})").error().message.find("'stages'"),
            std::string::npos);
  EXPECT_NE(parse_pipeline(R"({"version":1,"name":"a","loops":3,"critical":false,"stages":[{"name":"x"}]})")
                .error()
                .message.find("'ttl'"),
            std::string::npos);
}

TEST(Pipeline, WhatCannotBeSaysWhy) {
  EXPECT_EQ(pipeline_complaint(docs()), "");
  const auto with = [](auto change) {
    PipelineSpec spec = docs();
    change(spec);
    return pipeline_complaint(spec);
  };
  EXPECT_NE(with([](PipelineSpec& spec) { spec.stages.clear(); }).find("at least one stage"), std::string::npos);
  EXPECT_NE(with([](PipelineSpec& spec) { spec.stages[1].name = "ready"; }).find("twice"), std::string::npos);
  EXPECT_NE(with([](PipelineSpec& spec) { spec.stages[1].name = "a:b"; }).find("':'"), std::string::npos);
  EXPECT_NE(with([](PipelineSpec& spec) { spec.stages[1].name = std::string(61, 'x'); }).find("60 bytes"),
            std::string::npos);
  EXPECT_NE(with([](PipelineSpec& spec) { spec.stages[0].entry.kind = EntryKind::approval; }).find("first one"),
            std::string::npos);
  EXPECT_NE(with([](PipelineSpec& spec) { spec.stages[0].input = StageInput::previous; }).find("first stage"),
            std::string::npos);
  EXPECT_NE(with([](PipelineSpec& spec) { spec.stages[2].entry.count = 2; }).find("only 1 may"), std::string::npos);
  EXPECT_NE(with([](PipelineSpec& spec) {
              spec.stages[2].entry.by = {"ana", "ana"};
            }).find("twice"),
            std::string::npos);
  for (const char* const person : {" ana", "ana ", " "})
    EXPECT_NE(with([&](PipelineSpec& spec) { spec.stages[2].entry.by = {person}; }).find("begins or ends with spaces"),
              std::string::npos)
        << person;
  EXPECT_NE(with([](PipelineSpec& spec) { spec.stages[2].entry.within = 1ms; }).find("1s to 366d"), std::string::npos);
  EXPECT_NE(with([](PipelineSpec& spec) { spec.stages[1].entry.kind = EntryKind::check; }).find("no command"),
            std::string::npos);
  EXPECT_NE(with([](PipelineSpec& spec) {
              spec.stages[1].moves = std::vector<std::string>{"nowhere"};
            }).find("not a stage of this pipeline"),
            std::string::npos);
  EXPECT_NE(with([](PipelineSpec& spec) { spec.stages[1].ttl = 48h; }).find("stage review: ttl"), std::string::npos);
  EXPECT_NE(with([](PipelineSpec& spec) { spec.stages[1].attempts = 1001; }).find("attempts 1001"), std::string::npos);
  EXPECT_NE(with([](PipelineSpec& spec) { spec.loops = -1; }).find("loops -1"), std::string::npos);
}

TEST(Pipeline, TheFirstStageHasNoNameInAStoreAndAnEntryHasOne) {
  const PipelineSpec spec = docs();
  EXPECT_EQ(stored_stage(spec, 0), "");
  EXPECT_EQ(stored_stage(spec, 2), "publish");
  EXPECT_EQ(stored_entry(spec, 2), "gate:publish");
  EXPECT_EQ(position_of(spec, ""), (Position{0, false}));
  EXPECT_EQ(position_of(spec, "publish"), (Position{2, false}));
  EXPECT_EQ(position_of(spec, "gate:publish"), (Position{2, true}));
  EXPECT_EQ(position_of(spec, "gone"), std::nullopt);
  EXPECT_EQ(position_of(spec, "ready"), std::nullopt) << "nobody claims it there";
  EXPECT_EQ(position_of(spec, "gate:ready"), std::nullopt);
  EXPECT_EQ(stage_words(spec, ""), "ready");
  EXPECT_EQ(stage_words(spec, "gate:publish"), "entry of publish");
  EXPECT_EQ(stage_words(spec, "gone"), "gone");
}

TEST(Pipeline, PeopleMoveToAnyEarlierStageAndTheNextUnlessTheFileSaysOtherwise) {
  PipelineSpec spec = docs();
  EXPECT_EQ(moves_words(spec, {1, false}), "ready, publish");
  EXPECT_EQ(moves_words(spec, {0, false}), "review");
  EXPECT_EQ(moves_words(spec, {2, true}), "ready, review")
      << "while it waits to be let in, it is still where it came from";
  spec.stages[0].moves = std::vector<std::string>{"publish"};
  EXPECT_EQ(moves_words(spec, {0, false}), "publish");
  spec.stages[1].moves.emplace();
  EXPECT_EQ(moves_words(spec, {1, false}), "");
}

TEST(Pipeline, EntriesInWords) {
  EXPECT_EQ(entry_words({}), "automatic");
  EXPECT_EQ(entry_words(docs().stages[2].entry), "approval by ana, within 2d, then reject");
  EXPECT_EQ(entry_words({.kind = EntryKind::approval, .count = 2, .by = {"a", "b", "c"}}),
            "approval by a, b or c, 2 of them");
  EXPECT_EQ(entry_words({.kind = EntryKind::check, .command = {"./ok", "x"}, .every = 30s}), "check ./ok x every 30s");
}

}  // namespace
}  // namespace fenceline
