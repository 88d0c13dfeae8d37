// P1 and P2 of the items of pipelines. Neither a search nor times are needed: the revisions of an item's record grow by
// one with each change, so that all changes that were made have one order, whoever sent them and on whatever clock. A
// request that was sent again is one change. Where an item comes from is known by the grant of the delivery that moves
// it, or by the change before. A decision rests on what its pipeline was when it was read, however long ago: what is
// lawful by any reading of it in the histories is lawful. Of what a removal of the namespace forgot nothing is said.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "check/checks.hpp"

namespace fenceline::audit {
namespace {

constexpr std::string_view kGate = "gate:";
constexpr Time kKnownWithin =
    3'000'000;  // a pipeline that one of a process has read is known to all of it: two seconds, and a clock that drifts

// All calls of one request about one item.
struct Change {
  const CallLog* log = nullptr;
  CallNumber call = kNoCall;  // the one whose answer counts, else the first
  std::uint32_t item = 0;     // in it
  bool taken = false;         // for certain

  const Call& said() const { return log->calls[call]; }
  const Item& part() const { return log->items[item]; }
  const MoveItem& move() const { return log->move_of(said(), item); }
  bool moves() const { return move().to != Life::absent; }
  bool by_holder() const { return part().fence != 0; }
  std::string stage() const { return std::string(log->text(part().stage)); }
  std::string act() const { return std::string(log->text(move().act)); }
  std::string who() const { return std::string(log->text(said().owner)); }
};

struct Story {
  std::map<std::string, Change> changes;   // by request
  std::string queue;                       // with its namespace
  std::optional<std::string> enqueued_at;  // a stage
  int enqueues = 0;
};

struct Stage {
  std::string name;
  std::string gate;
  bool let_in_late = false;
  std::int64_t count = 0;
  std::set<std::string> people;
};
using Pipeline = std::vector<Stage>;

struct Place {
  std::size_t stage = 0;
  bool at_gate = false;
};

// As stores keep it: the first stage has no name, a gate a prefix.
std::optional<Place> place_of(const Pipeline& pipeline, std::string_view stored) {
  const bool at_gate = stored.starts_with(kGate);
  const std::string_view name = at_gate ? stored.substr(kGate.size()) : stored;
  if (name.empty()) return at_gate ? std::nullopt : std::optional(Place{});
  for (std::size_t i = 1; i < pipeline.size(); ++i) {
    if (pipeline[i].name == name) return Place{i, at_gate};
  }
  return std::nullopt;
}

// What is known of an item as one walks along its changes.
struct ItemWalk {
  std::optional<std::string> stage;  // where it is; none: nobody knows
  std::set<std::string> approvers;   // since it began to wait,
  bool all_approvers = false;        // and there are no others
};

struct Granted {
  const CallLog* log = nullptr;
  CallNumber call = kNoCall;
  std::uint32_t job = 0;
  std::string stage;
};

using Delivered = std::pair<std::string, std::int64_t>;  // a job, and its fence

class Items {
 public:
  Items(const std::vector<const CallLog*>& logs, bool whole, const std::function<void(Violation)>& tell)
      : logs_(logs), whole_(whole), tell_(tell) {}

  ItemSums check() {
    for (const CallLog* log : logs_) take_changes(*log);
    if (stories_.empty() && pipelines_.empty()) return {};
    for (const CallLog* log : logs_) take_rest(*log);
    ItemSums sums{.items = static_cast<std::int64_t>(stories_.size())};
    for (const auto& [id, story] : stories_) {
      const std::vector<const Change*> taken = in_order(story);
      sums.moves += std::ranges::count_if(taken, [](const Change* change) { return change->moves(); });
      if (!removed_ && !(tidied_ && story.enqueues > 1)) check_item(id, story, taken);
    }
    if (whole_ && !removed_) check_starts();
    for (const auto& [delivery, granted] : granted_) check_end(delivery, granted);
    return sums;
  }

 private:
  void take_changes(const CallLog& log) {
    for (CallNumber number = 0; number < log.calls.size(); ++number) {
      const Call& call = log.calls[number];
      removed_ = removed_ || (call.verb == Verb::remove_namespace && call.may_count());
      tidied_ =
          tidied_ || (call.verb == Verb::tidy && call.may_count() && (call.status == Status::unknown || call.left > 0));
      if (call.pipeline != 0 && call.may_count()) take_pipeline(log, call);
      for (std::uint32_t i = 0; call.verb == Verb::change_items && call.may_count() && i < call.item_count; ++i)
        take_change(log, number, call.items + i);
    }
  }

