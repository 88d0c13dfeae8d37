// What every store promises about progress and logs.
#include <limits>

#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class Notes {
 public:
  Notes(Store& store, const ClaimedJob& claim) : store_(store), claim_(claim) {}
  // The reason of the refusal.
  std::string log(std::string bytes, std::int64_t at) {
    return send({.id = claim_.job.id, .fence = claim_.job.fence, .log = std::move(bytes), .log_at = at});
  }
  std::string progress(int percent, std::string note) {
    return send({.id = claim_.job.id, .fence = claim_.job.fence, .progress = Progress{percent, std::move(note)}});
  }

 private:
  std::string send(const Note& note) {
    const RecordReply reply = must(store_.record({.ns = "default", .notes = {note}}));
    return reply.refused.empty() ? "" : std::string(to_string(reply.refused.front().reason));
  }
  Store& store_;
  ClaimedJob claim_;
};

LogReply log_of(Store& store, const JobId& id, std::int64_t after = 0, int limit = 1000) {
  return must(store.log({.ns = "default", .id = id, .after = after, .limit = limit})).value();
}

std::string note_text_of(const LogReply& reply) {
  std::string text;
  for (const LogChunk& chunk : reply.chunks) text += chunk.bytes;
  return text;
}

TEST_P(NoteConformance, ProgressIsTheLastWord) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  Notes notes(store(), claim);
  EXPECT_FALSE(look(id).progress);
  EXPECT_EQ(notes.progress(10, "reading"), "");
  EXPECT_EQ(notes.progress(5, "\xc3\xa9"), "");
  EXPECT_EQ(look(id).progress, (Progress{5, "\xc3\xa9"}));
  EXPECT_EQ(notes.log("x", 0), "");
  EXPECT_EQ(look(id).progress, (Progress{5, "\xc3\xa9"}));
  EXPECT_EQ(ended(claim, {.kind = OutcomeKind::failed}), "");
  EXPECT_EQ(claimed_as_next(id).job.progress, (Progress{5, "\xc3\xa9"})) << "of the last delivery that said something";
  EXPECT_EQ(everything().at(0).progress, (Progress{5, "\xc3\xa9"}));
}

TEST_P(NoteConformance, ALogIsKeptInItsOrderToTheByteWithItsDeliveries) {
  const JobId id = added(new_job());
  const ClaimedJob first = claimed_as_next(id);
  const std::string bytes("a\0\xff\n", 4);
  const WallTime at = wall();
  EXPECT_EQ(Notes(store(), first).log(bytes, 0), "");
  let_time_pass(1s);
  EXPECT_EQ(Notes(store(), first).log("more", 4), "");
  EXPECT_EQ(ended(first, {.kind = OutcomeKind::failed}), "");
  const ClaimedJob second = claimed_as_next(id);
  EXPECT_EQ(Notes(store(), second).log("again", 0), "");
  const LogReply reply = log_of(store(), id);
  EXPECT_EQ(reply.chunks, (std::vector<LogChunk>{{1, at, bytes}, {1, at + 1s, "more"}, {2, at + 1s, "again"}}));
  EXPECT_EQ(reply.dropped, 0);
}

TEST_P(NoteConformance, WhatWasLoggedAlreadyIsNotAddedTwice) {
  const JobId id = added(new_job());
  Notes notes(store(), claimed_as_next(id));
  EXPECT_EQ(notes.log("hello", 0), "");
  EXPECT_EQ(notes.log("hello", 0), "");
  EXPECT_EQ(notes.log("ell", 1), "");
  EXPECT_EQ(notes.log("lo, you", 3), "");
  EXPECT_EQ(notes.log("", 10), "");
  EXPECT_EQ(note_text_of(log_of(store(), id)), "hello, you");
  EXPECT_EQ(log_of(store(), id).chunks.size(), 2u);
  EXPECT_EQ(notes.log("!", 20), "") << "what is missing is not waited for";
  EXPECT_EQ(note_text_of(log_of(store(), id)), "hello, you!");
  EXPECT_EQ(notes.log("?", 15), "");
  EXPECT_EQ(note_text_of(log_of(store(), id)), "hello, you!");
}

TEST_P(NoteConformance, AJobMayBeNamedMoreThanOnceInOneCall) {
  const JobId id = added(new_job());
  const Fence fence = claimed_as_next(id).job.fence;
  const RecordRequest request{
      .ns = "default",
      .notes = {{.id = id, .fence = fence, .progress = Progress{1, ""}, .log = "a", .log_at = 0},
                {.id = new_id(), .fence = fence, .log = "x"},
                {.id = id, .fence = fence, .progress = Progress{2, ""}, .log = "b", .log_at = 1},
                {.id = id, .fence = fence + 1, .progress = Progress{3, ""}}}};
  const RecordReply reply = must(store().record(request));
  EXPECT_EQ(reply.refused, (std::vector<Refusal>{{request.notes[1].id, fence, 0, Reason::not_found},
                                                 {id, fence + 1, fence, Reason::superseded}}));
  EXPECT_EQ(must(store().record(request)).refused, reply.refused);
  EXPECT_EQ(note_text_of(log_of(store(), id)), "ab");
  EXPECT_EQ(look(id).progress, (Progress{2, ""}));
}

