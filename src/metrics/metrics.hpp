// What a process counts of itself, for Prometheus: every family of families.hpp, present from the start. Its library
// stays in the source.
//
// Nothing is decided by it. Safe to call from several threads; never waits for a store.
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "metrics/families.hpp"
#include "runtime/clock.hpp"

namespace fenceline::metrics {

class Metrics {
 public:
  using Labels = std::initializer_list<std::string_view>;  // values, in the order of the family's labels

  // The age of the sample counts from now on until there is one.
  Metrics(const MetricsOptions& options, const Clock& clock);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void add(Family counter, Labels labels = {}, double by = 1);
  void set(Family gauge, Labels labels, double value);
  void set(Family gauge, double value) { set(gauge, {}, value); }
  void observe(Family histogram, Labels labels, double value);
  void observe(Family histogram, double value) { observe(histogram, {}, value); }

  // Its kind.
  const std::string& store() const { return store_; }
  // What the label `class` says of a lock of this pattern.
  std::string_view lock_class(std::string_view pattern) const {
    return lock_class_.empty() ? pattern : std::string_view(lock_class_);
  }

  // As it is now; of a histogram the number of observations.
  double value(Family family, Labels labels = {}) const;

  // The store, or the tracker, answered, or did not.
  void answered(Instant now);
  void not_answered();
  // When it last did, whatever happened since; empty: not yet.
  std::optional<Instant> answered_at() const;

  // The gauges about the store are as of now.
  void sampled(Instant now) { sampled_at_ = now; }

  // The text format of Prometheus.
  std::string text(Instant now);
  // The same of a process that is about to end: without the gauges that only a look at the store brings up to date.
  std::string run_text() const;

 private:
  struct Parts;
  std::size_t series_of(Family family, Labels labels) const;

  const std::unique_ptr<Parts> parts_;
  const std::string store_;
  const std::string lock_class_;
  std::atomic<Instant> sampled_at_;
  std::atomic<Instant> answered_at_;  // the least there is: not yet
};

constexpr double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace fenceline::metrics
