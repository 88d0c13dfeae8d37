// Pipelines for C++ programs: items through stages and gates (docs/pipelines.md).
//
//   fenceline::PipelineSpec docs{.name = "docs", .stages = {{.name = "write"}, {.name = "publish"}}};
//   docs.stages[1].gate = {.kind = fenceline::GateKind::approval, .count = 1, .by = {"ana"}};
//   client->pipelines().apply(docs, false, {.actor = "deploy", .reason = ""});
//   client->work({.queues = {"docs"}, .stage = "write"}, handler);   // done moves the item on
//   client->items().approve(id, {}, {.actor = "ana", .reason = "read it twice"});
//
// What a pipeline may say is a PipelineSpec (model/pipeline.hpp); what can be done to one, PipelineActs
// (services/pipeline_acts.hpp); to an item, ItemActs (services/item_acts.hpp).
#pragma once

#include "model/pipeline.hpp"
#include "services/item_acts.hpp"
#include "services/pipeline_acts.hpp"
