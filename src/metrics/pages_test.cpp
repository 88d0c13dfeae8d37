#include "metrics/pages.hpp"

#include <gtest/gtest.h>

#include "sim/runtime/sim_runtime.hpp"

namespace fenceline::metrics {
namespace {

using namespace std::chrono_literals;

struct PagesTest : testing::Test {
  sim::StackPool stacks;
  sim::Simulation simulation{1, stacks};
  sim::Machine machine{"m", 0s, 0, 0s};
  sim::SimRuntime process{simulation, machine, "p"};
  Metrics metrics{{.version = "1", .store = "memory"}, process};
  bool asked = false;

  void serve(const std::function<void(Pages&)>& ask) {
    process.start([&](std::stop_token) {
      Sampler sampler(process, metrics, [&] {
        metrics.set(Family::stale_jobs, 7);
        return true;
      });
      Task task = process.spawn("sampler", [&](std::stop_token stop) { sampler.run(std::move(stop)); });
      Pages pages(process, metrics, sampler);
      ask(pages);
      asked = true;
    });
    simulation.run_until(Instant::max());
    EXPECT_TRUE(asked);
  }
};

TEST_F(PagesTest, MetricsAreTextOfPrometheusAndFresh) {
  serve([](Pages& pages) {
    const http::HttpResponse page =
        pages.answer({.method = "GET", .target = "/metrics?x=1", .headers = {}, .body = {}});
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.content_type, "text/plain; version=0.0.4; charset=utf-8");
    EXPECT_NE(page.body.find("fenceline_stale_jobs 7\n"), std::string::npos) << "the first scrape has a sample";
  });
}

TEST_F(PagesTest, ItLivesAndIsReadyAfterAnAnswerOfTheStoreUntilThatIsLongAgo) {
  serve([this](Pages& pages) {
    const http::HttpRequest ready{.method = "GET", .target = "/readyz", .headers = {}, .body = {}};
    EXPECT_EQ(pages.answer({.method = "GET", .target = "/livez", .headers = {}, .body = {}}).status, 200);
    EXPECT_EQ(pages.answer(ready).status, 503);
    metrics.answered(process.now());
    EXPECT_EQ(pages.answer(ready).status, 200);
    process.sleep_for(kReadyFor + 1s, {});
    EXPECT_EQ(pages.answer(ready).status, 503);
    EXPECT_NE(pages.answer(ready).body.find("46s"), std::string::npos) << pages.answer(ready).body;
  });
}

TEST_F(PagesTest, NothingElseIsThereAndNothingCanBeWritten) {
  serve([](Pages& pages) {
    EXPECT_EQ(pages.answer({.method = "GET", .target = "/", .headers = {}, .body = {}}).status, 404);
    EXPECT_EQ(pages.answer({.method = "POST", .target = "/metrics", .headers = {}, .body = {}}).status, 405);
  });
}

}  // namespace
}  // namespace fenceline::metrics
