// The script that people copy, as a model that runs: a label, a comment, a moment's wait, and whoever came first has
// the item. Each of its nine faults alone is caught by the checks; with all of them mended, it is not. docs/trackers.md
// has the script itself, with the same numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/tracker/tracker_plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;
using namespace tracker;
using tracker::Item;  // and not an item of a pipeline

enum class Fault {
  earliest_of_all_time = 1,  // a claim that ran out still wins (R7)
  loser_takes_the_label,     // off, which is the winner's too (R8)
  whole_seconds,             // order by creation time alone: ties
  anybodys_claim,            // who wrote it is not looked at
  ttl_from_the_text,         // whatever it says
  first_page,                // of the comments
  label_is_the_lock,         // no comment yet, or none any more: nobody takes it
  whole_set_of_labels,       // is read, changed and written
  never_looks_again,         // works on when its time is over, and moves the item on without reading
};

class Script {
 public:
  Script(TrackerHost& host, std::set<Fault> faults) : host_(host), faults_(std::move(faults)) {}

  void live(std::stop_token stop) {
    while (!stop.stop_requested()) {
      for (const StageSpec& stage : host_.protocol.pipeline.stages) {
        once(stage.name);
      }
      host_.process.sleep_for(Duration{20s + 1s * (host_.process.random() % 20)}, stop);
    }
  }

 private:
  bool has(Fault fault) const { return faults_.contains(fault); }

  void once(const std::string& stage) {
    const auto items = host_.tracker.list({host_.protocol.label_of(stage), false});
    if (!items || items->value.empty()) return;
    const std::size_t skip = host_.process.random() % items->value.size();
    for (std::size_t i = 0; i < items->value.size(); ++i) {
      const ItemState& state = items->value[(i + skip) % items->value.size()];
      const bool labelled = std::ranges::binary_search(state.labels, std::string(kClaimedLabel));
      if (labelled && has(Fault::label_is_the_lock)) continue;
      if (attempt(state, stage)) return;
    }
  }

  bool attempt(const ItemState& state, const std::string& stage) {
    const std::optional<Ledger> before = look(state.id);
    if (before && before->place != stage) labels(state.id);  // somebody died on the way
    if (!before || before->place != stage || before->contested || (before->not_before && *before->not_before > now_))
      return false;
    if (!has(Fault::label_is_the_lock) && winner(state.id, *before)) return false;
    if (!host_.tracker.add_labels(state.id, {std::string(kClaimedLabel)})) return true;
    Marker marker{.kind = MarkerKind::claim,
                  .generation = before->generation,
                  .stage = stage,
                  .worker = host_.process.name(),
                  .nonce = std::to_string(host_.process.random())};
    marker.ttl = 600;
    if (has(Fault::ttl_from_the_text) && host_.process.random() % 4 == 0) marker.ttl = 99'999'999;
    marker.over = before->dead;
    const Instant asked = host_.process.now();
    const auto posted = host_.tracker.post(state.id, text(marker, state.id));
    if (!posted) return true;
    host_.process.sleep_for(5s, {});
    const std::optional<Ledger> after = look(state.id);
    const std::optional<CommentId> won = after ? winner(state.id, *after) : std::nullopt;
    if (!won || *won != posted->value.id) {
      if (has(Fault::loser_takes_the_label)) (void)host_.tracker.remove_label(state.id, std::string(kClaimedLabel));
      (void)host_.tracker.erase(state.id, posted->value.id);
      return true;
    }
    work(state, marker, posted->value.id, asked);
    return true;
  }

  void work(const ItemState& state, const Marker& claim, const CommentId& id, Instant asked) {
    Job job;
    job.stage = claim.stage;
    job.key = state.id;
    TrustDeadline trust(has(Fault::never_looks_again) ? Instant::max() : asked + 540s);
    const RunResult result = host_.handler.run({.job = job, .stop = {}, .trust = &trust});
    const std::optional<Ledger> ledger = look(state.id);
    const bool still = ledger && (has(Fault::never_looks_again) ||
                                  (ledger->generation == claim.generation && ledger->place == claim.stage));
    if (still && result.kind == OutcomeKind::done) {
      const std::string next = place_after(host_.protocol.pipeline, ledger->place);
      Marker record{.kind = MarkerKind::advanced,
                    .generation = ledger->generation,
                    .stage = ledger->place,
                    .worker = claim.worker,
                    .nonce = claim.nonce + "a"};
      record.to = next;
      record.claim = id;
      if (!next.empty() && host_.tracker.post(state.id, text(record, state.id))) labels(state.id);
    }
    (void)host_.tracker.erase(state.id, id);
    if (has(Fault::label_is_the_lock)) (void)host_.tracker.remove_label(state.id, std::string(kClaimedLabel));
    labels(state.id);
  }

