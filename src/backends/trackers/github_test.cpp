#include "backends/trackers/github.hpp"

#include <gtest/gtest.h>

#include "runtime/thread_runtime.hpp"
#include "support/scripted_http.hpp"

namespace fenceline::tracker {
namespace {

using namespace std::chrono_literals;
using fenceline::test::HttpAsked;
using fenceline::test::ScriptedHttp;

const std::string kDate = "Date: Mon, 16 Nov 2026 14:00:00 GMT\r\n";

class GithubTest : public testing::Test {
 protected:
  std::unique_ptr<Tracker> at(const ScriptedHttp& server) {
    return open_github(runtime_, {.base = server.url(""), .repository = "o/r", .token = "s3cret"});
  }
  // What a read is answered if the server says so.
  Trouble trouble_of(int status, const std::string& body, const std::string& headers = "") {
    ScriptedHttp server([&](const HttpAsked&) { return ScriptedHttp::answer(status, body, kDate + headers); });
    return at(server)->post("17", "hello").error();
  }
  ThreadRuntime runtime_;
};

TEST_F(GithubTest, TellsTheKindsOfTroubleApart) {
  EXPECT_EQ(trouble_of(401, "{}").kind, TroubleKind::denied);
  EXPECT_EQ(trouble_of(403, R"({"message":"Resource not accessible"})").kind, TroubleKind::denied);
  EXPECT_EQ(trouble_of(404, "{}").kind, TroubleKind::not_found);
  EXPECT_EQ(trouble_of(410, "{}").kind, TroubleKind::refused);
  EXPECT_EQ(trouble_of(422, "{}").kind, TroubleKind::refused);
  EXPECT_EQ(trouble_of(500, "oops").kind, TroubleKind::in_doubt);
  EXPECT_EQ(trouble_of(502, "oops").kind, TroubleKind::in_doubt);
  EXPECT_EQ(trouble_of(503, "oops").kind, TroubleKind::in_doubt);
  EXPECT_EQ(trouble_of(503, "oops", "Retry-After: 5\r\n").kind, TroubleKind::unavailable);
  EXPECT_EQ(trouble_of(201, "not json").kind, TroubleKind::in_doubt);
  EXPECT_EQ(trouble_of(302, "", "Location: /elsewhere\r\n").kind, TroubleKind::refused);
}

TEST_F(GithubTest, SaysWhenToComeBackAfterALimit) {
  const Trouble secondary = trouble_of(403, R"({"message":"You have exceeded a secondary rate limit."})");
  EXPECT_EQ(secondary.kind, TroubleKind::limited);
  EXPECT_EQ(secondary.come_back, 1min);
  const Trouble after = trouble_of(403, R"({"message":"x"})", "Retry-After: 17\r\n");
  EXPECT_EQ(after.kind, TroubleKind::limited);
  EXPECT_EQ(after.come_back, 17s);
  const Trouble primary = trouble_of(403, "{}", "X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 1794837900\r\n");
  EXPECT_EQ(primary.kind, TroubleKind::limited);
  EXPECT_EQ(primary.come_back, WallTime(1794837900s) - primary.served.now);
  EXPECT_EQ(trouble_of(429, "{}").kind, TroubleKind::limited);
}

TEST_F(GithubTest, AHungUpWriteIsInDoubtARefusedConnectionIsNot) {
  int port = 0;
  {
    ScriptedHttp server([](const HttpAsked&) { return std::string(); });
    port = server.port();
    EXPECT_EQ(at(server)->post("17", "hello").error().kind, TroubleKind::in_doubt);
    EXPECT_EQ(at(server)->read({.item = "17"}).error().kind, TroubleKind::unavailable);
    int posts = 0;
    for (const HttpAsked& asked : server.asked()) posts += asked.method == "POST";
    EXPECT_EQ(posts, 1);
  }
  const auto gone = open_github(
      runtime_, {.base = "http://127.0.0.1:" + std::to_string(port), .repository = "o/r", .token = "s3cret"});
  EXPECT_EQ(gone->post("17", "hello").error().kind, TroubleKind::unavailable);
}

TEST_F(GithubTest, AnUnchangedListIsNotCharged) {
  ScriptedHttp server([](const HttpAsked& asked) {
    if (asked.head.find("If-None-Match: \"e\"") != std::string::npos) return ScriptedHttp::answer(304, "", kDate);
    return ScriptedHttp::answer(
        200,
        R"([{"number":3,"title":"t","state":"open","labels":[{"name":"stage:ready"}],"user":{"id":7,"login":"ana"}}])",
        kDate + "ETag: \"e\"\r\n");
  });
  const auto github = at(server);
  EXPECT_EQ(github->list({.stage = "stage:ready"})->served.cost, (Cost{.requests = 1, .charged = 1}));
  const auto again = github->list({.stage = "stage:ready"});
  EXPECT_EQ(again->served.cost, (Cost{.requests = 1, .charged = 0}));
  ASSERT_EQ(again->value.size(), 1U);
  EXPECT_EQ(again->value.front().author.id, "7");
}

TEST_F(GithubTest, PagesThatShiftGiveEachItemOnceAndPullRequestsAreNoItems) {
  ScriptedHttp server([](const HttpAsked& asked) {
    if (asked.target.ends_with("&page=1"))
      return ScriptedHttp::answer(200, R"([{"number":1},{"number":2},{"number":9,"pull_request":{}}])",
                                  kDate + "Link: <x>; rel=\"next\"\r\n");
    return ScriptedHttp::answer(200, R"([{"number":2},{"number":3},"odd",7])", kDate);
  });
  const auto listed = at(server)->list({.stage = "stage:ready"});
  ASSERT_TRUE(listed) << listed.error().message;
  std::vector<std::string> ids;
  for (const ItemState& item : listed->value) ids.push_back(item.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"1", "2", "3"}));
}

