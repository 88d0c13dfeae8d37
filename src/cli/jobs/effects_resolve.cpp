// fenceline effects resolve: an operator says what became of an effect in doubt.
#include <algorithm>

#include "cli/frame/acts.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/line_reader.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "cli/jobs/commands.hpp"

namespace fenceline::cli {
namespace {

Result<std::string> result_from(const Invocation& invocation) {
  if (const auto text = invocation.value("--result")) return *text;
  const auto file = invocation.value("--result-file");
  if (!file) return "";
  Result<std::string> bytes = read_file(*file, kEffectResultBytesMax);
  if (!bytes && bytes.error().code == Code::invalid)
    return fail(Code::invalid, "the result in '" + printable(*file, 200) + "' is too large; use at most 1 MiB");
  return bytes;
}

Result<ResolveEffectRequest> resolve_request(const Invocation& invocation) {
  const bool done = invocation.has("--done");
  if (done == invocation.has("--none"))
    return std::unexpected(usage_error("say whether it happened: pass --done or --none"));
  if (invocation.has("--result") && invocation.has("--result-file"))
    return std::unexpected(usage_error("--result and --result-file exclude each other; pass one"));
  if (!done && (invocation.has("--result") || invocation.has("--result-file")))
    return std::unexpected(usage_error("an effect that did not happen has no result; omit --result, or use --done"));
  const std::string name = invocation.argument("NAME");
  if (const Result<void> ok = check_effect_name(name); !ok) return std::unexpected(ok.error());
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  Result<std::string> result = result_from(invocation);
  if (!result) return std::unexpected(result.error());
  return ResolveEffectRequest{
      .ns = invocation.ns, .name = name, .done = done, .result = std::move(*result), .act = *act};
}

// The effect as recorded. Errors: not_found.
Result<Effect> find_effect(Store& store, const Invocation& invocation, const JobId& job, const std::string& name) {
  const Result<std::optional<Job>> there = store.job(invocation.ns, job);
  if (!there) return std::unexpected(there.error());
  if (!*there) return std::unexpected(no_such_job(job, invocation.ns));
  EffectsRequest request{.ns = invocation.ns, .job = job, .limit = 1000};
  while (true) {
    const Result<EffectsReply> reply = store.effects(request);
    if (!reply) return std::unexpected(reply.error());
    const auto found = std::ranges::find(reply->effects, name, &Effect::name);
    if (found != reply->effects.end()) return *found;
    if (!reply->next)
      return fail(Code::not_found, "job " + to_string(job) + " has no effect " + name +
                                       "; see 'fenceline effects list --job " + to_string(job) + "'");
    request.after = *reply->next;
  }
}

// A refusal is not a fault of the store: its holder still runs (try later), or it is not in doubt.
Error refusal_of(const Effect& before, const Error& refused) {
  const bool has_remedy = refused.message.find("; ") != std::string::npos;
  return {before.state == EffectState::intent ? Code::held : Code::conflict,
          refused.message + (has_remedy ? "" : "; see 'fenceline effects list --job " + to_string(before.job) + "'")};
}

Result<int> run_effects_resolve(Invocation& invocation) {
  Result<ResolveEffectRequest> request = resolve_request(invocation);
  if (!request) return std::unexpected(request.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<JobId> id = find_id(invocation.argument("JOB"), invocation.ns, **store);
  if (!id) return std::unexpected(id.error());
  const Result<Effect> effect = find_effect(**store, invocation, *id, request->name);
  if (!effect) return std::unexpected(effect.error());
  request->job = *id;
  if (effect->state == EffectState::intent)
    request->call = effect->call;  // the doubt that was looked at, not a later one
  const Result<void> resolved = store->until_known(invocation.stop, [&] { return (*store)->resolve_effect(*request); });
  if (!resolved && resolved.error().code == Code::refused)
    return std::unexpected(refusal_of(*effect, resolved.error()));
  if (!resolved) return std::unexpected(resolved.error());
  const std::string state(to_string(request->done ? EffectState::done : EffectState::none));
  if (effect->state == EffectState::done && !request->result.empty())
    tell("fenceline: the effect was already done; its recorded result is kept");
  if (invocation.json) print_line(Json{{"job", to_string(*id)}, {"name", request->name}, {"state", state}}.dump());
  else print_line(to_string(*id) + " " + request->name + " " + state);
  return kExitOk;
}

}  // namespace

CommandSpec effects_resolve_command() {
  return {
      .name = "effects resolve",
      .summary = "Record whether a side effect in doubt happened",
      .details = "A job that waits for the answer then continues.",
      .arguments = {{.name = "JOB", .help = kIdHelp},
                    {.name = "NAME", .help = "the effect, as 'effects list' shows it"}},
      .options = with_act_options(
          {{"--done", "", "it happened: the job's next delivery gets the result and continues"},
           {"--none", "", "it did not happen: the job's next delivery does it"},
           {"--result", "TEXT", "with --done: output of the command; default empty"},
           {"--result-file", "FILE", "with --done: output of the command from a file, at most 1 MiB"}}),
      .sections = {{"Exit status",
                    {{"0", "resolved, now or before"},
                     {"65", "it is not in doubt: the opposite is recorded"},
                     {"66", "no such job or effect"},
                     {"75",
                      "its holder may still be running; wait until its worker has stopped or its lease has expired"}}}},
      .examples = {{"fenceline effects resolve $ID charge --done --result 'receipt 17'", "the charge happened"},
                   {"fenceline effects resolve $ID charge --none", "it did not happen: do it"}},
      .run = run_effects_resolve};
}

}  // namespace fenceline::cli
