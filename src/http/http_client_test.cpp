#include "http/http_client.hpp"

#include <gtest/gtest.h>

#include <future>

#include "http/etag_cache.hpp"
#include "support/scripted_http.hpp"

namespace fenceline::http {
namespace {

using namespace std::chrono_literals;
using test::HttpAsked;
using test::ScriptedHttp;

TEST(HttpClient, SendsWhatItIsToldAndAnswersWithAllOfIt) {
  ScriptedHttp server([](const HttpAsked&) {
    return ScriptedHttp::answer(201, "made", "X-Thing:  a b \r\nDate: Mon, 16 Nov 2026 14:37:54 GMT\r\n");
  });
  Client client({.user_agent = "fenceline/1"});
  const auto response = client.send(
      {.method = "PATCH", .url = server.url("/a?b=c"), .headers = {{"Authorization", "Bearer x"}}, .body = "{}"});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "made");
  EXPECT_EQ(response->header("x-thing"), "a b");
  EXPECT_EQ(response->header("none"), std::nullopt);
  EXPECT_EQ(response->date(), WallTime(std::chrono::sys_days{std::chrono::year{2026} / 11 / 16} + 14h + 37min + 54s));
  const HttpAsked asked = server.asked().front();
  EXPECT_EQ(asked.method, "PATCH");
  EXPECT_EQ(asked.target, "/a?b=c");
  EXPECT_EQ(asked.body, "{}");
  EXPECT_NE(asked.head.find("Authorization: Bearer x\r\n"), std::string::npos);
  EXPECT_NE(asked.head.find("User-Agent: fenceline/1\r\n"), std::string::npos);
}

TEST(HttpClient, TellsWhetherARequestThatFailedMayHaveArrived) {
  Client client;
  int port = 0;
  {
    ScriptedHttp gone([](const HttpAsked&) { return std::string(); });
    port = gone.port();
    const auto hung_up = client.send({.method = "POST", .url = gone.url(), .body = "x"});
    ASSERT_FALSE(hung_up);
    EXPECT_TRUE(hung_up.error().sent);
  }
  const auto refused =
      client.send({.method = "POST", .url = "http://127.0.0.1:" + std::to_string(port) + "/", .body = "x"});
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().sent);
}

TEST(HttpClient, AnAnswerThatDoesNotComeEndsAtTheDeadlineAndIsInDoubt) {
  std::promise<void> over;
  const std::shared_future<void> waited = over.get_future().share();
  ScriptedHttp server([&](const HttpAsked&) {
    waited.wait();
    return std::string();
  });
  Client client;
  const auto late = client.send({.method = "POST", .url = server.url(), .timeout = 50ms});
  over.set_value();
  ASSERT_FALSE(late);
  EXPECT_TRUE(late.error().sent);
}

// On a connection that was used before libcurl would send it again.
TEST(HttpClient, WhatMayChangeSomethingIsSentOnceEvenIfTheServerHangsUp) {
  ScriptedHttp server(
      [](const HttpAsked& asked) { return asked.method == "GET" ? ScriptedHttp::answer(200, "ok") : std::string(); });
  Client client;
  ASSERT_TRUE(client.send({.url = server.url()}));
  ASSERT_FALSE(client.send({.method = "POST", .url = server.url(), .body = "pay"}));
  int posts = 0;
  for (const HttpAsked& asked : server.asked()) posts += asked.method == "POST";
  EXPECT_EQ(posts, 1);
}

TEST(HttpClient, ReadsShareAConnection) {
  ScriptedHttp server([](const HttpAsked&) { return ScriptedHttp::answer(200, "ok"); });
  Client client;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(client.send({.url = server.url()}));
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpClient, RefusesWhatIsTooLongWhatLeadsElsewhereAndHeadersWithLineEnds) {
  ScriptedHttp server([](const HttpAsked& asked) {
    return asked.target == "/away" ? ScriptedHttp::answer(302, "", "Location: /secret\r\n")
                                   : ScriptedHttp::answer(200, std::string(2 << 20, 'x'));
  });
  Client client({.answer_bytes_max = 1 << 20});
  EXPECT_EQ(client.send({.url = server.url()}).error().message, "the answer has more than 1 MiB");
  EXPECT_EQ(client.send({.url = server.url("/away")})->status, 302);
  EXPECT_FALSE(client.send({.url = server.url(), .headers = {{"A", "b\r\nC: d"}}}));
  EXPECT_FALSE(client.send({.url = "file:///etc/hostname"}));
  for (const HttpAsked& asked : server.asked()) EXPECT_NE(asked.target, "/secret");
}

TEST(HttpClient, EscapesWhatHasAMeaningInAnAddress) {
  EXPECT_EQ(escaped("stage:ready/ä b-._~"), "stage%3Aready%2F%C3%A4%20b-._~");
  EXPECT_EQ(parse_date("no date"), std::nullopt);
}

TEST(EtagCache, WhatIsUnchangedComesFromTheCacheWithItsPages) {
  int version = 1;
  ScriptedHttp server([&](const HttpAsked& asked) {
    const std::string etag = "\"" + std::to_string(version) + "\"";
    if (asked.head.find("If-None-Match: " + etag) != std::string::npos)
      return ScriptedHttp::answer(304, "", "Date: Mon, 16 Nov 2026 14:37:55 GMT\r\n");
    return ScriptedHttp::answer(200, "body " + std::to_string(version),
                                "ETag: " + etag + "\r\nLink: <next>; rel=\"next\"\r\n");
  });
  Client client;
  EtagCache cache;
  EXPECT_FALSE(cache.fetch(client, {.url = server.url()})->unchanged);
  const auto again = cache.fetch(client, {.url = server.url()});
  EXPECT_TRUE(again->unchanged);
  EXPECT_EQ(again->response.status, 200);
  EXPECT_EQ(again->response.body, "body 1");
  EXPECT_EQ(again->response.header("link"), "<next>; rel=\"next\"");
  EXPECT_TRUE(again->response.date());
  EXPECT_FALSE(cache.fetch(client, {.url = server.url("/other")})->unchanged);
  version = 2;
  EXPECT_EQ(cache.fetch(client, {.url = server.url()})->response.body, "body 2");
}

TEST(EtagCache, ForgetsTheLongestUnusedWhenItIsFull) {
  ScriptedHttp server([](const HttpAsked& asked) {
    if (asked.head.find("If-None-Match") != std::string::npos) return ScriptedHttp::answer(304, "");
    return ScriptedHttp::answer(200, std::string(400, 'x'), "ETag: \"e\"\r\n");
  });
  Client client;
  EtagCache cache(1000);
  cache.fetch(client, {.url = server.url("/a")});
  cache.fetch(client, {.url = server.url("/b")});
  EXPECT_TRUE(cache.fetch(client, {.url = server.url("/a")})->unchanged);
  cache.fetch(client, {.url = server.url("/c")});
  EXPECT_TRUE(cache.fetch(client, {.url = server.url("/a")})->unchanged);
  EXPECT_FALSE(cache.fetch(client, {.url = server.url("/b")})->unchanged);
}

}  // namespace
}  // namespace fenceline::http
