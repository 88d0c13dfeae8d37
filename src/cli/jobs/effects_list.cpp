// fenceline effects list: side effects of jobs, and those in doubt.
#include <limits>

#include "base/utf8.hpp"
#include "cli/frame/acts.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/pages.hpp"
#include "cli/frame/text.hpp"
#include "cli/jobs/commands.hpp"

namespace fenceline::cli {
namespace {

std::string doubt_of(const Effect& effect) { return effect.held ? "job waits" : effect.in_doubt ? "in doubt" : ""; }

Json effect_as_json(const Effect& effect, bool with_result) {
  Json out{{"job", to_string(effect.job)},
           {"name", effect.name},
           {"state", to_string(effect.state)},
           {"in_doubt", effect.in_doubt},
           {"job_waits", effect.held},
           {"policy", to_string(effect.policy)},
           {"doubts", effect.doubts},
           {"fence", effect.fence},
           {"actor", effect.actor},
           {"key", idempotency_key(effect.job, effect.name)},
           {"began_at", format_time(effect.began_at)},
           {"ended_at", effect.ended_at ? Json(format_time(*effect.ended_at)) : Json(nullptr)},
           {"exit_status", effect.exit_status ? Json(*effect.exit_status) : Json(nullptr)},
           {"resolved_by", effect.resolved_by.empty() ? Json(nullptr) : Json(effect.resolved_by)}};
  if (with_result && effect.state == EffectState::done)
    out["result"] = is_valid_utf8(effect.result) ? Json(effect.result) : Json{{"base64", base64(effect.result)}};
  else if (with_result) out["result"] = nullptr;
  return out;
}

Table effects_table(const std::vector<Effect>& effects, WallTime now) {
  Table table{{{.name = "job", .whole = true},
               {.name = "effect", .whole = true},
               {"state"},
               {"doubt"},
               {.name = "policy", .spare = true},
               {.name = "doubts", .right = true, .spare = true},
               {.name = "began", .spare = true},
               {.name = "ended", .wide_only = true},
               {.name = "status", .wide_only = true, .right = true},
               {.name = "fence", .wide_only = true},
               {.name = "resolved_by", .spare = true}},
              {}};
  for (const Effect& effect : effects) {
    const std::string began = stdout_is_terminal() ? short_time(effect.began_at, now) : format_time(effect.began_at);
    table.rows.push_back(
        {id_cell(effect.job), effect.name,
         Cell(std::string(to_string(effect.state)), effect.state == EffectState::done ? Tone::good : Tone::plain),
         Cell(doubt_of(effect), Tone::warning), std::string(to_string(effect.policy)), std::to_string(effect.doubts),
         began, effect.ended_at ? format_time(*effect.ended_at) : "",
         effect.exit_status ? std::to_string(*effect.exit_status) : "", std::to_string(effect.fence),
         effect.resolved_by});
  }
  return table;
}

Result<EffectsRequest> effects_request(const Invocation& invocation) {
  const Result<int> limit = page_limit(invocation);
  if (!limit) return std::unexpected(limit.error());
  if (invocation.has("--result") && !invocation.json)
    return std::unexpected(usage_error("--result needs --json: a result may be any bytes"));
  const Result<std::int64_t> after = invocation.number("--after", 0, 0, std::numeric_limits<std::int64_t>::max());
  if (!after) return std::unexpected(after.error());
  return EffectsRequest{.ns = invocation.ns,
                        .in_doubt = invocation.has("--in-doubt"),
                        .after = *after,
                        .limit = *limit,
                        .with_result = invocation.has("--result")};
}

Result<int> run_effects_list(Invocation& invocation) {
  Result<EffectsRequest> request = effects_request(invocation);
  if (!request) return std::unexpected(request.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  if (const auto text = invocation.value("--job")) {
    const Result<JobId> id = find_id(*text, invocation.ns, **store);
    if (!id) return std::unexpected(id.error());
    const Result<std::optional<Job>> job = (*store)->job(invocation.ns, *id);
    if (!job) return std::unexpected(job.error());
    if (!*job) return std::unexpected(no_such_job(*id, invocation.ns));
    request->job = *id;
  }
  const bool some = invocation.has("--job") || request->in_doubt || request->after != decltype(request->after){};
  const auto none = [&] { return std::string(some ? "no effects match" : "no effects"); };
  return print_pages(
      invocation, {.list = "effects", .none = none}, request->after, [&] { return (*store)->effects(*request); },
      &EffectsReply::effects,
      [&](const std::vector<Effect>& effects) { return effects_table(effects, invocation.runtime->wall_now()); },
      [&](const Effect& effect) {
        return effect_as_json(effect, invocation.has("--result")).dump(-1, ' ', false, Json::error_handler_t::replace);
      });
}

}  // namespace

CommandSpec effects_list_command() {
  return {.name = "effects list",
          .summary = "List recorded side effects and those in doubt",
          .details = "An effect is in doubt when nobody knows whether it happened.",
          .options = {{"--job", "ID", "only effects of this job: its id, or the last 8 characters of it"},
                      {"--in-doubt", "", "only effects in doubt: begun, and their holder is gone"},
                      {"--result", "", "with --json: include the results"},
                      {"--limit", "N", "page size, 1 to 1000; default 100"},
                      {"--after", "CURSOR", "continue after a page: its 'next'"},
                      {"--all", "", "all pages"}},
          .sections = {{"Columns",
                        {{"state", "none: it did not happen; intent: it was begun; done: it happened"},
                         {"doubt",
                          "in doubt: it was begun, and its holder is gone; job waits: and its job waits for 'fenceline "
                          "effects resolve'"},
                         {"policy", "what the handler chose for effects in doubt: hold, repeat or probe"},
                         {"doubts", "how often it was repeated while in doubt"}}}},
          .examples = {{"fenceline effects list --in-doubt", "effects that an operator must resolve"},
                       {"fenceline effects list --job $ID --json --result | jq .effects", "all effects of a job"}},
          .run = run_effects_list};
}

}  // namespace fenceline::cli
