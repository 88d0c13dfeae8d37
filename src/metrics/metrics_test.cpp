#include "metrics/metrics.hpp"

#include <fstream>
#include <regex>

#include "support/metrics_fixture.hpp"

namespace fenceline::metrics::test {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(FENCELINE_SOURCE_DIR + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_F(Metered, EveryFamilyIsThereAtTheStartWithAllItsSeriesAtZero) {
  const std::string text = metrics.text(clock.now());
  const std::map<std::string, std::string> samples = samples_of(text);
  const std::set<std::string> known{"fenceline_build_info", "fenceline_store_class", "process_start_time_seconds"};
  for (const FamilySpec& spec : families(
           {.version = "1.2.3", .store = "memory", .queues = {"mail", "print"}, .checks = {"clock", "stale_jobs"}})) {
    EXPECT_NE(text.find("# HELP " + spec.name + " " + spec.help + "\n"), std::string::npos) << spec.name;
    EXPECT_NE(text.find("# TYPE " + spec.name + " " + std::string(to_string(spec.kind)) + "\n"), std::string::npos)
        << spec.name;
    const std::string counted = spec.kind == FamilyKind::histogram ? spec.name + "_count" : spec.name;
    std::size_t series = 1;
    for (const Label& label : spec.labels) series *= label.values.size();
    EXPECT_EQ(static_cast<std::size_t>(
                  std::ranges::count_if(samples, [&](const auto& sample) { return name_of(sample.first) == counted; })),
              series)
        << spec.name;
  }
  for (const auto& [sample, value] : samples) {
    if (known.contains(name_of(sample))) continue;
    EXPECT_EQ(std::stod(value), 0) << sample;
  }
  EXPECT_EQ(samples.at("fenceline_build_info{store=\"memory\",version=\"1.2.3\"}"), "1");
  EXPECT_EQ(samples.at("fenceline_store_class{store=\"memory\"}"), "2");
}

TEST(Families, HaveNamesAndWordsThatTheTextFormatTakes) {
  std::set<std::string> names;
  for (const FamilySpec& spec : families({.version = "1", .store = "memory"})) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_EQ(spec.help.find_first_of("\n\\|"), std::string::npos) << spec.name;
    EXPECT_FALSE(spec.look.empty()) << spec.name;
    EXPECT_EQ(spec.name.ends_with("_total"), spec.kind == FamilyKind::counter) << spec.name;
    EXPECT_EQ(spec.buckets.empty(), spec.kind != FamilyKind::histogram) << spec.name;
    for (const Label& label : spec.labels) EXPECT_FALSE(label.values.empty()) << spec.name;
  }
}

TEST(Families, TheTableOfTheDocumentationIsTheirs) {
  EXPECT_NE(read("/docs/metrics.md").find(families_table()), std::string::npos)
      << "docs/metrics.md must have this table:\n"
      << families_table();
}

TEST(Families, EveryMetricThatARuleOrAPanelNamesIsOneOfThem) {
  std::set<std::string> names;
  for (const FamilySpec& spec : families({.version = "1", .store = "memory"})) {
    if (spec.kind != FamilyKind::histogram) names.insert(spec.name);
    else
      for (const char* end : {"_bucket", "_sum", "_count"}) names.insert(spec.name + end);
  }
  static const std::regex metric(R"(\bfenceline_[a-z_]+)");
  for (const char* path : {"/ops/prometheus/fenceline.rules.yml", "/ops/grafana/fenceline.json"}) {
    const std::string text = read(path);
    EXPECT_FALSE(text.empty()) << path;
    for (auto it = std::sregex_iterator(text.begin(), text.end(), metric); it != std::sregex_iterator(); ++it)
      EXPECT_TRUE(names.contains(it->str())) << path << " names " << it->str();
  }
}

TEST(Families, QueuesBeyondTheFirstFiftyAndChecksThatAreNotKnownCountAsOther) {
  ManualClock clock;
  std::vector<std::string> queues;
  for (int i = 0; i < 60; ++i) queues.push_back("q" + std::to_string(i));
  Metrics metrics({.version = "1", .store = "memory", .queues = queues}, clock);
  metrics.set(Family::oldest_ready_seconds, {"q49"}, 3);
  metrics.set(Family::oldest_ready_seconds, {"q50"}, 5);
  metrics.set(Family::finding, {"a-check-of-tomorrow"}, 2);
  const std::map<std::string, std::string> samples = samples_of(metrics.text(clock.now()));
  EXPECT_EQ(samples.at("fenceline_oldest_ready_seconds{queue=\"q49\"}"), "3");
  EXPECT_EQ(samples.at("fenceline_oldest_ready_seconds{queue=\"other\"}"), "5");
  EXPECT_FALSE(samples.contains("fenceline_oldest_ready_seconds{queue=\"q50\"}"));
  EXPECT_EQ(samples.at("fenceline_finding{check=\"other\"}"), "2");
}

TEST_F(Metered, AnUnknownLabelValueStopsNothing) {
  for (const FamilySpec& spec : families({.version = "1.2.3", .store = "memory"})) {
    if (spec.labels.size() != 1) continue;
    if (spec.kind == FamilyKind::counter) metrics.add(spec.family, {"of_tomorrow"});
    else if (spec.kind == FamilyKind::gauge) metrics.set(spec.family, {"of_tomorrow"}, 1);
    else metrics.observe(spec.family, {"of_tomorrow"}, 1);
    EXPECT_EQ(metrics.value(spec.family, {"of_tomorrow"}), 1) << spec.name;
  }
}

TEST_F(Metered, TheAgeOfTheSampleGrowsUntilThereIsANewOne) {
  clock.advance(std::chrono::seconds{40});
  EXPECT_EQ(samples_of(metrics.text(clock.now())).at("fenceline_sample_age_seconds"), "40");
  metrics.sampled(clock.now());
  clock.advance(std::chrono::seconds{3});
  EXPECT_EQ(samples_of(metrics.text(clock.now())).at("fenceline_sample_age_seconds"), "3");
}

}  // namespace
}  // namespace fenceline::metrics::test
