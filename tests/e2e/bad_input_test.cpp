// What is wrong is said in one line, with the right exit code, and changes nothing.
#include <gtest/gtest.h>

#include "program.hpp"

namespace fenceline::e2e {
namespace {

// A store with a job in it, so that there is something to change.
class BadInput : public testing::Test {
 protected:
  BadInput() {
    const Ended ended = place_.fenceline({"enqueue", "mail", "--payload", "1"});
    EXPECT_EQ(ended.status, 0) << ended.err;
  }

  void refused(const Words& words, int status, const Setting& setting = {}) {
    const std::string before = place_.dump();
    const Ended ended = place_.fenceline(words, setting);
    EXPECT_EQ(ended.status, status) << ended.err;
    EXPECT_TRUE(one_line(ended.err)) << ended.err;
    EXPECT_TRUE(ended.err.starts_with("fenceline: ")) << ended.err;
    EXPECT_LT(ended.err.size(), 500U) << "too long to read";
    const bool as_env_says_it = status == 126 || status == 127;
    EXPECT_TRUE(as_env_says_it || ended.err.find("; ") != std::string::npos) << "what to do is missing: " << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(place_.dump() == before) << "something changed";
  }

  // The same also must not make a store where there was none.
  void refused_without_a_store(const Words& words, int status, const Setting& setting = {}) {
    const Workplace empty;
    EXPECT_EQ(empty.fenceline(words, setting).status, status);
    EXPECT_TRUE(empty.dump() == "(none)") << "a store was made";
  }

  void bad(const Words& words, int status, const Setting& setting = {}) {
    SCOPED_TRACE(testing::PrintToString(words).substr(0, 200));
    refused(words, status, setting);
    refused_without_a_store(words, status, setting);
  }