  // Makes them what the comments say.
  void labels(const ItemId& id) {
    for (int round = 0; round < 8; ++round) {
      const auto read = host_.tracker.read({.item = id});
      if (!read) return;
      const Ledger ledger = read_ledger(host_.protocol, id, read->value.comments, host_.account, read->served.now);
      Protocol plain = host_.protocol;
      plain.claim_label = false;  // the script knows no processing; `claimed` is its own
      const ItemState& state = *read->value.state;
      const Step step = mirror_step(plain, state, ledger);
      if (step.kind == StepKind::close) {
        // Its label first: nobody looks at what is closed.
        if (!has(Fault::label_is_the_lock) && !host_.tracker.remove_label(id, std::string(kClaimedLabel))) return;
        if (!host_.tracker.set_open(id, false)) return;
      } else if (step.kind != StepKind::nothing && has(Fault::whole_set_of_labels)) {
        std::vector<std::string> all = state.labels;
        if (step.kind == StepKind::add_labels) all.insert(all.end(), step.labels.begin(), step.labels.end());
        else std::erase(all, step.labels.front());
        host_.process.sleep_for(1s, {});
        host_.model.replace_labels(host_.account, id, all);
      } else if (step.kind == StepKind::add_labels) {
        if (!host_.tracker.add_labels(id, step.labels)) return;
      } else if (step.kind == StepKind::remove_label) {
        if (!host_.tracker.remove_label(id, step.labels.front())) return;
      } else {
        if (!ledger.holder && !has(Fault::label_is_the_lock))
          (void)host_.tracker.remove_label(id, std::string(kClaimedLabel));
        return;
      }
    }
  }

  std::optional<Ledger> look(const ItemId& id) {
    const auto read = host_.tracker.read({.item = id, .state = false});
    if (!read) return std::nullopt;
    comments_ = read->value.comments;
    now_ = read->served.now;
    return read_ledger(host_.protocol, id, comments_, host_.account, now_);
  }

  std::optional<CommentId> winner(const ItemId& id, const Ledger& ledger) const {
    struct Entry {
      CommentId id;
      WallTime at;
    };
    std::vector<Entry> entries;
    std::size_t read = 0;
    for (const Comment& comment : comments_) {
      if (has(Fault::first_page) && ++read > static_cast<std::size_t>(host_.model.faults().page)) break;
      if (!has(Fault::anybodys_claim) && !host_.protocol.is_worker(comment.author)) continue;
      const ReadMarker marked = read_marker(comment.text, id, host_.protocol.signing);
      if (!marked.marker || marked.marker->kind != MarkerKind::claim || marked.marker->generation != ledger.generation)
        continue;
      const Duration said = std::chrono::seconds{marked.marker->ttl};
      const Duration ttl =
          has(Fault::ttl_from_the_text) || has(Fault::anybodys_claim) ? said : std::min(said, Duration{600s});
      if (!has(Fault::earliest_of_all_time) && comment.created_at + ttl <= now_) continue;
      entries.push_back({comment.id, comment.created_at});
    }
    if (entries.empty()) return std::nullopt;
    if (!has(Fault::whole_seconds)) return entries.front().id;
    // Of one second: each program lists them in an order of its own.
    const auto first = std::ranges::min_element(entries, {}, &Entry::at);
    std::vector<Entry> ties;
    std::ranges::copy_if(entries, std::back_inserter(ties), [&](const Entry& entry) { return entry.at == first->at; });
    return ties[host_.process.name().at(1) % ties.size()].id;
  }

  std::string text(const Marker& marker, const ItemId& id) const {
    return marker_text(marker, id, host_.protocol.signing);
  }

  TrackerHost& host_;
  const std::set<Fault> faults_;
  std::vector<Comment> comments_;
  WallTime now_{};
};

