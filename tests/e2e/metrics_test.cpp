// `--metrics` as Prometheus sees it: the real program, Debian's promtool and Debian's Prometheus.
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <sstream>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

const Words kAnyPort{"--metrics", "127.0.0.1:0"};

// Where a process says that it serves, or empty.
std::string address_of(const Running& running) {
  std::string address;
  eventually([&] {
    for (const std::string& line : lines_of(running.err())) {
      const Json event = Json::parse(line, nullptr, false);
      if (event.is_object() && event.value("event", "") == "metrics_listening") address = event.value("address", "");
    }
    return !address.empty();
  });
  EXPECT_FALSE(address.empty()) << running.err();
  return address;
}

std::string page(const Workplace& place, const std::string& address, const std::string& path) {
  const Ended got = place.run({"curl", "-s", "-S", "--max-time", "10", "http://" + address + path});
  EXPECT_EQ(got.status, 0) << got.err;
  return got.out;
}

std::map<std::string, double> samples(const Workplace& place, const std::string& address) {
  std::map<std::string, double> found;
  for (const std::string& line : lines_of(page(place, address, "/metrics"))) {
    if (line.starts_with("#") || line.empty()) continue;
    const std::size_t end = line.rfind(' ');
    found[line.substr(0, end)] = std::stod(line.substr(end + 1));
  }
  return found;
}

Ended stop(Running& running) {
  running.signal(SIGTERM);
  return running.wait();
}

// Debian's Prometheus in a folder of its own, that looks at one address every second.
class Prometheus {
 public:
  Prometheus(const Workplace& place, const std::string& target) : place_(place) {
    place.write(
        "prometheus.yml",
        "global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: fenceline\n    static_configs: [{targets: [\"" +
            target + "\"]}]\n");
    running_ = std::make_unique<Running>(Words{"prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=tsdb",
                                               "--web.listen-address=127.0.0.1:0", "--log.format=json"},
                                         Setting{}, place.folder(), false);
    EXPECT_TRUE(eventually([&] {
      for (const std::string& line : lines_of(running_->err())) {
        const Json event = Json::parse(line, nullptr, false);
        if (event.is_object() && event.value("msg", "") == "Listening on") address_ = event.value("address", "");
      }
      return !address_.empty();
    })) << running_->err();
  }
  ~Prometheus() { stop(*running_); }
  Prometheus(const Prometheus&) = delete;
  Prometheus& operator=(const Prometheus&) = delete;

  // The value of a query that has one; empty until then.
  std::string answer(const std::string& query) const {
    const Ended got =
        place_.run({"curl", "-s", "-G", "http://" + address_ + "/api/v1/query", "--data-urlencode", "query=" + query});
    const Json reply = Json::parse(got.out, nullptr, false);
    if (!reply.is_object() || reply.value("status", "") != "success" || reply["data"]["result"].empty()) return "";
    return reply["data"]["result"][0]["value"][1];
  }

 private:
  const Workplace& place_;
  std::unique_ptr<Running> running_;
  std::string address_;
};

TEST(Metrics, EverythingIsThereAtZeroBeforeTheFirstJobAndPromtoolHasNothingToSay) {
  const Workplace place;
  const auto worker = place.start(joined(joined({"work", "q"}, kAnyPort), {"--", "true"}));
  const std::string address = address_of(*worker);
  const std::string text = page(place, address, "/metrics");
  const Ended checked = place.run({"promtool", "check", "metrics"}, {.input = text});
  EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
  EXPECT_EQ(checked.out + checked.err, "");
  const std::map<std::string, double> at_start = samples(place, address);
  for (const char* name :
       {"fenceline_lock_wait_seconds_count{class=\"other\",lock=\"other\"}",
        "fenceline_lock_wait_seconds_bucket{class=\"other\",lock=\"other\",le=\"+Inf\"}", "fenceline_stale_jobs",
        "fenceline_orphans_replayed_total", "fenceline_fail_open_total",
        "fenceline_stale_writes_refused_total{verb=\"settle\"}", "fenceline_deliveries_total{queue=\"q\"}",
        "fenceline_dead_letters_total", "fenceline_jobs{queue=\"q\",state=\"ready\"}", "fenceline_effects_in_doubt",
        "fenceline_schedule_lag_seconds", "fenceline_ticks_skipped_total{reason=\"missed\"}",
        "fenceline_tracker_requests_total{kind=\"write\"}", "fenceline_renewal_failures_total{kind=\"lock\"}",
        "fenceline_finding{check=\"stale_jobs\"}"}) {
    ASSERT_TRUE(at_start.contains(name)) << name;
    EXPECT_EQ(at_start.at(name), 0) << name;
  }
  EXPECT_EQ(at_start.at("fenceline_store_up"), 1);
  EXPECT_EQ(page(place, address, "/livez"), "ok\n");
  EXPECT_EQ(page(place, address, "/readyz"), "ok\n");
  EXPECT_EQ(stop(*worker).status, 0);
}

