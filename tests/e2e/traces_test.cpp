// From `fenceline enqueue` to what a command sees: one trace, read by a collector of our own over real HTTP.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "program.hpp"
#include "support/scripted_http.hpp"

namespace fenceline::e2e {
namespace {

using test::HttpAsked;
using test::ScriptedHttp;

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c";
const std::string kCaller = "b7ad6b7169203331";

class Collector {
 public:
  std::string url() const { return http_.url(""); }
  Json spans() const {
    Json all = Json::array();
    for (const HttpAsked& asked : http_.asked()) {
      EXPECT_EQ(asked.target, "/v1/traces");
      const Json body = Json::parse(asked.body);
      for (const Json& span : body["resourceSpans"][0]["scopeSpans"][0]["spans"]) all.push_back(span);
    }
    return all;
  }
  Json named(const std::string& name) const {
    const Json all = spans();
    const auto found = std::ranges::find_if(all, [&](const Json& span) { return span["name"] == name; });
    return found == all.end() ? Json() : *found;
  }
  Json resource() const { return Json::parse(http_.asked().at(0).body)["resourceSpans"][0]["resource"]; }

 private:
  ScriptedHttp http_{[](const HttpAsked&) { return ScriptedHttp::answer(200, "{}"); }};
};

Json attribute(const Json& span, const std::string& name) {
  for (const Json& one : span["attributes"]) {
    if (one["key"] == name) return one["value"];
  }
  return {};
}

TEST(Traces, GoFromTheProducerOverTheJobToTheCommand) {
  const Workplace place;
  const Collector collector;
  const Setting setting{.env = {{"OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()},
                                {"OTEL_SERVICE_NAME", "shop"},
                                {"TRACEPARENT", "00-" + kTrace + "-" + kCaller + "-01"}}};
  const Ended put = place.fenceline({"enqueue", "mail"}, setting);
  ASSERT_EQ(put.status, 0) << put.err;
  const Setting worker{.env = {{"OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()}}};
  const Ended worked =
      place.fenceline({"work", "mail", "--drain", "--", "sh", "-c", "echo $TRACEPARENT; exit 65"}, worker);
  ASSERT_EQ(worked.status, 0) << worked.err;
  const Json sent = collector.named("enqueue mail"), ran = collector.named("run mail");
  ASSERT_TRUE(sent.is_object() && ran.is_object()) << collector.spans().dump();
  EXPECT_EQ(sent["traceId"], kTrace);
  EXPECT_EQ(sent["parentSpanId"], kCaller);
  EXPECT_EQ(sent["kind"], 4);
  EXPECT_EQ(ran["traceId"], kTrace);
  EXPECT_EQ(ran["parentSpanId"], sent["spanId"]);
  EXPECT_EQ(ran["kind"], 5);
  EXPECT_EQ(ran["status"]["code"], 2);
  EXPECT_EQ(attribute(ran, "fenceline.outcome")["stringValue"], "dead");
  EXPECT_EQ(attribute(ran, "messaging.message.id"), attribute(sent, "messaging.message.id"));
  EXPECT_EQ(attribute(ran, "fenceline.delivery")["intValue"], "1");
  EXPECT_EQ(collector.resource()["attributes"][0]["value"]["stringValue"], "shop");
}

TEST(Traces, ACommandFindsTheSpanOfItsRun) {
  const Workplace place;
  const Collector collector;
  place.write("fenceline.toml", "[trace]\nendpoint = \"" + collector.url() + "\"\nservice = \"by-file\"\n");
  ASSERT_EQ(place.fenceline({"enqueue", "mail", "--jsonl", "-"}, {.input = "1\n2\n3\n"}).status, 0);
  // The inner one hangs below the run.
  const Ended worked = place.fenceline({"work", "mail", "--drain", "--concurrency", "1", "--", "sh", "-c",
                                        "printf %s $TRACEPARENT; \"$0\" enqueue later >/dev/null", program()});
  ASSERT_EQ(worked.status, 0) << worked.err;
  const Json all = collector.spans();
  int below = 0;
  for (const Json& job : place.jobs()) {
    if (job["queue"] != "mail") continue;
    const std::string seen = Json::parse(place.fenceline({"job", "show", job["id"], "--json"}).out)["result"];
    for (const Json& span : all) {
      if (span["name"] == "run mail" &&
          seen == "00-" + span["traceId"].get<std::string>() + "-" + span["spanId"].get<std::string>() + "-01") {
        below += static_cast<int>(std::ranges::count_if(all, [&](const Json& other) {
          return other["name"] == "enqueue later" && other["parentSpanId"] == span["spanId"] &&
                 other["traceId"] == span["traceId"];
        }));
      }
    }
  }
  ASSERT_EQ(below, 3) << all.dump();
  EXPECT_EQ(attribute(collector.named("enqueue mail"), "messaging.batch.message_count")["intValue"], "3");
  EXPECT_EQ(collector.resource()["attributes"][0]["value"]["stringValue"], "by-file");
}

TEST(Traces, AreOffUnlessACollectorIsNamed) {
  const Workplace place;
  const std::string context = "00-" + kTrace + "-" + kCaller + "-01";
  ASSERT_EQ(place.fenceline({"enqueue", "mail"}, {.env = {{"TRACEPARENT", context}}}).status, 0);
  ASSERT_EQ(place.fenceline({"enqueue", "mail"}).status, 0);
  const Json jobs = place.jobs();
  std::vector<std::string> contexts;
  for (const Json& job : jobs)
    contexts.push_back(Json::parse(place.fenceline({"job", "show", job["id"], "--json"}).out)["traceparent"]);
  std::ranges::sort(contexts);
  EXPECT_EQ(contexts, (std::vector<std::string>{"", context}));
}

TEST(Traces, WorkGoesOnWithoutACollector) {
  const Workplace place;
  int port = 0;
  {
    const ScriptedHttp gone([](const HttpAsked&) { return std::string(); });
    port = gone.port();
  }
  const Setting away{.env = {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:" + std::to_string(port)}}};
  ASSERT_EQ(place.fenceline({"enqueue", "mail"}, away).status, 0);
  const Ended worked = place.fenceline({"work", "mail", "--drain", "--json", "--", "true"}, away);
  ASSERT_EQ(worked.status, 0) << worked.err;
  EXPECT_EQ(Json::parse(worked.out)["done"], 1);
  EXPECT_NE(worked.err.find("traces_dropped"), std::string::npos) << worked.err;
}

TEST(Traces, ACollectorThatIsNoUrlIsOneLineAndChangesNothing) {
  const Workplace place;
  for (const Words& words : {Words{"enqueue", "mail"}, Words{"work", "mail", "--drain", "--", "true"}}) {
    const Ended ended =
        place.fenceline(words, {.env = {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:secret@collector:4318"}}});
    EXPECT_EQ(ended.status, 64);
    EXPECT_TRUE(one_line(ended.err)) << ended.err;
    EXPECT_EQ(ended.err.find("secret"), std::string::npos) << ended.err;
    EXPECT_NE(ended.err.find("OTEL_EXPORTER_OTLP_ENDPOINT"), std::string::npos) << ended.err;
  }
  EXPECT_FALSE(std::filesystem::exists(place.file("fenceline.db")));
}

}  // namespace
}  // namespace fenceline::e2e
