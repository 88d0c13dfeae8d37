// For tests of pipelines on a real server: a queue with stages, its items, and changes of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backends/postgres/guard_testing.hpp"

namespace fenceline::test {

class PipelineServer : protected GuardedServer {
 protected:
  std::unique_ptr<PostgresStore> opened(const std::string& url) {
    return must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = url}));
  }
  std::string new_request() { return "c" + std::to_string(++requests_); }

  // By a person: to a stage.
  static ItemChange moving(const JobId& id, std::int64_t revision, const std::string& stage,
                           JobState state = JobState::ready) {
    ItemChange change;
    change.id = id;
    change.revision = revision;
    change.record = "at " + stage;
    change.place.emplace();
    change.place->stage = stage;
    change.place->state = state;
    change.act = "item_moved";
    change.about = "to " + stage;
    return change;
  }
  // By the holder of this delivery.
  static ItemChange advancing(const Job& job, std::int64_t revision, const std::string& stage,
                              JobState state = JobState::ready) {
    ItemChange change = moving(job.id, revision, stage, state);
    change.fence = job.fence;
    change.act = "item_advanced";
    return change;
  }
  ChangeItemsRequest asking(std::vector<ItemChange> changes, const std::string& owner = "") {
    return {
        .ns = "default", .owner = owner, .request = new_request(), .changes = std::move(changes), .act = {"ana", ""}};
  }
  // Of one change, why it was not made.
  static std::string refused(const ChangeItemsReply& reply) {
    return reply.refused.empty() ? "" : std::string(to_string(reply.refused.front().reason));
  }
  std::string changed(const ItemChange& change, const std::string& owner = "") {
    return refused(must(store_->change_items(asking({change}, owner))));
  }

  Item item(const JobId& id) { return must(store_->items({.ns = "default", .ids = {id}})).items.at(0); }
  std::vector<JobId> items_at(const std::string& stage, int count, JobState state = JobState::waiting) {
    std::vector<JobId> ids;
    std::vector<ItemChange> changes;
    for (int i = 0; i < count; ++i) {
      ids.push_back(added());
      changes.push_back(moving(ids.back(), 0, stage, state));
    }
    EXPECT_EQ(refused(must(store_->change_items(asking(std::move(changes))))), "");
    return ids;
  }

  // The same verb as the store's, of one person's change, for a session that does not commit at once.
  std::string change_call(const JobId& id, std::int64_t revision, const std::string& stage) {
    return "select * from " + ours("change_items") + "('default', '', '" + new_request() + "', 'ana', '', array['" +
           to_string(id) + "']::uuid[], '{" + std::to_string(revision) + "}', '{r}', null, null, '{0}', '{" + stage +
           "}', '{0}', '{1}', null, null, '{item_moved}', '{x}', '{\"\"}')";
  }
  std::string put_call(const std::string& name) {
    return call("put_pipeline", "'default', '{\"name\":\"" + name +
                                    "\",\"spec\":\"73\",\"revision\":0,\"act\":{\"actor\":\"a\",\"reason\":\"\"}}'");
  }
  PutPipelineRequest putting(const std::string& name, const std::string& spec, std::int64_t revision) {
    return {.ns = "default", .name = name, .spec = spec, .revision = revision, .act = {"ana", ""}};
  }

  std::int64_t deadlocks() {
    return number("select deadlocks from pg_stat_database where datname = current_database()");
  }
  std::string waiting(const std::string& verb) const {
    return "wait_event_type = 'Lock' and query like '%" + schema_.name() + "%" + verb + "%'";
  }
  void wait_until_it_waits(const std::string& verb) {
    using namespace std::chrono_literals;
    for (const Instant given_up = runtime_.now() + 20s;
         number("select count(*) from pg_stat_activity where " + waiting(verb)) == 0;) {
      if (runtime_.now() > given_up) throw std::runtime_error(verb + " waits for nobody");
      runtime_.sleep_for(2ms, {});
    }
  }
  std::string doctor(PostgresStore& store) {
    for (const Finding& finding : must(store.examine())) {
      if (finding.name == "schema") return finding.status == FindingStatus::ok ? "" : finding.detail;
    }
    return "it says nothing";
  }
};

}  // namespace fenceline::test