  Workplace place_;
};

TEST_F(BadInput, QueueNames) {
  for (const std::string& name :
       {std::string("a\nb"), std::string("../"), std::string("../../etc/passwd"), std::string(10 * 1024, 'q'),
        std::string(""), std::string("a b"), std::string("-"), std::string(".hidden"), std::string("caf\xc3\xa9"),
        std::string("a/b"), std::string("\x1b[31m")}) {
    bad({"enqueue", name}, 65);
  }
  bad({"enqueue", "\xff\xfe"}, 65);
  place_.fenceline({"enqueue", "mail"});
  refused({"jobs", "--queue", "../"}, 65);
  bad({"enqueue", "q", "--stage", "a b"}, 65);
  bad({"enqueue", "q", "--namespace", "../"}, 65);
  bad({"enqueue", "q"}, 65, {.env = {{"FENCELINE_NAMESPACE", "a b"}}});
}

TEST_F(BadInput, Durations) {
  for (const char* delay :
       {"0", "-1s", "9e99h", "400d", "1.5.5s", "10", "s", "", " 1s", "99999999999999999999s", "1s1s", "1w"})
    bad({"enqueue", "q", "--delay", delay}, 64);
  for (const char* ttl : {"0", "-1s", "500ms", "9e99h", "400d", "25h", "0s", ""})
    bad({"work", "q", "--ttl", ttl, "--drain", "--", "true"}, 64);
}

TEST_F(BadInput, Numbers) {
  for (const char* number : {"1001", "-1001", "x", "", "1e2", "99999999999999999999"})
    bad({"enqueue", "q", "--priority", number}, 64);
  for (const char* number : {"0", "-1", "1001", "x"}) bad({"enqueue", "q", "--max-attempts", number}, 64);
  refused({"jobs", "--limit", "0"}, 64);
  refused({"jobs", "--limit", "1001"}, 64);
  refused({"jobs", "--cursor", "x"}, 64);
  refused({"jobs", "--state", "sleeping"}, 64);
  refused({"jobs", "--all", "--limit", "5"}, 64);
  refused({"trail", "--limit", "x"}, 64);
}

TEST_F(BadInput, Payloads) {
  for (const std::string& payload : {std::string("not json"), std::string(""), std::string("{"), std::string("{}{}"),
                                     std::string("nul"), std::string("'a'"), std::string("[1,]")}) {
    bad({"enqueue", "q", "--payload", payload}, 65);
  }
  bad({"enqueue", "q", "--payload", "\"\xff\""}, 65);
  const auto as_file = [&](const std::string& payload) {
    const std::string path = place_.write("payload.json", payload).string();
    bad({"enqueue", "q", "--payload-file", path}, 65);
    bad({"enqueue", "q", "--jsonl", path}, 65);
    bad({"enqueue", "q", "--payload-file", "-"}, 65, {.input = payload});
  };
  as_file("\"\xff\xfe\"");
  as_file("\"\xed\xa0\x80\"");                                     // a surrogate
  as_file("\"" + std::string(1 << 20, 'x') + "\"");                // two bytes over 1 MiB
  as_file(std::string(1'000'000, '['));                            // a million levels, never closed
  as_file(std::string(500'000, '[') + std::string(500'000, ']'));  // closed
  as_file(std::string("\"a\0b\"", 5));                             // NUL
  as_file(std::string(200, '[') + std::string(200, ']'));          // 200 levels
}

TEST_F(BadInput, APayloadOfExactlyOneMebibyteIsFine) {
  const std::string payload = "\"" + std::string((1 << 20) - 2, 'x') + "\"";
  place_.write("whole.json", payload + "\n");
  EXPECT_EQ(place_.fenceline({"enqueue", "q", "--payload-file", "whole.json"}).status, 0);
  EXPECT_EQ(place_.fenceline({"enqueue", "q", "--jsonl", "whole.json"}).status, 0);
}

TEST_F(BadInput, AByteOrderMarkIsNotPartOfAPayload) {
  const Ended ended = place_.fenceline({"enqueue", "q", "--payload-file", "-"}, {.input = "\xef\xbb\xbf{\"a\":1}"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const Ended shown = place_.fenceline({"job", "show", ended.out.substr(0, 36), "--payload", "--json"});
  EXPECT_NE(shown.out.find("\"payload\":{\"a\":1}"), std::string::npos) << shown.out;
}

TEST_F(BadInput, FilesOfLines) {
  bad({"enqueue", "q", "--jsonl", "-"}, 65, {.input = "1\n2\n\n3\n"});
  bad({"enqueue", "q", "--jsonl", "-"}, 65, {.input = "1\n2\n\"" + std::string(3 << 20, 'x') + "\"\n"});
  bad({"enqueue", "q", "--jsonl", "-"}, 65, {.input = std::string("1\n\0\n", 4)});
  bad({"enqueue", "q", "--jsonl", "/missing/file"}, 66);
  bad({"enqueue", "q", "--payload-file", "/missing/file"}, 66);
  bad({"enqueue", "q", "--payload-file", "/"}, 74);
  bad({"enqueue", "q", "--payload", "1", "--payload-file", "x"}, 64);
}

TEST_F(BadInput, CommandLines) {
  bad({"enqeue", "q"}, 64);
  bad({"enqueue"}, 64);
  bad({"enqueue", "q", "--frobnicate"}, 64);
  bad({"enqueue", "q", "extra"}, 64);
  bad({"enqueue", "q", "--payload"}, 64);
  bad({"enqueue", "q", "--", "true"}, 64);
  bad({"job"}, 64);
  bad({"job", "shwo", "x"}, 64);
  bad({"--store"}, 64);
  bad({"completion", "tcsh"}, 64);
  refused({"job", "show", "not-an-id"}, 65);
  refused({"job", "show", "01890000-0000-7000-8000-000000000000"}, 66);
  bad({"enqueue", "q"}, 64, {.env = {{"FENCELINE_LOG", "loud"}}});
  bad({"enqueue", "q"}, 64, {.env = {{"FENCELINE_CRASH_AT", "nowhere"}}});
  bad({"enqueue", "q"}, 64, {.env = {{"FENCELINE_CRASH_AT", "enqueue_before:0"}}});
}

TEST_F(BadInput, ActsOfOperators) {
  const std::string unknown = "01890000-0000-7000-8000-000000000000";
  const std::string id = place_.jobs()[0]["id"];
  for (const char* verb : {"cancel", "retry"}) {
    refused({"job", verb}, 64);
    refused({"job", verb, "x"}, 65);
    refused({"job", verb, unknown}, 66);
    refused({"job", verb, id, "--as", ""}, 64);
    refused({"job", verb, id, "--as", std::string(200, 'a')}, 64);
    refused({"job", verb, id, "--reason", std::string(2000, 'r')}, 64);
  }
  for (const char* verb : {"explain", "logs", "wait", "show"}) {
    refused({"job", verb}, 64);
    refused({"job", verb, "x"}, 65);
    refused({"job", verb, unknown}, 66);
  }
  for (const char* timeout : {"", "5", "25h", "-1s"}) refused({"job", "wait", id, "--timeout", timeout}, 64);
  for (const char* verb : {"pause", "resume", "purge", "show"}) refused({"queue", verb, "../"}, 65);
  refused({"queue", "set", "../", "--limit", "1"}, 65);
  refused({"queue", "set", "mail"}, 64);
  refused({"queue", "purge", "mail"}, 64);
  refused({"queue", "purge", "nobody"}, 66);
  refused({"dead", "redrive", "x"}, 65);
  refused({"dead", "redrive", "--limit", "0"}, 64);
  refused({"jobs", "--tag", ""}, 65);
  for (const char* verb : {"quiet", "stop", "resume"}) {
    refused({"workers", verb}, 64);
    refused({"workers", verb, "nobody"}, 66);
  }
}

TEST_F(BadInput, Stores) {
  for (const char* url : {"", "postgres://db?schema=A-B", "postgres://db?no_such_option=1", "redis:", "fenceline.db",
                          "sqlite:", "sqlite::memory:", "SQLITE:x"}) {
    bad({"enqueue", "q", "--store", url}, 64);
  }
  bad({"enqueue", "q", "--require", "E"}, 64);
  bad({"enqueue", "q", "--accept", "anything"}, 64);
  bad({"enqueue", "q", "--require", "A"}, 69);
  bad({"enqueue", "q", "--require", "B", "--accept", "no-sync"}, 69);
  EXPECT_EQ(place_.fenceline({"enqueue", "q", "--require", "B"}).status, 0);
  EXPECT_EQ(place_.fenceline({"enqueue", "q", "--require", "C", "--accept", "no-sync"}).status, 0);
}

TEST_F(BadInput, CommandsThatCannotBeRun) {
  const std::string plain = place_.write("plain.txt", "no program").string();
  refused({"work", "mail", "--drain"}, 64);
  refused({"work", "mail", "--drain", "--"}, 64);
  refused({"work", "mail", "--drain", "--", "/missing/program"}, 127);
  refused({"work", "mail", "--drain", "--", "no-such-program-anywhere"}, 127);
  refused({"work", "mail", "--drain", "--", plain}, 126);
  refused({"work", "mail", "--drain", "--", "/"}, 126);
  refused({"bench", "--only", "drain", "--peer", "/missing/program"}, 66);
}

}  // namespace
}  // namespace fenceline::e2e
