#include "fenceline/json.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "library/testing.hpp"

namespace fenceline {
namespace {

using test::code_of;
using test::must;
using JsonOnSqlite = test::ClientFixture;

struct Mail {
  std::string to;
  int copies = 1;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Mail, to, copies)

TEST_F(JsonOnSqlite, APayloadGoesInAndOutAsAValueAndSoDoesAResult) {
  const JobId id = must(enqueue(*client, "mail", Mail{.to = "ana", .copies = 2}, {.priority = 3}));
  must(client->work({.queues = {"mail"}, .drain = true},
                    typed_handler<Mail>([](const fenceline::Run&, const Mail& mail) {
                      return Mail{.to = mail.to + "!", .copies = mail.copies + 1};
                    })));
  const Job job = must(client->job(id)).value();
  EXPECT_EQ(job.priority, 3);
  const Mail back = must(from_json_text<Mail>(job.result));
  EXPECT_EQ(back.to, "ana!");
  EXPECT_EQ(back.copies, 3);
}

TEST_F(JsonOnSqlite, APayloadOfAnotherShapeIsDeadWithTheReasonAndTheFunctionIsNotCalled) {
  const JobId id = must(client->enqueue("mail", R"({"to": 7})"));
  bool called = false;
  must(client->work({.queues = {"mail"}, .drain = true},
                    typed_handler<Mail>([&](const fenceline::Run&, const Mail&) { called = true; })));
  const Job job = must(client->job(id)).value();
  EXPECT_FALSE(called);
  EXPECT_EQ(job.state, JobState::dead);
  EXPECT_TRUE(job.error.starts_with("payload: the JSON cannot be read: ")) << job.error;
}

TEST_F(JsonOnSqlite, AHandlerMayReturnARunResultOrNothing) {
  const JobId later = must(enqueue(*client, "a", Mail{.to = "ana"}));
  must(client->work({.queues = {"a"}, .drain = true},
                    typed_handler<Mail>([](const fenceline::Run&, const Mail&) { return RunResult::dead("no"); })));
  EXPECT_EQ(must(client->job(later))->error, "no");
  const JobId done = must(enqueue(*client, "b", Mail{.to = "ana"}));
  must(client->work({.queues = {"b"}, .drain = true}, typed_handler<Mail>([](const fenceline::Run&, const Mail&) {})));
  EXPECT_EQ(must(client->job(done))->state, JobState::done);
}

TEST(JsonText, AValueThatCannotBeWrittenOrReadIsInvalid) {
  EXPECT_EQ(code_of(json_text(std::string("\xff"))), Code::invalid);
  EXPECT_EQ(code_of(from_json_text<Mail>("{")), Code::invalid);
  EXPECT_EQ(code_of(from_json_text<Mail>("{}")), Code::invalid);
  EXPECT_EQ(must(from_json_text<int>("7")), 7);
}

// A test of a handler needs no store.
TEST(RunByHand, HasAJobAndRefusesEffects) {
  Job job;
  job.payload = R"({"to": "ana", "copies": 1})";
  const HandlerFunction handler = typed_handler<Mail>([](const fenceline::Run& run, const Mail& mail) {
    run.progress(50);
    run.log("half");
    const auto sent = run.effect("send", mail.to, [](const EffectCall&) { return EffectReport::done(); });
    return sent ? RunResult::done() : RunResult::failed(sent.error().message);
  });
  EXPECT_EQ(handler(fenceline::Run{.job = job}).kind, OutcomeKind::failed);
}

}  // namespace
}  // namespace fenceline
