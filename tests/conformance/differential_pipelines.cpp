#include "conformance/differential_pipelines.hpp"

#include <algorithm>
#include <set>

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPipelineBeat = 250ms;  // as in the rest of the stream
constexpr std::size_t kPipelinesRemembered = 40;
constexpr std::uint64_t kStepOfTooMany = 500;

const std::string kOwnStage = "gate:s";
const std::vector<std::string> kPipelineNamespaces{"one", "two"};
const std::vector<std::string> kPipelineQueues{"q", "r"};
const std::vector<std::string> kPipelineOwners{"a", "b", "c", "d"};
const std::vector<std::string> kStages{"", "", "", "s", "s", kOwnStage};
const std::vector<std::string> kPipelineNames{"p", "P.2", "p-3", "q"};
const std::vector<std::string> kSpecs{"", "{}", "[1]", "{\"\xc3\xa9\":\"\\u0000\"}", std::string("nul\0", 4)};
const std::vector<std::string> kActs{"item_advanced", "item_approved", "item_moved"};
const Act kPipelineTester{"tester", "differential"};

void remember_pipeline(auto& items, const auto& item) {
  items.push_back(item);
  if (items.size() > kPipelinesRemembered) items.pop_front();
}

}  // namespace

void DifferentialPipelines::step() {
  if (++steps_ == kStepOfTooMany) return put_too_many();
  if (!one_in(3)) return;
  struct Choice {
    std::uint64_t weight;
    void (DifferentialPipelines::*act)();
  };
  using D = DifferentialPipelines;
  static const std::vector<Choice> choices{
      {50, &D::change_items}, {12, &D::work}, {10, &D::items}, {8, &D::put_pipeline}, {3, &D::pipelines}};
  std::uint64_t total = 0;
  for (const Choice& choice : choices) total += choice.weight;
  std::uint64_t picked = below(total);
  for (const Choice& choice : choices) {
    if (picked < choice.weight) return (this->*choice.act)();
    picked -= choice.weight;
  }
}

void DifferentialPipelines::put_pipeline() {
  PutPipelineRequest request{.ns = one_of(kPipelineNamespaces),
                             .name = one_of(kPipelineNames),
                             .spec = one_of(kSpecs),
                             .act = kPipelineTester};
  std::optional<PipelineRow> before;
  if (const auto rows = oracle_.pipelines(request.ns); rows) {
    for (const PipelineRow& row : *rows) {
      if (row.name == request.name) before = row;
    }
  }
  request.revision = before ? before->revision : 0;
  if (one_in(8)) request.revision = request.revision > 0 && one_in(2) ? request.revision - 1 : request.revision + 1;
  if (one_in(20)) request.name = "a b";
  if (one_in(20)) request.spec = "\xff";
  const std::string asked =
      request.ns + " " + request.name + " revision " + std::to_string(request.revision) + " spec " + request.spec;
  const auto row = both("put_pipeline", asked, [&](Store& store) { return store.put_pipeline(request); });
  if (!row) return;
  const bool as_it_was = before ? before->revision == row->revision : row->spec.empty();
  if (as_it_was) return note_("put_pipeline", "as_asked");
  note_("put_pipeline", row->spec.empty() ? "removed" : before ? "changed" : row->revision > 1 ? "again" : "applied");
}

// As many as there may be, and one more.
void DifferentialPipelines::put_too_many() {
  PutPipelineRequest request{.ns = "many", .name = "", .spec = "{}", .act = kPipelineTester};
  for (int i = 0; i <= kPipelinesMax; ++i) {
    request.name = "p" + std::to_string(i);
    both("put_pipeline", "many " + request.name, [&](Store& store) { return store.put_pipeline(request); });
  }
  both("pipelines", "many", [&](Store& store) { return store.pipelines("many"); });
  both("remove_namespace", "many", [&](Store& store) { return store.remove_namespace("many", kPipelineTester); });
}

