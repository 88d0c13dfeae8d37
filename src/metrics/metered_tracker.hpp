// A Tracker that counts the requests that its user sends to another one, and knows what the tracker said is left of
// them. It changes nothing.
#pragma once

#include "metrics/metrics.hpp"
#include "runtime/clock.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::metrics {

class MeteredTracker final : public tracker::Tracker {
 public:
  // All must outlive it.
  MeteredTracker(const Clock& clock, Metrics& metrics, tracker::Tracker& inner)
      : clock_(clock), metrics_(metrics), inner_(inner) {}

  tracker::Capabilities capabilities() const override { return inner_.capabilities(); }
  std::string place() const override { return inner_.place(); }
  tracker::Answer<tracker::Account> who_am_i() override;
  tracker::Answer<std::vector<tracker::ItemState>> list(const tracker::ListRequest& request) override;
  tracker::Answer<tracker::Item> read(const tracker::ReadRequest& request) override;
  tracker::Answer<tracker::LabelsAfter> add_labels(const tracker::ItemId& item,
                                                   const std::vector<std::string>& labels) override;
  tracker::Answer<tracker::LabelsAfter> remove_label(const tracker::ItemId& item, const std::string& label) override;
  tracker::Answer<tracker::Nothing> set_status(const tracker::ItemId& item, const std::string& status) override;
  tracker::Answer<tracker::Nothing> set_open(const tracker::ItemId& item, bool open) override;
  tracker::Answer<tracker::Comment> post(const tracker::ItemId& item, const std::string& text) override;
  tracker::Answer<tracker::Comment> edit(const tracker::ItemId& item, const tracker::CommentId& comment,
                                         const std::string& text) override;
  tracker::Answer<tracker::Nothing> erase(const tracker::ItemId& item, const tracker::CommentId& comment) override;
  tracker::Answer<tracker::Swapped> swap(const tracker::SwapRequest& request) override;

 private:
  template <class Call>
  auto counted(std::string_view kind, Call call) -> decltype(call());
  void count(std::string_view kind, const tracker::Served& served, const tracker::Trouble* trouble, Instant asked);
  void count_budget(const tracker::Served& served, std::optional<tracker::TroubleKind> what);
  void set_finding(std::string_view check, FindingStatus status);

  const Clock& clock_;
  Metrics& metrics_;
  tracker::Tracker& inner_;
};

}  // namespace fenceline::metrics
