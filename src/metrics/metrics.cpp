#include "metrics/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <vector>

#include "base/check.hpp"

namespace fenceline::metrics {
namespace {

// A value that is not in the list counts as the last one, which is "other" wherever values come from elsewhere: what is
// counted must never stop the work.
std::size_t place_of(const Label& label, std::string_view value) {
  const auto found = std::ranges::find(label.values, value);
  return std::min(static_cast<std::size_t>(found - label.values.begin()), label.values.size() - 1);
}

}  // namespace

// One slot for each combination of label values, the last label running fastest.
struct Metrics::Parts {
  struct Entry {
    FamilySpec spec;
    std::vector<prometheus::Counter*> counters;
    std::vector<prometheus::Gauge*> gauges;
    std::vector<prometheus::Histogram*> histograms;
  };

  void add(FamilySpec spec) {
    entries.push_back({.spec = std::move(spec), .counters = {}, .gauges = {}, .histograms = {}});
    Entry& entry = entries.back();
    switch (entry.spec.kind) {
      case FamilyKind::counter: {
        auto& family = prometheus::BuildCounter().Name(entry.spec.name).Help(entry.spec.help).Register(registry);
        each_series(entry.spec,
                    [&](const prometheus::Labels& labels) { entry.counters.push_back(&family.Add(labels)); });
        break;
      }
      case FamilyKind::gauge: {
        auto& family = prometheus::BuildGauge().Name(entry.spec.name).Help(entry.spec.help).Register(registry);
        each_series(entry.spec, [&](const prometheus::Labels& labels) { entry.gauges.push_back(&family.Add(labels)); });
        break;
      }
      case FamilyKind::histogram: {
        auto& family = prometheus::BuildHistogram().Name(entry.spec.name).Help(entry.spec.help).Register(registry);
        each_series(entry.spec, [&](const prometheus::Labels& labels) {
          entry.histograms.push_back(&family.Add(labels, entry.spec.buckets));
        });
        break;
      }
    }
  }

  template <class Visit>
  static void each_series(const FamilySpec& spec, Visit visit) {
    std::vector<prometheus::Labels> all{{}};
    for (const Label& label : spec.labels) {
      std::vector<prometheus::Labels> longer;
      for (const prometheus::Labels& one : all) {
        for (const std::string& value : label.values) {
          longer.push_back(one);
          longer.back()[label.name] = value;
        }
      }
      all = std::move(longer);
    }
    for (const prometheus::Labels& labels : all) visit(labels);
  }

  const Entry& of(Family family) const { return entries[static_cast<std::size_t>(family)]; }

  prometheus::Registry registry;
  std::vector<Entry> entries;
};

Metrics::Metrics(const MetricsOptions& options, const Clock& clock)
    : parts_(std::make_unique<Parts>()),
      store_(options.store),
      lock_class_(options.lock_class),
      sampled_at_(clock.now()),
      answered_at_(Instant::min()) {
  for (FamilySpec& spec : families(options)) {
    check(static_cast<std::size_t>(spec.family) == parts_->entries.size(),
          "families stand in the order of their enumeration");
    parts_->add(std::move(spec));
  }
  set(Family::build_info, {options.version, options.store}, 1);
  set(Family::store_class, {options.store}, 1 + static_cast<int>(options.guarantee));
  set(Family::process_start_time_seconds, std::chrono::duration<double>(clock.wall_now().time_since_epoch()).count());
}

Metrics::~Metrics() = default;

std::size_t Metrics::series_of(Family family, Labels labels) const {
  const FamilySpec& spec = parts_->of(family).spec;
  check(labels.size() == spec.labels.size(), "a value for each label");
  std::size_t place = 0;
  std::size_t at = 0;
  for (const std::string_view value : labels) {
    const Label& label = spec.labels[at++];
    place = place * label.values.size() + place_of(label, value);
  }
  return place;
}

void Metrics::add(Family counter, Labels labels, double by) {
  parts_->of(counter).counters.at(series_of(counter, labels))->Increment(by);
}

void Metrics::set(Family gauge, Labels labels, double value) {
  parts_->of(gauge).gauges.at(series_of(gauge, labels))->Set(value);
}

void Metrics::observe(Family histogram, Labels labels, double value) {
  parts_->of(histogram).histograms.at(series_of(histogram, labels))->Observe(value);
}

double Metrics::value(Family family, Labels labels) const {
  const Parts::Entry& entry = parts_->of(family);
  const std::size_t place = series_of(family, labels);
  switch (entry.spec.kind) {
    case FamilyKind::counter: return entry.counters[place]->Value();
    case FamilyKind::gauge: return entry.gauges[place]->Value();
    case FamilyKind::histogram: return static_cast<double>(entry.histograms[place]->Collect().histogram.sample_count);
  }
  return 0;
}

void Metrics::answered(Instant now) {
  answered_at_ = now;
  set(Family::store_up, 1);
}

void Metrics::not_answered() { set(Family::store_up, 0); }

std::optional<Instant> Metrics::answered_at() const {
  const Instant at = answered_at_;
  return at == Instant::min() ? std::nullopt : std::optional(at);
}

std::string Metrics::text(Instant now) {
  set(Family::sample_age_seconds, seconds_of(std::max(Duration{0}, now - sampled_at_.load())));
  return prometheus::TextSerializer().Serialize(parts_->registry.Collect());
}

std::string Metrics::run_text() const {
  std::vector<prometheus::MetricFamily> collected = parts_->registry.Collect();
  std::erase_if(collected, [&](const prometheus::MetricFamily& family) {
    const auto entry = std::ranges::find(parts_->entries, family.name, [](const auto& any) { return any.spec.name; });
    if (entry == parts_->entries.end() || entry->spec.kind != FamilyKind::gauge) return false;
    const Family which = entry->spec.family;
    return which != Family::build_info && which != Family::store_class && which != Family::store_up;
  });
  return prometheus::TextSerializer().Serialize(collected);
}

}  // namespace fenceline::metrics