TEST_F(GithubTest, ReadsOnlyCommentsInOneRequest) {
  ScriptedHttp server([](const HttpAsked&) {
    return ScriptedHttp::answer(
        200,
        R"([{"id":5,"body":"a\r\nb","user":{"id":7},"created_at":"2026-11-16T13:00:00Z",)"
        R"("updated_at":"2026-11-16T13:00:00Z"},)"
        R"({"id":6,"body":null,"user":null,"created_at":"2026-11-16T13:00:00Z","updated_at":"2026-11-16T13:00:01Z"}])",
        kDate);
  });
  const auto read = at(server)->read({.item = "17", .state = false});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->served.cost.requests, 1);
  ASSERT_EQ(read->value.comments.size(), 2U);
  EXPECT_EQ(read->value.comments[0].text, "a\nb");
  EXPECT_EQ(read->value.comments[0].edited_at, std::nullopt);
  EXPECT_EQ(read->value.comments[1].edited_at, read->value.comments[1].created_at + 1s);
}

TEST_F(GithubTest, TheTokenGoesInAHeaderAndIsInNoMessage) {
  ScriptedHttp server([](const HttpAsked&) { return ScriptedHttp::answer(500, "s3cret", kDate); });
  const auto github = at(server);
  const Trouble said = github->post("17/../../x", "hello").error();
  EXPECT_EQ(said.message.find("s3cret"), std::string::npos);
  const HttpAsked asked = server.asked().front();
  EXPECT_EQ(asked.target, "/repos/o/r/issues/17%2F..%2F..%2Fx/comments");
  EXPECT_EQ(asked.target.find("s3cret"), std::string::npos);
  EXPECT_NE(asked.head.find("Authorization: Bearer s3cret\r\n"), std::string::npos);
}

TEST(TrackerTime, ReadsWhatTrackersWriteAndNothingElse) {
  EXPECT_EQ(time_of("2026-11-16T14:00:00Z"), WallTime(std::chrono::sys_days{std::chrono::year{2026} / 11 / 16} + 14h));
  EXPECT_EQ(time_of("2026-11-16T14:00:00.123Z"),
            WallTime(std::chrono::sys_days{std::chrono::year{2026} / 11 / 16} + 14h + 123ms));
  for (const char* odd : {"", "yesterday", "2026-02-30T14:00:00Z", "2026-11-16T25:00:00Z", "2026-11-16T14:00:00",
                          "2026-11-16T14:00:00.1x3Z"})
    EXPECT_EQ(time_of(odd), WallTime{}) << odd;
}

TEST(TrackerText, IsCutBetweenCharacters) {
  EXPECT_EQ(text_of("a\r\nb\rc"), "a\nb\rc");
  std::string longer(kTextBytesMax - 1, 'x');
  longer += "\xC3\xA4";
  EXPECT_EQ(text_of(longer).size(), kTextBytesMax - 1);
}

}  // namespace
}  // namespace fenceline::tracker
