// Against a collector of our own, over real HTTP on loopback.
#include "traces/exporter.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "runtime/thread_runtime.hpp"
#include "support/scripted_http.hpp"

namespace fenceline::traces {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using test::HttpAsked;
using test::ScriptedHttp;

const WallTime kBegin{std::chrono::sys_days{std::chrono::year{2026} / 11 / 16}};

Span a_span(const std::string& name = "run mail") {
  return {
      .context = {"0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", true},
      .parent_id = "00f067aa0ba902b7",
      .name = name,
      .kind = SpanKind::consumer,
      .started = kBegin,
      .ended = kBegin + 1500us,
      .attributes = {{"messaging.destination.name", "mail"}, {"fenceline.fence", std::int64_t{9'007'199'254'740'991}}},
      .links = {{"0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b8", {}}},
      .error = "failed, exit status 3"};
}

class TraceExporter : public testing::Test {
 protected:
  ExporterOptions options(const std::string& url) {
    return {.url = url,
            .headers = {{"api-key", "secret"}},
            .origin = {.service = "shop", .version = "1", .host = "h", .pid = 7},
            .linger = 1ms,
            .send_timeout = 5s,
            .flush_limit = 5s,
            .backoff_first = 1ms};
  }
  bool eventually(const std::function<bool()>& holds) {
    for (const Instant end = runtime_.now() + 30s; runtime_.now() < end; runtime_.sleep_for(1ms, {})) {
      if (holds()) return true;
    }
    return holds();
  }
  static json spans_of(const HttpAsked& asked) {
    return json::parse(asked.body)["resourceSpans"][0]["scopeSpans"][0]["spans"];
  }

  ThreadRuntime runtime_;
  const Log log_{null_log_sink()};
};

TEST_F(TraceExporter, SendsWhatACollectorReads) {
  ScriptedHttp collector([](const HttpAsked&) { return ScriptedHttp::answer(200, "{}"); });
  { Exporter(runtime_, log_, options(collector.url("/v1/traces"))).ended(a_span()); }
  const std::vector<HttpAsked> asked = collector.asked();
  ASSERT_EQ(asked.size(), 1u) << "what waits at the end is sent";
  EXPECT_EQ(asked[0].method, "POST");
  EXPECT_EQ(asked[0].target, "/v1/traces");
  EXPECT_NE(asked[0].head.find("Content-Type: application/json\r\n"), std::string::npos);
  EXPECT_NE(asked[0].head.find("api-key: secret\r\n"), std::string::npos);
  const json body = json::parse(asked[0].body);
  const json about = body["resourceSpans"][0]["resource"]["attributes"];
  EXPECT_EQ(about[0], json::parse(R"({"key":"service.name","value":{"stringValue":"shop"}})"));
  const json span = spans_of(asked[0])[0];
  EXPECT_TRUE(std::regex_match(span["traceId"].get<std::string>(), std::regex("[0-9a-f]{32}")));
  EXPECT_TRUE(std::regex_match(span["spanId"].get<std::string>(), std::regex("[0-9a-f]{16}")));
  EXPECT_EQ(span["parentSpanId"], "00f067aa0ba902b7");
  EXPECT_EQ(span["name"], "run mail");
  EXPECT_EQ(span["kind"], 5);
  EXPECT_EQ(span["startTimeUnixNano"], "1794787200000000000");
  EXPECT_EQ(span["endTimeUnixNano"], "1794787200001500000");
  EXPECT_EQ(span["attributes"][1], json::parse(R"({"key":"fenceline.fence","value":{"intValue":"9007199254740991"}})"));
  EXPECT_EQ(span["links"][0]["spanId"], "00f067aa0ba902b8");
  EXPECT_EQ(span["status"], json::parse(R"({"code":2,"message":"failed, exit status 3"})"));
}

TEST_F(TraceExporter, SpansGoTogetherAndNoneIsLostWhileTheCollectorIsBusy) {
  std::atomic<int> refused = 2;
  ScriptedHttp collector([&](const HttpAsked&) {
    return refused-- > 0 ? ScriptedHttp::answer(503, "") : ScriptedHttp::answer(200, "{}");
  });
  Exporter exporter(runtime_, log_, options(collector.url()));
  for (int i = 0; i < 1000; ++i) exporter.ended(a_span());
  EXPECT_TRUE(eventually([&] { return exporter.sent() == 1000; }));
  EXPECT_EQ(exporter.dropped(), 0);
  EXPECT_LT(collector.asked().size(), 50u);
}

TEST_F(TraceExporter, WithoutACollectorWhatHasNoRoomIsDroppedAndCounted) {
  int port = 0;
  {
    const ScriptedHttp gone([](const HttpAsked&) { return std::string(); });
    port = gone.port();
  }
  ExporterOptions away = options("http://127.0.0.1:" + std::to_string(port) + "/v1/traces");
  away.queue_most = 10;
  away.backoff_first = 1h;
  std::optional<Exporter> exporter(std::in_place, runtime_, log_, away);
  for (int i = 0; i < 10'000; ++i) exporter->ended(a_span());
  EXPECT_GT(exporter->dropped(), 9'000);
  const Instant asked = runtime_.now();
  exporter.reset();
  EXPECT_LT(runtime_.now() - asked, 20s) << "the end waits for nobody who is away";
}

TEST_F(TraceExporter, ACollectorThatDoesNotAnswerHoldsUpTheEndForAMomentOnly) {
  std::promise<void> over;
  const std::shared_future<void> waited = over.get_future().share();
  ScriptedHttp collector([&](const HttpAsked&) {
    waited.wait();
    return std::string();
  });
  ExporterOptions brief = options(collector.url());
  brief.flush_limit = 50ms;
  brief.linger = 1h;
  const Instant asked = runtime_.now();
  { Exporter(runtime_, log_, brief).ended(a_span()); }
  EXPECT_LT(runtime_.now() - asked, 20s);
  over.set_value();
}

TEST_F(TraceExporter, WhatIsRefusedIsNotSentAgain) {
  ScriptedHttp collector([](const HttpAsked& asked) {
    return spans_of(asked)[0]["name"] == "bad"
               ? ScriptedHttp::answer(400, "no")
               : ScriptedHttp::answer(200, R"({"partialSuccess":{"rejectedSpans":"1"}})");
  });
  ExporterOptions alone = options(collector.url());
  alone.batch_most = 1;
  Exporter exporter(runtime_, log_, alone);
  exporter.ended(a_span("bad"));
  exporter.ended(a_span("half"));
  EXPECT_TRUE(eventually([&] { return exporter.dropped() == 2; }));
  EXPECT_EQ(collector.asked().size(), 2u);
  EXPECT_EQ(exporter.sent(), 0);
}

}  // namespace
}  // namespace fenceline::traces