void DifferentialPipelines::pipelines() {
  const std::string ns = one_in(6) ? "a b" : one_in(6) ? "none" : one_of(kPipelineNamespaces);
  const auto rows = both("pipelines", ns, [&](Store& store) { return store.pipelines(ns); });
  if (rows) note_("pipelines", rows->empty() ? "none" : "some");
}

std::vector<Job> DifferentialPipelines::jobs_in(const std::string& ns, JobState state) {
  const auto listed = oracle_.jobs({.ns = ns, .queue = one_of(kPipelineQueues), .state = state, .limit = 1000});
  return listed ? listed->jobs : std::vector<Job>{};
}

Item DifferentialPipelines::item(const std::string& ns, const JobId& id) {
  const auto reply = oracle_.items({.ns = ns, .ids = {id}});
  return reply && !reply->items.empty() ? reply->items.front() : Item{};
}

void DifferentialPipelines::items() {
  ItemsRequest request{.ns = one_in(15) ? "none" : one_of(kPipelineNamespaces), .ids = {}};
  const std::uint64_t size = 1 + below(6);
  std::set<JobId> ids;
  while (ids.size() < size) {
    const std::vector<Job> jobs = jobs_in(request.ns, static_cast<JobState>(below(6)));
    ids.insert(jobs.empty() || one_in(8) ? make_uuid7(WallTime{}, 0, chance_()) : one_of(jobs).id);
  }
  request.ids.assign(ids.rbegin(), ids.rend());
  if (one_in(15)) request.ids.push_back(request.ids.front());
  const auto reply =
      both("items", request.ns + " " + text_of(request.ids), [&](Store& store) { return store.items(request); });
  if (!reply) return;
  note_("items", reply->items.empty() ? "none" : reply->items.size() < request.ids.size() ? "some" : "all");
  for (const Item& one : reply->items) note_("items", one.revision > 0 ? "record" : "no_record");
}

Placement DifferentialPipelines::made_up_place(const Job& job, bool by_holder) {
  Placement place;
  place.stage = one_of(kStages);
  place.fresh = !one_in(3);
  if (one_in(4)) place.delay = kPipelineBeat * static_cast<std::int64_t>(below(8));
  // Not too many end, and those that wait go on soon: a stream in which nothing can be claimed shows nothing.
  if (one_in(6)) place.state = static_cast<JobState>(3 + below(3));
  else if (job.state != JobState::waiting && one_in(5)) place.state = JobState::waiting;
  if (by_holder && one_in(2)) place.result = std::string("r\0\xff", 3) + std::to_string(last_number_);
  if (one_in(4)) place.error = "erreur \xc3\xa9 " + std::to_string(last_number_);
  return place;
}

ItemChange DifferentialPipelines::made_up_change(const std::string& ns, const Job& job, std::string& owner) {
  ItemChange change;
  change.id = job.id;
  change.revision = item(ns, job.id).revision;
  change.record = "record " + std::to_string(last_number_) + std::string("\0\xc3\xa9", 3);
  change.act = one_of(kActs);
  if (one_in(3)) change.about = "a -> b";
  if (one_in(3)) change.reason = "of its own";
  if (one_in(12)) change.revision += 1;
  if (job.state == JobState::running ? !one_in(3) : job.fence > 0 && one_in(6)) {
    change.fence = job.fence;
    if (owner.empty()) owner = one_in(10) || job.owner.empty() ? one_of(kPipelineOwners) : job.owner;
    if (one_in(15)) change.fence = *change.fence + 1;
  } else if (one_in(3)) {
    change.only = one_in(3) ? static_cast<JobState>(below(6)) : job.state;
  }
  if (!one_in(6)) change.place = made_up_place(job, change.fence.has_value());
  return change;
}

