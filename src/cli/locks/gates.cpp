#include "cli/locks/gates.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/duration_text.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "model/job.hpp"
#include "store/store_findings.hpp"

namespace fenceline::cli {
namespace {

constexpr std::string_view kCurrent = "-";
constexpr std::string_view kGroup = "group:";  // then QUEUE/GROUP: a queue has no slash in its name
constexpr Duration kGateWaitDefault = std::chrono::seconds{10};

Result<std::string> typed_or_current(const Invocation& invocation, const char* argument, const char* variable) {
  const std::string typed = invocation.argument(argument);
  if (typed != kCurrent) return typed;
  if (const std::optional<std::string> value = from_environment(variable)) return *value;
  return std::unexpected(usage_error(std::string(variable) + " is not set, so - has no meaning; name the " + argument +
                                     ", or run this under 'fenceline work' or 'fenceline lock'"));
}

// Whose gate "-" is: that of a lock held in a handler, since FENCELINE_FENCE is its; else that of the job's group. A
// group belongs to its queue: fences of groups of the same name in two queues cannot be compared.
Result<std::string> current_resource() {
  if (const auto lock = from_environment("FENCELINE_LOCK")) return *lock;
  const std::optional<std::string> job = from_environment("FENCELINE_JOB");
  if (!job)
    return std::unexpected(
        usage_error("neither FENCELINE_LOCK nor FENCELINE_JOB is set, so - means nothing here; name the RESOURCE, or "
                    "run it under fenceline work or fenceline lock"));
  const std::string queue = from_environment("FENCELINE_QUEUE").value_or("");
  if (const auto group = from_environment("FENCELINE_GROUP")) return std::string(kGroup) + queue + "/" + *group;
  return std::unexpected(usage_error(
      "job " + printable(*job, 40) +
      " has no group, and fences of jobs without a common group do not compare; enqueue the jobs that write one target "
      "with --group NAME, or name \"$FENCELINE_JOB\" as the RESOURCE of a target that only this job writes"));
}

Result<Fence> gate_fence(const Invocation& invocation) {
  const Result<std::string> text = typed_or_current(invocation, "FENCE", "FENCELINE_FENCE");
  if (!text) return std::unexpected(text.error());
  Fence fence = 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), fence);
  if (problem != std::errc{} || end != text->data() + text->size() || fence < 1 || fence > kFenceMax)
    return std::unexpected(usage_error("'" + printable(*text, 40) + "' is not a fence; use a whole number from 1 to " +
                                       std::to_string(kFenceMax) + ", such as FENCELINE_FENCE"));
  return fence;
}

}  // namespace

OptionSpec gates_option() {
  return {"--gates", "DIR", "folder of the gates; default the store's file name with '-gates'"};
}

OptionSpec gate_wait_option() {
  return {"--wait", "D",
          "how long to wait while another process holds the gate, 0s to 24h; default 10s; then exit with 75"};
}

Result<std::string> gate_resource(const Invocation& invocation) {
  if (invocation.argument("RESOURCE") == kCurrent) {
    const Result<std::string> resource = current_resource();
    if (!resource) return resource;
    if (auto ok = check_gate_resource(*resource); !ok) return std::unexpected(ok.error());
    return resource;
  }
  const std::string resource = invocation.argument("RESOURCE");
  if (resource.starts_with(kGroup) && resource.find('/') != std::string::npos) {
    if (auto ok = check_gate_resource(resource); !ok) return std::unexpected(ok.error());
    return resource;
  }
  if (check_lock_resource(resource)) return resource;
  if (auto ok = check_name("resource", resource); !ok) return std::unexpected(ok.error());
  return resource;
}

