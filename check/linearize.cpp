#include "check/linearize.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace fenceline::audit {
namespace {

struct Config {
  JobState state;
  std::vector<std::uint32_t> early;  // ops that took effect and have no answer yet, sorted

  bool has(std::uint32_t op) const { return std::binary_search(early.begin(), early.end(), op); }
  void add(std::uint32_t op) { early.insert(std::upper_bound(early.begin(), early.end(), op), op); }
  void drop(std::uint32_t op) {
    const auto found = std::lower_bound(early.begin(), early.end(), op);
    if (found != early.end() && *found == op) early.erase(found);
  }
  bool operator==(const Config& other) const { return early == other.early && state.same_as(other.state); }
};

struct ConfigHash {
  std::size_t operator()(const Config& config) const {
    std::uint64_t hash = config.state.hash();
    for (const std::uint32_t op : config.early) hash = (hash ^ op) * 0x9e3779b97f4a7c15;
    return hash;
  }
};

using Configs = std::unordered_set<Config, ConfigHash>;

class ModelWalk {
 public:
  ModelWalk(const JobModel& model, const std::vector<JobOp>& ops, const Effort& effort)
      : model_(model), ops_(ops), effort_(effort) {
    now_.push_back({model.start(), {}});
  }

  void asked(std::uint32_t op) { pending_.push_back(op); }
  void forgot() {
    for (Config& config : now_) model_.forget(config.state);
  }
  void stretched(const JobOp& op) {
    for (Config& config : now_) model_.stretch(config.state, op);
  }
  // The time in which an optional one may have happened is over: it has, or it has not.
  Search::End closed(std::uint32_t op) {
    Configs reached;
    Configs seen;
    for (const Config& config : now_) {
      if (!config.has(op) && !explore(config, op, reached, seen)) return Search::End::gave_up;
      Config same = config;
      same.drop(op);
      reached.insert(std::move(same));
    }
    return keep(reached, op);
  }

  Search::End answered(std::uint32_t op) {
    if (pending_.size() == 1 && now_.size() == 1) return answered_alone(op);
    Configs reached;
    Configs seen;
    for (Config& config : now_) {
      if (!config.has(op)) {
        if (!explore(config, op, reached, seen)) return Search::End::gave_up;
        continue;
      }
      Config same = config;
      same.drop(op);
      reached.insert(std::move(same));
    }
    return keep(reached, op);
  }

  Complaint why(std::uint32_t op) const {
    Complaint first;
    for (const Config& config : now_) {
      Complaint one;
      std::vector<JobState> next;
      if (!config.has(op)) model_.step(config.state, ops_[op], next, &one);
      if (first.promise.empty() || (first.promise == "L3" && first.calls.size() < one.calls.size()))
        first = std::move(one);
    }
    return first;
  }

  std::size_t looked() const { return looked_; }

 private:
  // Most jobs have one state and one call at a time.
  Search::End answered_alone(std::uint32_t op) {
    looked_ += 1;
    if (now_.front().has(op)) {
      now_.front().drop(op);
    } else {
      std::vector<JobState>& next = scratch_;
      next.clear();
      model_.step(now_.front().state, ops_[op], next, nullptr);
      if (next.empty()) return Search::End::none;
      const std::vector<std::uint32_t> early = now_.front().early;
      now_.clear();
      for (JobState& state : next) now_.push_back({state, early});
    }
    pending_.clear();
    return Search::End::found;
  }

  Search::End keep(const Configs& reached, std::uint32_t op) {
    if (reached.empty()) return Search::End::none;
    std::erase(pending_, op);
    now_.assign(reached.begin(), reached.end());
    looked_ += now_.size();
    return now_.size() > effort_.states_most ? Search::End::gave_up : Search::End::found;
  }

  bool explore(const Config& from, std::uint32_t op, Configs& reached, Configs& seen) {
    std::vector<Config> open{from};
    std::vector<JobState> next;
    while (!open.empty()) {
      const Config config = std::move(open.back());
      open.pop_back();
      if (!seen.insert(config).second) continue;
      if (seen.size() > 8 * effort_.states_most) return false;
      looked_ += 1;
      for (const std::uint32_t candidate : pending_) {
        if (config.has(candidate)) continue;
        next.clear();
        model_.step(config.state, ops_[candidate], next, nullptr);
        for (const JobState& state : next) {
          // What may never have happened and changes nothing need not have happened.
          if (ops_[candidate].optional && changes_only_time(config.state, state)) continue;
          if (candidate == op) {
            reached.insert({state, config.early});
            continue;
          }
          Config after{state, config.early};
          after.add(candidate);
          open.push_back(std::move(after));
        }
      }
    }
    return true;
  }

  static bool changes_only_time(JobState before, const JobState& after) {
    before.now = after.now;
    return before.same_as(after);
  }

  const JobModel& model_;
  const std::vector<JobOp>& ops_;
  const Effort& effort_;
  std::vector<Config> now_;
  std::vector<std::uint32_t> pending_;
  std::vector<JobState> scratch_;
  std::size_t looked_ = 0;
};

}  // namespace

Search linearize(const JobModel& model, const std::vector<JobOp>& ops, const std::vector<JobOp>& stretches,
                 const std::vector<Time>& forgotten, const Effort& effort) {
  // In the order of time; at one moment questions come before answers, so that such calls count as at the same time.
  enum class What { forgot, asked, stretched, answered };
  struct Moment {
    Time at;
    What what;
    std::uint32_t op;
  };
  std::vector<Moment> moments;
  moments.reserve(2 * ops.size() + stretches.size());
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    moments.push_back({ops[i].asked, What::asked, i});
    if (ops[i].answered != kNever) moments.push_back({ops[i].answered, What::answered, i});
  }
  for (std::uint32_t i = 0; i < stretches.size(); ++i) moments.push_back({stretches[i].asked, What::stretched, i});
  for (const Time at : forgotten) moments.push_back({at, What::forgot, 0});
  std::stable_sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) {
    return a.at != b.at ? a.at < b.at : static_cast<int>(a.what) < static_cast<int>(b.what);
  });

  Search search;
  ModelWalk walk(model, ops, effort);
  for (const Moment& moment : moments) {
    if (moment.what == What::forgot) walk.forgot();
    else if (moment.what == What::asked) walk.asked(moment.op);
    else if (moment.what == What::stretched) walk.stretched(stretches[moment.op]);
    else if (ops[moment.op].optional) search.end = walk.closed(moment.op);
    else search.end = walk.answered(moment.op);
    search.states = walk.looked();
    if (search.end == Search::End::found) continue;
    search.at = moment.at;
    if (search.end == Search::End::none) search.why = walk.why(moment.op);
    break;
  }
  return search;
}

}  // namespace fenceline::audit
