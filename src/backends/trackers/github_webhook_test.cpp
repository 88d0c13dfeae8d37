#include "backends/trackers/github_webhook.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tracker/hmac.hpp"

namespace fenceline::tracker {
namespace {

using nlohmann::json;

class Counting final : public LogSink {
 public:
  void write(const LogEvent& event) override { names.push_back(event.name); }
  std::vector<std::string> names;
};

// A delivery as GitHub sends them, with what we read of it and some of what we do not.
json labelled(int issue, int sender = 583231) {
  return {{"action", "labeled"},
          {"issue",
           {{"number", issue},
            {"title", "Ümlaut \\ \"quoted\""},
            {"state", "open"},
            {"labels", {{{"name", "stage:ready"}}}},
            {"updated_at", "2026-11-16T14:00:00Z"}}},
          {"repository", {{"id", 1}, {"full_name", "Acme/Docs"}}},
          {"sender", {{"id", sender}, {"login", "someone"}}}};
}

class GithubWebhookTest : public testing::Test {
 protected:
  http::HttpRequest delivery(const std::string& body, const std::string& event = "issues",
                             const std::string& secret = "s3cret") {
    return {.method = "POST",
            .target = "/",
            .headers = {{"content-type", "application/json"},
                        {"x-github-event", event},
                        {"x-github-delivery", "d-" + std::to_string(++deliveries_)},
                        {"x-hub-signature-256", "sha256=" + hmac_sha256_hex(secret, body)}},
            .body = body};
  }
  static void set(http::HttpRequest& request, const std::string& name, const std::string& value) {
    for (http::Header& header : request.headers)
      if (header.name == name) header.value = value;
  }
  int status(const http::HttpRequest& request) { return hook_.answer(request).status; }

  int deliveries_ = 0;
  std::vector<ItemId> hints_;
  Counting log_;
  GithubWebhook hook_{Log(log_),
                      {.secret = "s3cret",
                       .repository = "acme/docs",
                       .workers = {"99"},
                       .hint = [this](const ItemId& item) { hints_.push_back(item); },
                       .remembered_most = 3}};
};

TEST_F(GithubWebhookTest, TellsWhichIssueChanged) {
  EXPECT_EQ(status(delivery(labelled(17).dump())), 202);
  EXPECT_EQ(status(delivery(labelled(18).dump(2), "issue_comment")), 202);
  EXPECT_EQ(hints_, (std::vector<ItemId>{"17", "18"}));
}

// X9
TEST_F(GithubWebhookTest, TakesNothingWhoseRawBytesAreNotSigned) {
  const std::string body = labelled(17).dump();
  http::HttpRequest wrong = delivery(body, "issues", "another secret");
  EXPECT_EQ(status(wrong), 401);
  http::HttpRequest missing = delivery(body);
  missing.headers.pop_back();
  EXPECT_EQ(status(missing), 401);
  http::HttpRequest old = delivery(body);
  set(old, "x-hub-signature-256", "sha1=" + std::string(40, 'a'));
  EXPECT_EQ(status(old), 401);
  http::HttpRequest bare = delivery(body);
  set(bare, "x-hub-signature-256", hmac_sha256_hex("s3cret", body));
  EXPECT_EQ(status(bare), 401);
  http::HttpRequest cut = delivery(body);
  set(cut, "x-hub-signature-256", cut.headers.back().value.substr(0, 40));
  EXPECT_EQ(status(cut), 401);
  http::HttpRequest encoded_again = delivery(body);
  encoded_again.body = json::parse(body).dump(1);
  EXPECT_EQ(status(encoded_again), 401);
  http::HttpRequest longer = delivery(body);
  longer.body += "\n";
  EXPECT_EQ(status(longer), 401);
  EXPECT_EQ(status(delivery("", "issues", "")), 401);
  EXPECT_TRUE(hints_.empty());
  EXPECT_EQ(log_.names, std::vector<std::string>{"webhook_refused"});
}

TEST_F(GithubWebhookTest, ADeliveryCountsOnceWhateverIdItIsGivenLater) {
  const http::HttpRequest first = delivery(labelled(17).dump());
  EXPECT_EQ(status(first), 202);
  EXPECT_EQ(status(first), 200);
  http::HttpRequest replayed = first;
  set(replayed, "x-github-delivery", "another");
  EXPECT_EQ(status(replayed), 200);
  EXPECT_EQ(hints_.size(), 1U);
  // What it remembers is bounded: the oldest is news again, and harmless.
  for (int issue = 1; issue <= 3; ++issue) EXPECT_EQ(status(delivery(labelled(issue).dump())), 202);
  EXPECT_EQ(status(first), 202);
}

TEST_F(GithubWebhookTest, WhatIsRefusedIsNotRemembered) {
  http::HttpRequest forged = delivery(labelled(17).dump(), "issues", "another secret");
  EXPECT_EQ(status(forged), 401);
  set(forged, "x-hub-signature-256", "sha256=" + hmac_sha256_hex("s3cret", forged.body));
  EXPECT_EQ(status(forged), 202);
}

TEST_F(GithubWebhookTest, OurOwnDoingsPullRequestsAndOtherRepositoriesAreNoHints) {
  EXPECT_EQ(status(delivery(labelled(17, 99).dump())), 200);
  json pull = labelled(17);
  pull["issue"]["pull_request"] = json::object();
  EXPECT_EQ(status(delivery(pull.dump())), 200);
  json other = labelled(17);
  other["repository"]["full_name"] = "acme/docs2";
  EXPECT_EQ(status(delivery(other.dump())), 200);
  EXPECT_EQ(status(delivery(json{{"zen", "Keep it logically awesome."}}.dump(), "ping")), 200);
  EXPECT_TRUE(hints_.empty());
}

TEST_F(GithubWebhookTest, WhatIsSignedAndOddIsRefusedWithoutHarm) {
  for (const char* odd : {"", "[]", "null", "7", "{", "{\"issue\":7}", "{\"issue\":{\"number\":\"17\"}}",
                          "{\"issue\":{\"number\":-1}}", "{\"issue\":{\"number\":1e99}}"})
    EXPECT_EQ(status(delivery(odd)), 400) << odd;
  http::HttpRequest form = delivery("payload=%7B%7D");
  set(form, "content-type", "application/x-www-form-urlencoded");
  EXPECT_EQ(status(form), 415);
  http::HttpRequest nameless = delivery(labelled(17).dump());
  set(nameless, "x-github-delivery", "");
  EXPECT_EQ(status(nameless), 400);
  http::HttpRequest long_id = delivery(labelled(18).dump());
  set(long_id, "x-github-delivery", std::string(1000, 'x'));
  EXPECT_EQ(status(long_id), 400);
  http::HttpRequest got = delivery(labelled(19).dump());
  got.method = "GET";
  EXPECT_EQ(status(got), 405);
  EXPECT_TRUE(hints_.empty());
}

}  // namespace
}  // namespace fenceline::tracker
