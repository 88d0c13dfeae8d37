// An issue tracker in this process, with the faults of real ones as switches: lists and reads that are behind, pages
// that shift, a 304 with an old body, 5xx after the write was applied, secondary limits, times in whole seconds. What
// people, bots and forgers do to it are calls like any other.
//
// It knows nothing of claims or stages. It talks neither to threads nor to a network: a simulation puts SimTracker
// before it, a test's HTTP server its routes; both call it one request at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "sim/runtime/random.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::sim {

struct TrackerFaults {
  double stale_list = 0;  // of the lists: as they were up to `lag_most` ago
  double stale_read = 0;  // of the reads of one item
  double stale_part = 0;  // of the reads: labels and comments of different moments
  Duration lag_most{0};
  double hidden_young = 0;        // of the reads of an item that was made less than `lag_most` ago: there is none
  double old_304 = 0;             // of the lists: "unchanged", though it is not: the answer that this account got last
  double shifted_page = 0;        // of the lists and of the comments of an item with several pages: one is missed
  double error_after_write = 0;   // of the writes: done, and answered with an error
  double error_before_write = 0;  // not done, and nobody can tell
  int writes_a_minute = 80;       // of one account, then it is shut out for a minute
  int writes_an_hour = 500;       // then for as long as it takes
  double limit_says_when = 0.7;   // of the answers that shut out
  int page = 100;
  Duration stamps_apart{0};  // between the two stamps of a new comment, where edits have a time
};

// What happened, as it happened; for checks.
struct TrackerEvent {
  enum class Kind {
    posted,
    edited,
    erased,
    labels_added,
    label_removed,
    labels_replaced,
    status_set,
    opened,
    closed,
    swapped
  };
  Kind kind = Kind::posted;
  tracker::ItemId item;
  tracker::Account by;
  std::string writer;        // which process of that account; people have their names
  tracker::Comment comment;  // of posted, edited, erased (as it was)
  std::vector<std::string> labels;
};

struct TrackerModelCounts {
  std::int64_t requests = 0, charged = 0, writes = 0;
  std::int64_t stale_lists = 0, stale_reads = 0, old_304s = 0, shifted = 0, hidden = 0, errors_after = 0,
               errors_before = 0, limited = 0;
};

class TrackerModel {
 public:
  // All must outlive it.
  TrackerModel(const Clock& clock, Random& random, TrackerFaults faults, tracker::Capabilities can = {});

  const TrackerFaults& faults() const { return faults_; }
  void set_faults(const TrackerFaults& faults) { faults_ = faults; }
  void on_event(std::function<void(const TrackerEvent&)> listener) { listener_ = std::move(listener); }
  const TrackerModelCounts& counts() const { return counts_; }
  std::int64_t writes_of(const tracker::ItemId& item, const std::string& account) const;
  WallTime now() const;  // as it tells it
  tracker::Capabilities can() const { return can_; }

  // From now on it is let in no more.
  void revoke(const tracker::Account& account) { revoked_.insert(account.id); }
  void restore(const tracker::Account& account) { revoked_.erase(account.id); }

  // People make items, with labels or a status.
  tracker::ItemId make_item(const tracker::Account& by, std::string title, std::vector<std::string> labels,
                            std::string status = {});
  std::vector<tracker::ItemId> items() const;
  // As it is, whatever the faults are.
  const tracker::Item& truth(const tracker::ItemId& item) const { return *items_.at(item).versions.back().item; }

  // One account's requests, from one process of it. Must not outlive the model.
  class Door;
  std::unique_ptr<tracker::Tracker> door(tracker::Account account, std::string writer);

  // What no driver does: the whole set of labels, and the comments of others.
  void replace_labels(const tracker::Account& by, const tracker::ItemId& item, std::vector<std::string> labels);
  void edit_anyones(const tracker::Account& by, const tracker::ItemId& item, const tracker::CommentId& comment,
                    std::string text);
  void erase_anyones(const tracker::Account& by, const tracker::ItemId& item, const tracker::CommentId& comment);

 private:
  struct Version {
    Instant at{};
    std::shared_ptr<const tracker::Item> item;
  };
  struct Entry {
    Instant made{};
    std::deque<Version> versions;  // the last one is the truth
    std::int64_t revision = 1;
    std::map<std::string, std::int64_t> writes;  // by account
  };
  struct Writes {
    std::deque<Instant> times;
    Instant shut_until{};
  };

  tracker::Item& change(const tracker::ItemId& id);
  void tell(TrackerEvent event) {
    if (listener_) listener_(event);
  }
  std::shared_ptr<const tracker::Item> seen(const Entry& entry, Duration lag) const;
  tracker::Served served(bool charged = true);
  std::optional<tracker::Trouble> denied(const tracker::Account& account);
  std::optional<tracker::Trouble> admit(const tracker::Account& account);
  // Runs `write` unless the account is shut out or a fault says otherwise; what it answers may be lost.
  template <class T>
  tracker::Answer<T> written(const tracker::Account& account, const tracker::ItemId& item,
                             const std::function<tracker::Answer<T>()>& write);
  void move(tracker::Item& item, tracker::MoveKind kind, std::string what, const tracker::Account& by);

  const Clock& clock_;
  Random& random_;
  TrackerFaults faults_;
  const tracker::Capabilities can_;
  std::function<void(const TrackerEvent&)> listener_;
  std::map<tracker::ItemId, Entry> items_;
  std::map<std::string, Writes> accounts_;
  std::set<std::string> revoked_;
  std::int64_t last_item_ = 0;
  std::int64_t last_comment_ = 1000;
  TrackerModelCounts counts_;
};

}  // namespace fenceline::sim