ChangeItemsRequest DifferentialPipelines::made_up_changes() {
  static const std::vector<JobState> states{JobState::running, JobState::running,  JobState::running, JobState::waiting,
                                            JobState::waiting, JobState::ready,    JobState::ready,   JobState::done,
                                            JobState::dead,    JobState::cancelled};
  ChangeItemsRequest request{.ns = one_of(kPipelineNamespaces),
                             .owner = "",
                             .request = "i" + std::to_string(++last_number_),
                             .changes = {},
                             .act = kPipelineTester};
  const std::uint64_t size = 1 + below(one_in(3) ? 5 : 1);
  std::set<JobId> ids;
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::vector<Job> jobs = jobs_in(request.ns, one_of(states));
    Job job;
    job.id = make_uuid7(WallTime{}, 0, chance_());
    if (!jobs.empty() && !one_in(20)) job = one_of(jobs);
    if (!ids.insert(job.id).second) continue;
    request.changes.push_back(made_up_change(request.ns, job, request.owner));
    if (job.state == JobState::running)
      remember_pipeline(deliveries_, Delivery{request.ns, job.owner, {job.id, job.fence}});
  }
  if (one_in(8) && !deliveries_.empty()) {  // by somebody who was late
    const Delivery& late = deliveries_[below(deliveries_.size())];
    const auto job = oracle_.job(late.ns, late.holding.id);
    if (job && *job) {
      request.ns = late.ns;
      request.owner = late.owner;
      request.changes = {made_up_change(late.ns, **job, request.owner)};
      request.changes.front().fence = late.holding.fence;
      request.changes.front().only.reset();
    }
  }
  return request;
}

void DifferentialPipelines::spoil(ChangeItemsRequest& request) {
  ItemChange& change = request.changes.front();
  switch (below(7)) {
    case 0: request.ns = "a b"; break;
    case 1: request.request = ""; break;
    case 2: request.changes.push_back(change); break;
    case 3: change.record = ""; break;
    case 4: change.act = "a b"; break;
    case 5: change.about = "\xff"; break;
    default: change.place = Placement{.stage = "", .state = JobState::running, .result = {}, .error = {}}; break;
  }
}

void DifferentialPipelines::change_items() {
  ChangeItemsRequest request = made_up_changes();
  const bool repeat = !changes_.empty() && one_in(6);
  if (repeat) {
    const ChangeItemsRequest more = request;
    request = changes_[changes_.size() - 1 - below(std::min<std::size_t>(changes_.size(), one_in(2) ? 2 : 12))];
    for (const ItemChange& change : more.changes) {  // some of it is new
      const bool known =
          std::ranges::any_of(request.changes, [&](const ItemChange& old) { return old.id == change.id; });
      if (more.ns == request.ns && !known && !change.fence && one_in(2)) request.changes.push_back(change);
    }
  }
  if (one_in(30)) spoil(request);
  send(request, repeat);
}

void DifferentialPipelines::send(const ChangeItemsRequest& request, bool repeat) {
  std::map<JobId, Item> before;
  for (const ItemChange& change : request.changes) before[change.id] = item(request.ns, change.id);
  const auto reply = both("change_items", text_of(request), [&](Store& store) { return store.change_items(request); });
  if (!reply) return;
  if (!repeat) remember_pipeline(changes_, request);
  std::set<JobId> refused;
  for (const ItemRefusal& refusal : reply->refused) {
    note_("change_items", std::string(to_string(refusal.reason)));
    refused.insert(refusal.id);
  }
  if (!refused.empty() && refused.size() < request.changes.size()) note_("change_items", "mixed");
  for (const ItemChange& change : request.changes) {
    if (refused.contains(change.id)) continue;
    const Item now = item(request.ns, change.id);
    const Item& was = before[change.id];
    compare_("change_items, then job", text_of(request), text_of(oracle_.job(request.ns, change.id)),
             text_of(store_.job(request.ns, change.id)));
    if (now.revision == was.revision) {
      note_("change_items", "repeat");
      continue;
    }
    note_made(change, was.job);
    if (now.job.state == JobState::waiting && change.place && one_in(4)) retry_waiting(request.ns, change.id);
    const bool revoked = change.place && !change.fence && was.job.lease_left && *was.job.lease_left > 0s;
    if (revoked) look_at_revoked(request.ns, was.job, change.place->stage);
  }
}