Result<GateClaim> gate_claim(const Invocation& invocation) {
  Result<std::string> resource = gate_resource(invocation);
  if (!resource) return std::unexpected(resource.error());
  const Result<Fence> fence = gate_fence(invocation);
  if (!fence) return std::unexpected(fence.error());
  const std::optional<std::string> file =
      invocation.arguments.contains("FILE") ? std::optional(invocation.argument("FILE")) : invocation.value("--file");
  std::string rebase = "fenceline gate rebase " + (file ? "--file " + shell_word(*file) : shell_word(*resource));
  if (const auto folder = invocation.value("--gates"); folder && !file) rebase += " --gates " + shell_word(*folder);
  return GateClaim{std::move(*resource), *fence, std::move(rebase)};
}

Result<Duration> gate_wait(const Invocation& invocation) {
  return invocation.duration("--wait", kGateWaitDefault, kWaitRange.least, kWaitRange.most);
}

Result<NewestGrant> NewestGrant::of(Invocation& invocation, const std::string& resource) {
  NewestGrant newest;
  const bool whole = invocation.argument("RESOURCE") == kCurrent;  // a group may be named like a job
  const bool current = whole || invocation.argument("FENCE") == kCurrent;
  std::optional<JobId> job = whole ? std::nullopt : parse_uuid(resource);
  const std::string lock = from_environment("FENCELINE_LOCK").value_or("");
  if (!job && !lock.empty() && (current || resource == lock)) newest.lock_ = lock;
  else if (!job && current) job = parse_uuid(from_environment("FENCELINE_JOB").value_or(""));
  if (!job && newest.lock_.empty()) return newest;
  Result<Session> store = invocation.open_store(false);
  if (!store && store.error().code == Code::not_found) return newest;
  if (!store) return std::unexpected(store.error());
  newest.store_ = std::move(*store);
  newest.ns_ = invocation.ns;
  if (job) newest.job_ = *job;
  return newest;
}

Result<std::optional<Fence>> NewestGrant::ask() const {
  if (!store_) return std::nullopt;
  if (!lock_.empty()) {
    const Result<std::optional<LockRow>> row = (*store_)->lock(ns_, lock_);
    if (!row) return std::unexpected(row.error());
    if (!*row) return std::nullopt;
    return (*row)->fence;
  }
  const Result<std::optional<Job>> job = (*store_)->job(ns_, job_);
  if (!job) return std::unexpected(job.error());
  if (!*job) return std::nullopt;
  return (*job)->fence;
}

std::string NewestGrant::again() const {
  if (!lock_.empty()) return "take the lock again";
  return "run 'fenceline job retry " + to_string(job_) + "'";
}

Error gate_refusal(const GateClaim& claim, const NewestGrant& store, const GateAnswer& answer) {
  const std::string what = "fence " + std::to_string(claim.fence) + " of " + claim.resource + " is " +
                           std::string(to_string(answer.verdict)) + ": ";
  if (answer.verdict == GateVerdict::behind)
    return {Code::lost, what + "it is the store's newest, but fence " + std::to_string(answer.remembered) +
                            " has passed the gate before, so the store was restored to an older state; run '" +
                            claim.rebase + "', then " + store.again()};
  if (answer.newest && claim.fence < *answer.newest)
    return {Code::lost, what + "the store has granted " + std::to_string(*answer.newest) +
                            " since; stop this work, another holder has it now"};
  return {Code::lost, what + "fence " + std::to_string(answer.remembered) +
                          " has passed the gate; stop this work, another holder has it now"};
}

Result<int> tell_gate(const Invocation& invocation, const GateClaim& claim, const NewestGrant& store,
                      const GateAnswer& answer) {
  if (invocation.json) {
    nlohmann::ordered_json json{{"resource", claim.resource},
                                {"fence", claim.fence},
                                {"verdict", to_string(answer.verdict)},
                                {"remembered", nullptr},
                                {"newest", nullptr}};
    if (answer.remembered != 0) json["remembered"] = answer.remembered;
    if (answer.newest) json["newest"] = *answer.newest;
    print_line(json.dump());
  }
  if (!answer.accepted()) return std::unexpected(gate_refusal(claim, store, answer));
  return kExitOk;
}

}  // namespace fenceline::cli