  void take_pipeline(const CallLog& log, const Call& call) {
    const PipelineCall& said = log.pipelines[call.pipeline];
    const auto [seen, is_new] = seen_.emplace(std::tuple{&log, call.by, said.queue}, call.answered);
    if (!is_new) seen->second = std::min(seen->second, call.answered);
    Pipeline pipeline;
    for (const PipelineCall::Stage& stage : said.stages) {
      Stage& added = pipeline.emplace_back(Stage{
          std::string(log.text(stage.name)), std::string(log.text(stage.gate)), stage.let_in_late, stage.count, {}});
      for (const Name person : stage.people) added.people.emplace(log.text(person));
    }
    pipelines_[std::string(log.text(said.queue))].push_back(std::move(pipeline));
  }

  void take_change(const CallLog& log, CallNumber number, std::uint32_t item) {
    const Call& call = log.calls[number];
    const bool refused = call.status == Status::ok && log.items[item].reason != Reason::none;
    std::string request(log.text(call.request));
    if (request.empty()) request = std::to_string(call.asked_line.file) + ":" + std::to_string(call.asked_line.number);
    Story& story = stories_[std::string(log.text(log.jobs[log.items[item].job].id))];
    if (refused && !story.changes.contains(request) && log.about.repeats == 0) return;
    const bool taken = call.status == Status::ok && !refused;
    const auto [found, is_new] = story.changes.try_emplace(std::move(request));
    if (is_new || (taken && !found->second.taken)) found->second = {&log, number, item, taken};
  }

  void take_rest(const CallLog& log) {
    for (std::uint32_t job = 1; job < log.jobs.size(); ++job) {
      const auto story = stories_.find(std::string(log.text(log.jobs[job].id)));
      if (story != stories_.end() && log.jobs[job].queue != 0) story->second.queue = log.text(log.jobs[job].queue);
    }
    for (CallNumber number = 0; number < log.calls.size(); ++number) {
      const Call& call = log.calls[number];
      for (std::uint32_t i = 0; call.verb == Verb::settle && call.status == Status::ok && i < call.item_count; ++i) {
        const Item& item = log.items[call.items + i];
        if (item.reason == Reason::none && item.outcome == Outcome::done)
          done_.emplace(Delivered{std::string(log.text(log.jobs[item.job].id)), item.fence}, std::pair{&log, number});
      }
      for (std::uint32_t i = 0;
           (call.verb == Verb::claim || call.verb == Verb::enqueue) && call.may_count() && i < call.item_count; ++i) {
        const Item& item = log.items[call.items + i];
        std::string id(log.text(log.jobs[item.job].id));
        if (call.verb == Verb::claim) {
          granted_.emplace(Delivered{std::move(id), item.fence},
                           Granted{&log, number, item.job, std::string(log.text(item.stage))});
        } else if (const auto story = stories_.find(id); story != stories_.end()) {
          story->second.enqueued_at = log.text(item.stage);
          story->second.enqueues += 1;
        }
      }
    }
    for (const HandlerEvent& event : log.handlers) {
      recorders_.emplace(log.text(event.by));
      const Delivered delivery{std::string(log.text(log.jobs[event.job].id)), event.fence};
      if (event.kind == Kind::started) started_.emplace(delivery, std::pair{&log, &event});
      if (event.kind == Kind::ended) ended_.emplace(delivery, event.outcome);
    }
  }

  static std::vector<const Change*> in_order(const Story& story) {
    std::vector<const Change*> taken;
    for (const auto& [request, change] : story.changes) {
      if (change.taken) taken.push_back(&change);
    }
    std::ranges::stable_sort(taken,
                             [](const Change* a, const Change* b) { return a->move().revision < b->move().revision; });
    return taken;
  }

  void check_item(const std::string& id, const Story& story, const std::vector<const Change*>& taken) {
    std::set<std::int64_t> may_be;  // revisions on which something rests that may have been made
    for (const auto& [request, change] : story.changes) {
      if (!change.taken) may_be.insert(change.move().revision);
    }
    std::map<std::int64_t, const Change*> ends;  // by fence
    ItemWalk walk{.stage = whole_ ? story.enqueued_at : std::nullopt, .approvers = {}, .all_approvers = false};
    std::int64_t next = 0;
    const Change* before = nullptr;
    for (const Change* change : taken) {
      const std::int64_t revision = change->move().revision;
      if (before != nullptr && revision == before->move().revision)
        return broken("P2", "was changed twice by what rests on record " + std::to_string(revision), {before, change});
      if (change->moves() && change->by_holder()) {
        const auto [first, is_new] = ends.emplace(change->part().fence, change);
        if (!is_new)
          return broken("P2", "was moved twice by one delivery, under fence " + std::to_string(change->part().fence),
                        {first->second, change});
      }
      if (revision != next) {
        walk = {};
        bool explained = true;
        for (std::int64_t gap = next; whole_ && explained && gap < revision; ++gap) explained = may_be.contains(gap);
        if (!explained)
          return broken(
              "P2", "was changed by what rests on record " + std::to_string(revision) + ", to which no change had led",
              before == nullptr ? std::vector{change} : std::vector{before, change});
      }
      if (!judge(id, story, *change, walk)) return;
      next = revision + 1;
      before = change;
    }
  }

