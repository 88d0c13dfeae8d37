// A tracker that waits: for the budget, when the tracker rate-limits, and when it cannot be reached. It retries only
// what did not happen; what is in doubt is left to the caller, who knows how to find out.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "runtime/runtime.hpp"
#include "tracker/budget.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::tracker {

struct Patience {
  Duration most = std::chrono::minutes{10};  // a longer wait is answered as limited or unavailable
  Urgency urgency = Urgency::usual;
  std::stop_token stop = {};  // a wait ends with unavailable
};

class PatientTracker final : public Tracker {
 public:
  PatientTracker(Runtime& runtime, Tracker& tracker, Budget& budget, Patience patience)
      : runtime_(runtime), tracker_(tracker), budget_(budget), patience_(std::move(patience)) {}

  Capabilities capabilities() const override { return tracker_.capabilities(); }
  std::string place() const override { return tracker_.place(); }
  Answer<Account> who_am_i() override;
  Answer<std::vector<ItemState>> list(const ListRequest& request) override;
  Answer<Item> read(const ReadRequest& request) override;
  Answer<LabelsAfter> add_labels(const ItemId& item, const std::vector<std::string>& labels) override;
  Answer<LabelsAfter> remove_label(const ItemId& item, const std::string& label) override;
  Answer<Nothing> set_status(const ItemId& item, const std::string& status) override;
  Answer<Nothing> set_open(const ItemId& item, bool open) override;
  Answer<Comment> post(const ItemId& item, const std::string& text) override;
  Answer<Comment> edit(const ItemId& item, const CommentId& comment, const std::string& text) override;
  Answer<Nothing> erase(const ItemId& item, const CommentId& comment) override;
  Answer<Swapped> swap(const SwapRequest& request) override;

 private:
  template <class Call>
  auto patiently(CallKind kind, Call call) -> decltype(call());
  bool wait(Duration duration, Instant give_up_at);

  Runtime& runtime_;
  Tracker& tracker_;
  Budget& budget_;
  const Patience patience_;
};

}  // namespace fenceline::tracker