TEST(Metrics, EveryCheckOfDoctorHasItsSeries) {
  const Workplace place;
  const auto worker = place.start(joined(joined({"work", "q"}, kAnyPort), {"--", "true"}));
  const std::map<std::string, double> found = samples(place, address_of(*worker));
  const Json findings = Json::parse(place.fenceline({"doctor", "--json"}).out)["findings"];
  EXPECT_GT(findings.size(), 10u);
  for (const Json& finding : findings) {
    const std::string name = finding["name"];
    if (name == "read" || name == "file") continue;  // doctor's own looks; workers have store_call_seconds
    EXPECT_TRUE(found.contains("fenceline_finding{check=\"" + name + "\"}")) << name << " would count as other";
  }
  stop(*worker);
}

TEST(Metrics, DebiansPrometheusScrapesAWorkerAndAnswersForIt) {
  const Workplace place;
  const auto worker = place.start(joined(joined({"work", "q"}, kAnyPort), {"--", "sh", "-c", "read s; exit $s"}));
  const Prometheus prometheus(place, address_of(*worker));
  ASSERT_TRUE(eventually([&] { return prometheus.answer("fenceline_deliveries_total{queue=\"q\"}") == "0"; }))
      << "it is there before the first job";
  for (const char* status : {"0", "0", "65"})
    ASSERT_EQ(place.fenceline({"enqueue", "q", "--payload", status}).status, 0);
  ASSERT_EQ(place.fenceline({"enqueue", "nobody", "--payload", "0"}).status, 0);
  EXPECT_TRUE(
      eventually([&] { return prometheus.answer("fenceline_outcomes_total{queue=\"q\",outcome=\"done\"}") == "2"; }));
  EXPECT_TRUE(eventually([&] { return prometheus.answer("fenceline_dead_letters_total") == "1"; }));
  EXPECT_TRUE(eventually(
      [&] { return prometheus.answer("sum by (state) (fenceline_jobs{queue=\"q\",state=\"dead\"})") == "1"; }));
  EXPECT_TRUE(eventually([&] { return prometheus.answer("fenceline_jobs{queue=\"other\",state=\"ready\"}") == "1"; }))
      << "a queue that nobody serves";
  EXPECT_TRUE(eventually([&] { return prometheus.answer("fenceline_job_run_seconds_count{queue=\"q\"}") == "3"; }));
  EXPECT_EQ(prometheus.answer("up"), "1");
  EXPECT_EQ(stop(*worker).status, 0);
}

TEST(Metrics, AJobOfAKilledWorkerIsStaleAndThenAnOrphanThatWasReplayed) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"enqueue", "q"}).status, 0);
  const auto dies = place.start({"work", "q", "--ttl", "1s", "--", "sh", "-c", "touch began; sleep 60"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(place.file("began")); }));
  dies->signal(SIGKILL);
  dies->wait();
  const auto looks = place.start(joined(joined({"work", "elsewhere"}, kAnyPort), {"--", "true"}));
  const std::string address = address_of(*looks);
  EXPECT_TRUE(eventually([&] { return samples(place, address).at("fenceline_stale_jobs") == 1; }));
  EXPECT_GT(samples(place, address).at("fenceline_finding{check=\"stale_jobs\"}"), 0);
  const auto takes = place.start(joined(joined({"work", "q", "--ttl", "1s"}, kAnyPort), {"--", "true"}));
  const std::string taker = address_of(*takes);
  EXPECT_TRUE(eventually([&] { return samples(place, taker).at("fenceline_orphans_replayed_total") == 1; }));
  EXPECT_EQ(samples(place, taker).at("fenceline_takeovers_total{kind=\"job\"}"), 1);
  EXPECT_TRUE(eventually([&] { return samples(place, address).at("fenceline_stale_jobs") == 0; }));
  EXPECT_EQ(samples(place, address).at("fenceline_orphans_replayed_total"), 0) << "it was not this one";
  stop(*takes);
  stop(*looks);
}

TEST(Metrics, ALockTellsHowLongItWaitedAndALeaderThatItRenews) {
  const Workplace place;
  const auto held = place.start(joined(joined({"lock", "deploy", "--json"}, kAnyPort), {"--", "sleep", "60"}));
  const std::string holder = address_of(*held);
  const std::string labels = "{class=\"item\",lock=\"other\"}";
  EXPECT_TRUE(eventually([&] { return samples(place, holder).at("fenceline_lock_wait_seconds_count" + labels) == 1; }));
  EXPECT_EQ(samples(place, holder).at("fenceline_lock_hold_seconds_count" + labels), 0);
  stop(*held);
  const auto leads =
      place.start(joined(joined({"elect", "leader", "--ttl", "1s", "--json"}, kAnyPort), {"--", "sleep", "60"}));
  const std::string leader = address_of(*leads);
  EXPECT_TRUE(eventually([&] { return samples(place, leader).at("fenceline_renewals_total{kind=\"lock\"}") > 0; }));
  stop(*leads);
}