  // By every reading of its pipeline; the walk goes on.
  bool judge(const std::string& id, const Story& story, const Change& change, ItemWalk& walk) {
    if (change.by_holder()) {
      const auto granted = granted_.find({id, change.part().fence});
      if (granted != granted_.end()) {
        if (walk.stage && *walk.stage != granted->second.stage)
          walk = {};  // an edit of its store by hand, or an item that was enqueued anew: the job's own search says more
        walk.stage = granted->second.stage;
      }
    }
    if (change.act() == "item_approved") walk.approvers.insert(change.who());
    if (!change.moves()) return true;
    const auto pipelines = pipelines_.find(story.queue);
    std::string why;
    bool lawful = pipelines == pipelines_.end() ||
                  std::ranges::any_of(pipelines->second, [](const Pipeline& one) { return one.empty(); });
    for (std::size_t i = 0; !lawful && i < pipelines->second.size(); ++i) {
      why = wrong_by(pipelines->second[i], id, change, walk);
      lawful = why.empty();
    }
    if (!lawful) broken("P1", why, {&change});
    if (!walk.stage || *walk.stage != change.stage())
      walk = {
          .stage = change.stage(), .approvers = {}, .all_approvers = walk.stage && change.stage().starts_with(kGate)};
    return lawful;
  }

  // Empty: it may be so.
  std::string wrong_by(const Pipeline& pipeline, const std::string& id, const Change& change,
                       const ItemWalk& walk) const {
    const std::optional<Place> to = place_of(pipeline, change.stage());
    if (walk.stage == change.stage()) {
      const bool last = to && !to->at_gate && to->stage + 1 == pipeline.size();
      return change.move().to == Life::done && !last ? "was put on done at '" + words(pipeline, change.stage()) + "'"
                                                     : "";
    }
    if (!walk.stage) return "";
    const std::string way =
        "went from '" + words(pipeline, *walk.stage) + "' to '" + words(pipeline, change.stage()) + "'";
    const std::optional<Place> from = place_of(pipeline, *walk.stage);
    if (!to) return way + ", which is no stage of its pipeline";
    if (!from) return "";  // a person's business, or of another reading
    const Stage& stage = pipeline[to->stage];
    const bool through_its_gate = from->at_gate && from->stage == to->stage;
    if (!to->at_gate && !stage.gate.empty())
      return through_its_gate ? wrong_at_gate(stage, id, change, walk)
                              : way + ", past the entry condition of " + stage.name;
    if (!change.by_holder() || through_its_gate || from->stage > to->stage) return "";
    const bool on = !from->at_gate && from->stage + 1 == to->stage;
    if (!on) return way + " by a worker";
    return is_done(id, change) ? "" : way + ", and its work there was not done";
  }

  std::string wrong_at_gate(const Stage& stage, const std::string& id, const Change& change,
                            const ItemWalk& walk) const {
    if (stage.gate == "check")
      return change.by_holder() && is_done(id, change)
                 ? ""
                 : "was let into " + stage.name + ", and its check did not say so";
    if (!walk.all_approvers || (change.by_holder() && stage.let_in_late)) return "";
    const auto approved = std::ranges::count_if(walk.approvers, [&](const std::string& person) {
      return stage.people.empty() || stage.people.contains(person);
    });
    return approved >= stage.count ? ""
                                   : "was let into " + stage.name + " with " + std::to_string(approved) + " of " +
                                         std::to_string(stage.count) + " approvals";
  }

  // An outcome that is accepted is one of work that was done; what its handler said counts, where that was written
  // down.
  bool is_done(const std::string& id, const Change& change) const {
    if (change.part().outcome != Outcome::done) return false;
    const Delivered delivery{id, change.part().fence};
    if (const auto ended = ended_.find(delivery); ended != ended_.end()) return ended->second == Outcome::done;
    const auto granted = granted_.find(delivery);
    return granted == granted_.end() ||
           !recorders_.contains(
               std::string(granted->second.log->text(granted->second.log->calls[granted->second.call].by)));
  }