void DifferentialPipelines::note_made(const ItemChange& change, const Job& before) {
  if (!change.place) return note_("change_items", change.fence ? "note_of_holder" : "note");
  const std::string where = is_finished(change.place->state) ? "ends" : std::string(to_string(change.place->state));
  note_("change_items", (change.fence ? "advance_" : "move_") + where);
  if (!change.fence) return note_("change_items", "move_of_" + std::string(to_string(before.state)));
  if (!change.place->error.empty()) note_("change_items", "failed");
  if (*before.lease_left <= 0s) note_("change_items", "late");
}

void DifferentialPipelines::retry_waiting(const std::string& ns, const JobId& id) {
  const ActRequest retry{
      .ns = ns, .ids = {id}, .request = "t" + std::to_string(++last_number_), .only = {}, .act = kPipelineTester};
  const auto reply = both("retry", text_of(retry), [&](Store& store) { return store.retry(retry); });
  if (reply && reply->refused.empty()) note_("retry", "waiting");
}

void DifferentialPipelines::look_at_revoked(const std::string& ns, const Job& before, const std::string& stage) {
  compare_("facts of a revoked one", to_string(before.id), text_of(oracle_.facts(ns, before.id)),
           text_of(store_.facts(ns, before.id)));
  compare_("orders of a revoked one", before.owner, text_of(oracle_.orders(ns, before.owner)),
           text_of(store_.orders(ns, before.owner)));
  const BacklogRequest backlog{.ns = ns, .queues = {before.queue}, .stage = stage};
  compare_("backlog of a revoked one", stage, text_of(oracle_.backlog(backlog)), text_of(store_.backlog(backlog)));
  if (one_in(2)) return;
  const StoppedRequest stopped{.ns = ns, .owner = before.owner, .jobs = {{before.id, before.fence}}};
  compare_("stopped", before.owner, text_of(oracle_.stopped(stopped)), text_of(store_.stopped(stopped)));
}

// Only jobs that run: others would be changed at a time that never comes.
void DifferentialPipelines::with_no_fences_left() {
  ChangeItemsRequest request{.ns = one_of(kPipelineNamespaces),
                             .owner = "",
                             .request = "i" + std::to_string(++last_number_),
                             .changes = {},
                             .act = kPipelineTester};
  for (const Job& job : jobs_in(request.ns, JobState::running)) {
    ItemChange change{.id = job.id,
                      .revision = item(request.ns, job.id).revision,
                      .record = "none left",
                      .fence = {},
                      .only = {},
                      .place = {},
                      .act = "item_moved",
                      .about = {},
                      .reason = {}};
    change.place = Placement{.stage = "s", .result = {}, .error = {}};
    request.changes.push_back(change);
    if (request.changes.size() == 3) break;
  }
  if (!request.changes.empty())
    both("change_items", text_of(request), [&](Store& store) { return store.change_items(request); });
}

// Serves the stage that nobody else does.
void DifferentialPipelines::work() {
  ClaimRequest request{.ns = one_of(kPipelineNamespaces),
                       .queues = kPipelineQueues,
                       .stage = kOwnStage,
                       .owner = one_of(kPipelineOwners),
                       .request = "g" + std::to_string(++last_number_)};
  request.limit = static_cast<int>(1 + below(3));
  request.ttl = 1s + kPipelineBeat * static_cast<std::int64_t>(below(6));
  compare_("claim", text_of(request), text_of(oracle_.claim(request)), text_of(store_.claim(request)));
}

void DifferentialPipelines::compare_everything() {
  for (const std::string& ns : kPipelineNamespaces) {
    both("pipelines", ns, [&](Store& store) { return store.pipelines(ns); });
    JobsRequest all{.ns = ns, .limit = kItemsAtOnceMax};
    for (std::optional<std::int64_t> after = 0; after;) {
      all.after = *after;
      const auto page = oracle_.jobs(all);
      if (!page || page->jobs.empty()) break;
      ItemsRequest request{.ns = ns, .ids = {}};
      for (const Job& job : page->jobs) request.ids.push_back(job.id);
      both("items", "all of " + ns, [&](Store& store) { return store.items(request); });
      after = page->next;
    }
  }
}

}  // namespace fenceline::test