TEST(Metrics, WorkThatContinuesWithoutItsLockIsCounted) {
  const Workplace place;
  place.write("fenceline.toml", "[lock.bold]\nttl = \"5m\"\nwait = \"0s\"\non_acquire_error = \"open\"\n");
  const Setting away{.input = "", .env = {{"FENCELINE_STORE", "postgres://nobody@127.0.0.1:1/x"}}};
  const auto bold = place.start(
      joined(joined({"lock", "deploy", "--class", "bold", "--json"}, kAnyPort), {"--", "sleep", "60"}), away);
  const std::string address = address_of(*bold);
  EXPECT_TRUE(eventually([&] { return samples(place, address).at("fenceline_fail_open_total") == 1; }));
  EXPECT_EQ(samples(place, address).at("fenceline_store_up"), 0);
  EXPECT_EQ(samples(place, address)
                .at("fenceline_build_info{store=\"postgres\",version=\"" +
                    Json::parse(place.fenceline({"version", "--json"}).out).value("version", "") + "\"}"),
            1);
  stop(*bold);
}

TEST(Metrics, AnAddressThatCannotBeIsOneLineAndNoStoreIsMade) {
  const Workplace place;
  const auto refused = [&](const std::string& address, const Words& more = {}) {
    Ended ended = place.fenceline(joined(joined({"work", "q", "--drain", "--metrics", address}, more), {"--", "true"}));
    EXPECT_TRUE(one_line(ended.err)) << ended.err;
    EXPECT_FALSE(std::filesystem::exists(place.file("fenceline.db"))) << address;
    return ended;
  };
  for (const char* bad : {"here", "127.0.0.1", "127.0.0.1:66000", "[::1:9464", ""})
    EXPECT_EQ(refused(bad).status, 64) << bad;
  const Ended open = refused(":0");
  EXPECT_EQ(open.status, 69);
  EXPECT_NE(open.err.find("--accept open-listen"), std::string::npos) << open.err;
  const Workplace other;
  const auto worker = other.start(joined(joined({"work", "q"}, kAnyPort), {"--", "true"}));
  const Ended taken = refused(address_of(*worker));
  EXPECT_EQ(taken.status, 75) << taken.err;
  stop(*worker);
}

TEST(Metrics, WithAcceptItListensForOtherMachinesToo) {
  const Workplace place;
  const auto worker = place.start({"work", "q", "--metrics", ":0", "--accept", "open-listen", "--", "true"});
  const std::string address = address_of(*worker);
  EXPECT_EQ(page(place, "127.0.0.1" + address.substr(address.rfind(':')), "/livez"), "ok\n") << address;
  EXPECT_EQ(stop(*worker).status, 0);
}

// What node_exporter's textfile collector finds after short runs.
TEST(MetricsFile, ShortRunsAddUpInOneFileWithTheClassAndTheNamesThatItDeclares) {
  const Workplace place;
  place.write("fenceline.toml", "[lock.nightly]\nttl = \"1m\"\nnames = \"backup, close\"\n");
  const Words file{"--metrics-file", "run.prom"};
  const auto has_line = [&](const std::string& line) {
    const std::string text = Workplace::read(place.file("run.prom"));
    EXPECT_TRUE(has(text, line + "\n")) << line << " in\n" << text;
  };
  for (const char* key : {"backup", "backup", "elsewhere"})
    ASSERT_EQ(place.fenceline(joined(joined({"lock", key, "--class", "nightly"}, file), {"--", "true"})).status, 0);
  has_line("fenceline_lock_hold_seconds_count{class=\"nightly\",lock=\"backup\"} 2");
  has_line("fenceline_lock_hold_seconds_count{class=\"nightly\",lock=\"other\"} 1");
  ASSERT_EQ(place.fenceline(joined(joined({"elect", "leader"}, file), {"--", "true"})).status, 0);
  has_line("fenceline_lock_hold_seconds_count{class=\"election\",lock=\"other\"} 1");
  ASSERT_EQ(place.fenceline(joined({"enqueue", "q"}, file)).status, 0);
  ASSERT_EQ(place.fenceline(joined(joined({"work", "q", "--drain"}, file), {"--", "true"})).status, 0);
  has_line("fenceline_store_call_seconds_count{verb=\"enqueue\"} 1");
  has_line("fenceline_lock_hold_seconds_count{class=\"nightly\",lock=\"backup\"} 2");
  EXPECT_TRUE(has(Workplace::read(place.file("run.prom")), "fenceline_deliveries_total"));
  EXPECT_FALSE(has(Workplace::read(place.file("run.prom")), "fenceline_workers"));
  EXPECT_EQ(place.fenceline({"lock", "x", "--metrics-file", "run.txt", "--", "true"}).status, 64);
  EXPECT_EQ(place.fenceline({"work", "q", "--metrics-file", "run.prom", "--", "true"}).status, 64);
  EXPECT_EQ(place.fenceline({"lock", "x", "--metrics-file", "no/run.prom", "--", "true"}).status, 66);
}

}  // namespace
}  // namespace fenceline::e2e