  // Work at a stage that nothing led to: somebody put the item there past all others.
  void check_starts() {
    for (const auto& [delivery, event] : started_) {
      const auto granted = granted_.find(delivery);
      if (granted == granted_.end() || granted->second.stage.empty() || granted->second.stage.starts_with(kGate))
        continue;
      const Granted& grant = granted->second;
      const auto pipelines = pipelines_.find(std::string(grant.log->text(grant.log->jobs[grant.job].queue)));
      if (pipelines == pipelines_.end() || !std::ranges::all_of(pipelines->second, [&](const Pipeline& one) {
            return place_of(one, grant.stage).has_value();
          }))
        continue;
      const auto story = stories_.find(delivery.first);
      const bool came = story != stories_.end() && std::ranges::any_of(story->second.changes, [&](const auto& one) {
                          return one.second.moves() && one.second.stage() == grant.stage;
                        });
      if (came) continue;
      Violation violation{"P1",
                          "item " + grant.log->job_text(grant.job) + " is worked on at '" + grant.stage +
                              "', to which nothing had led it",
                          excerpt_of(*grant.log, {grant.call}, grant.job), event.second->at};
      if (event.first == grant.log) Words(*grant.log).add_handler(violation.excerpt, *event.second);
      tell_(std::move(violation));
    }
  }

  // Whoever claimed it knew the pipeline by then, and yet let it end before its last stage.
  void check_end(const Delivered& delivery, const Granted& grant) const {
    const auto done = done_.find(delivery);
    const Call& claim = grant.log->calls[grant.call];
    const Name queue = grant.log->jobs[grant.job].queue;
    const auto seen = seen_.find({grant.log, claim.by, queue});
    const auto pipelines = pipelines_.find(std::string(grant.log->text(queue)));
    if (done == done_.end() || done->second.first != grant.log || seen == seen_.end() ||
        seen->second > claim.asked - kKnownWithin || moved_by(delivery))
      return;
    const bool early = std::ranges::all_of(pipelines->second, [&](const Pipeline& one) {
      const std::optional<Place> at = place_of(one, grant.stage);
      return !one.empty() && at && (at->at_gate || at->stage + 1 < one.size());
    });
    if (!early) return;
    tell_({"P1",
           "item " + grant.log->job_text(grant.job) + " was done at '" + words(pipelines->second.front(), grant.stage) +
               "', which is not the end of its pipeline",
           excerpt_of(*grant.log, {grant.call, done->second.second}, grant.job),
           grant.log->calls[done->second.second].answered});
  }

  // Then the same outcome once more changes nothing.
  bool moved_by(const Delivered& delivery) const {
    const auto story = stories_.find(delivery.first);
    return story != stories_.end() && std::ranges::any_of(story->second.changes, [&](const auto& one) {
             return one.second.moves() && one.second.part().fence == delivery.second;
           });
  }

  static std::string words(const Pipeline& pipeline, const std::string& stored) {
    return stored.empty() ? pipeline.front().name : stored;
  }

  void broken(std::string promise, const std::string& what, const std::vector<const Change*>& changes) const {
    const Change& last = *changes.back();
    Violation violation{std::move(promise), "item " + last.log->job_text(last.part().job) + " " + what, {}, kAlways};
    for (const Change* change : changes) {
      violation.at = std::max(violation.at, change->said().answered);
      for (ExcerptLine& line : excerpt_of(*change->log, {change->call}, change->part().job))
        violation.excerpt.push_back(std::move(line));
    }
    std::ranges::sort(violation.excerpt, {}, &ExcerptLine::line);
    tell_(std::move(violation));
  }

  const std::vector<const CallLog*>& logs_;
  const bool whole_;
  const std::function<void(Violation)>& tell_;
  bool removed_ = false;                                         // a namespace
  bool tidied_ = false;                                          // finished jobs
  std::map<std::string, Story> stories_;                         // by id
  std::map<std::string, std::vector<Pipeline>> pipelines_;       // by queue: every reading
  std::map<std::tuple<const CallLog*, Name, Name>, Time> seen_;  // by recorder and queue: since when it knew one
  std::map<Delivered, Granted> granted_;
  std::map<Delivered, std::pair<const CallLog*, CallNumber>> done_;  // that settle said
  std::map<Delivered, std::pair<const CallLog*, const HandlerEvent*>> started_;
  std::map<Delivered, Outcome> ended_;
  std::set<std::string> recorders_;  // that tell of handlers
};

}  // namespace

ItemSums check_items(const std::vector<const CallLog*>& logs, bool whole, const std::function<void(Violation)>& tell) {
  return Items(logs, whole, tell).check();
}

}  // namespace fenceline::audit