TrackerPlan plan_for_scripts() {
  TrackerPlan plan;
  plan.workers = 6;
  plan.items = 4;
  plan.entry = false;
  plan.reads_are_true = true;
  plan.works_least = 1min;
  plan.works_most = 14min;
  plan.fails = 0;
  plan.later = 0;
  plan.faults.error_after_write = 0.02;
  plan.faults.page = 2;
  plan.wire = {.drop_request = 0.01, .refuse_request = 0.01, .drop_reply = 0.02, .delay_most = 300ms};
  plan.kill_every = 10min;
  plan.pause_every = 8min;
  plan.forge_every = 5min;
  plan.storm = 4h;
  plan.patience = 8h;
  return plan;
}

// The promises that were broken, up to the first seed on which one of `wanted` was.
std::set<std::string> broken_by(const std::set<Fault>& faults, const std::set<std::string>& wanted = {}) {
  StackPool stacks;
  std::set<std::string> promises;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    TrackerWorld world(seed, plan_for_scripts(), stacks,
                       [&](TrackerHost& host, std::stop_token stop) { Script(host, faults).live(stop); });
    for (const Violation& violation : world.run().violations) {
      promises.insert(violation.promise);
      if (wanted.empty()) ADD_FAILURE() << violation.promise << ": " << violation.sentence << " (seed " << seed << ")";
    }
    if (std::ranges::any_of(wanted, [&](const std::string& promise) { return promises.contains(promise); })) break;
  }
  return promises;
}

TEST(ShellRecipe, WithoutItsFaultsItPasses) { EXPECT_EQ(broken_by({}), std::set<std::string>{}); }

TEST(ShellRecipe, Fault1_TheEarliestClaimOfAllTimeWins) {
  EXPECT_TRUE(broken_by({Fault::earliest_of_all_time}, {"stuck"}).contains("stuck"));
}

TEST(ShellRecipe, Fault2_TheLoserTakesTheLabelOff) {
  EXPECT_TRUE(broken_by({Fault::loser_takes_the_label}, {"T3"}).contains("T3"));
}

TEST(ShellRecipe, Fault3_ClaimsOfOneSecondTie) {
  EXPECT_TRUE(broken_by({Fault::whole_seconds}, {"T1"}).contains("T1"));
}

TEST(ShellRecipe, Fault4_AnybodysClaimCounts) {
  EXPECT_TRUE(broken_by({Fault::anybodys_claim}, {"stuck"}).contains("stuck"));
}

TEST(ShellRecipe, Fault5_TheTtlIsWhateverTheTextSays) {
  EXPECT_TRUE(broken_by({Fault::ttl_from_the_text}, {"stuck"}).contains("stuck"));
}

TEST(ShellRecipe, Fault6_OnePageOfCommentsIsRead) {
  EXPECT_FALSE(broken_by({Fault::first_page}, {"stuck", "T1", "T3"}).empty());
}

TEST(ShellRecipe, Fault7_ALabelWithoutACommentLocksForEver) {
  EXPECT_TRUE(broken_by({Fault::label_is_the_lock}, {"stuck"}).contains("stuck"));
}

TEST(ShellRecipe, Fault8_TheWholeSetOfLabelsIsWritten) {
  EXPECT_TRUE(broken_by({Fault::whole_set_of_labels}, {"T3"}).contains("T3"));
}

TEST(ShellRecipe, Fault9_WorkGoesOnPastItsTimeAndMovesWhateverIsThere) {
  const std::set<std::string> broken = broken_by({Fault::never_looks_again}, {"P1", "T1"});
  EXPECT_TRUE(broken.contains("P1") || broken.contains("T1"));
}

TEST(ShellRecipe, AsItIsCopiedItIsCaughtAtOnce) {
  const std::set<std::string> broken =
      broken_by({Fault::earliest_of_all_time, Fault::loser_takes_the_label, Fault::whole_seconds, Fault::anybodys_claim,
                 Fault::ttl_from_the_text, Fault::first_page, Fault::label_is_the_lock, Fault::whole_set_of_labels,
                 Fault::never_looks_again},
                {"T1", "T3", "P1", "stuck"});
  EXPECT_FALSE(broken.empty());
}

}  // namespace
}  // namespace fenceline::sim