TEST_P(NoteConformance, J3_NothingIsRecordedUnderAnOlderFence) {
  const JobId id = added(new_job());
  const ClaimedJob first = claimed_as_next(id);
  EXPECT_EQ(Notes(store(), first).log("first", 0), "");
  let_time_pass(kTtl);
  EXPECT_EQ(Notes(store(), first).log("first, late", 0), "") << "the lease ran out, but nobody took over";
  const ClaimedJob second = claimed_as_next(id, "b");
  EXPECT_EQ(Notes(store(), first).log("x", 20), "superseded");
  EXPECT_EQ(Notes(store(), first).progress(50, ""), "superseded");
  EXPECT_EQ(note_text_of(log_of(store(), id)), "first, late");
  EXPECT_FALSE(look(id).progress);
  EXPECT_EQ(Notes(store(), second).log("second", 0), "");
}

TEST_P(NoteConformance, AFinishedJobStillTakesTheEndOfItsLog) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(ended(claim), "");
  EXPECT_EQ(Notes(store(), claim).log("the end", 0), "");
  EXPECT_EQ(Notes(store(), claim).progress(100, "all"), "");
  EXPECT_EQ(note_text_of(log_of(store(), id)), "the end");
  EXPECT_EQ(look(id).progress, (Progress{100, "all"}));
}

TEST_P(NoteConformance, OfALongLogTheEndIsKeptAndTheRestCounted) {
  const JobId id = added(new_job());
  Notes notes(store(), claimed_as_next(id));
  std::string all;
  for (int i = 0; i < 5; ++i) {
    std::string part(300'000, static_cast<char>('a' + i));
    EXPECT_EQ(notes.log(part, static_cast<std::int64_t>(all.size())), "");
    all += part;
    const LogReply reply = log_of(store(), id);
    const std::string kept = note_text_of(reply);
    EXPECT_LE(kept.size(), kLogBytesMax);
    EXPECT_EQ(kept, all.substr(all.size() - kept.size()));
    EXPECT_EQ(reply.dropped + static_cast<std::int64_t>(kept.size()), static_cast<std::int64_t>(all.size()));
    EXPECT_EQ(reply.dropped > 0, all.size() > kLogBytesMax);
  }
  EXPECT_EQ(note_text_of(log_of(store(), id)).size(), kLogBytesMax) << "as much as may be";
  EXPECT_EQ(notes.log(std::string(kLogBytesMax, 'z'), static_cast<std::int64_t>(all.size())), "");
  EXPECT_EQ(note_text_of(log_of(store(), id)), std::string(kLogBytesMax, 'z'));
  EXPECT_EQ(log_of(store(), id).dropped, static_cast<std::int64_t>(all.size()));
}

TEST_P(NoteConformance, ALogIsReadPageByPageWhileItGrows) {
  const JobId id = added(new_job());
  Notes notes(store(), claimed_as_next(id));
  const LogReply nothing = log_of(store(), id, 7);
  EXPECT_TRUE(nothing.chunks.empty());
  EXPECT_EQ(nothing.next, 7);
  std::int64_t at = 0;
  for (const char* part : {"a", "b", "c"}) EXPECT_EQ(notes.log(part, at++), "");
  const LogReply first = log_of(store(), id, 0, 2);
  EXPECT_EQ(note_text_of(first), "ab");
  const LogReply second = log_of(store(), id, first.next, 2);
  EXPECT_EQ(note_text_of(second), "c");
  EXPECT_TRUE(log_of(store(), id, second.next).chunks.empty());
  EXPECT_EQ(notes.log("d", at), "");
  EXPECT_EQ(note_text_of(log_of(store(), id, second.next)), "d");
}

TEST_P(NoteConformance, ThereIsNoLogOfAJobThatIsNotThere) {
  EXPECT_EQ(must(store().log({.ns = "default", .id = new_id()})), std::nullopt);
  const JobId id = added(new_job());
  EXPECT_TRUE(log_of(store(), id).chunks.empty());
  EXPECT_EQ(must(store().log({.ns = "other", .id = id})), std::nullopt);
}

TEST_P(NoteConformance, NotesOutliveTheProcess) {
  const JobId id = added(new_job());
  const ClaimedJob claim = claimed_as_next(id);
  EXPECT_EQ(Notes(store(), claim).log("abc", 0), "");
  EXPECT_EQ(Notes(store(), claim).progress(1, "n"), "");
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(Notes(store(), claim).log("bcd", 1), "");
  EXPECT_EQ(note_text_of(log_of(store(), id)), "abcd");
  EXPECT_EQ(look(id).progress, (Progress{1, "n"}));
}

TEST_P(NoteConformance, InvalidNotesChangeNothing) {
  const JobId id = added(new_job());
  const Fence fence = claimed_as_next(id).job.fence;
  const Note good{.id = id, .fence = fence, .progress = Progress{1, "a"}, .log = "x"};
  std::vector<Note> bad(7, good);
  bad[0].fence = 0;
  bad[1].progress->percent = 101;
  bad[2].progress->note = "\xff";
  bad[3].progress->note = std::string(kNoteBytesMax + 1, 'n');
  bad[4].log_at = -1;
  bad[5].log = std::string(kLogBytesMax + 1, 'l');
  bad[6].log_at = std::numeric_limits<std::int64_t>::max();
  for (const Note& note : bad)
    EXPECT_EQ(code_of(store().record({.ns = "default", .notes = {good, note}})), Code::invalid);
  EXPECT_EQ(code_of(store().record({.ns = "a b", .notes = {good}})), Code::invalid);
  EXPECT_FALSE(look(id).progress);
  EXPECT_TRUE(log_of(store(), id).chunks.empty());
  EXPECT_EQ(code_of(store().log({.ns = "default", .id = id, .after = -1})), Code::invalid);
  EXPECT_EQ(code_of(store().log({.ns = "default", .id = id, .limit = 1001})), Code::invalid);
  EXPECT_TRUE(must(store().record({.ns = "default", .notes = {}})).refused.empty());
}

}  // namespace
}  // namespace fenceline::test
