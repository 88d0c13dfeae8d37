#include "services/note_pad.hpp"

#include <gtest/gtest.h>

#include "handler/handler.hpp"

namespace fenceline {
namespace {

constexpr std::size_t kRoom = 1000;
const Holding kHolding{.id = {}, .fence = 7};

TEST(NotePad, TellsWhenItsFirstNoteComes) {
  NotePad pad;
  EXPECT_TRUE(pad.add("a", kRoom));
  EXPECT_FALSE(pad.add("b", kRoom));
  EXPECT_FALSE(pad.add(Progress{.percent = 1}));
  pad.taken(pad.next(kHolding, kRoom).value());
  EXPECT_EQ(pad.next(kHolding, kRoom), std::nullopt);
  EXPECT_TRUE(pad.add(Progress{.percent = 2}));
}

TEST(NotePad, ANoteSaysWhereItsBytesBegin) {
  NotePad pad;
  pad.add("one", kRoom);
  const Note first = pad.next(kHolding, kRoom).value();
  EXPECT_EQ(first.log_at, 0);
  EXPECT_EQ(first.log, "one");
  pad.add("two", kRoom);
  // Not taken yet: what a lost reply leaves open is sent again from the same place.
  EXPECT_EQ(pad.next(kHolding, kRoom)->log_at, 0);
  EXPECT_EQ(pad.next(kHolding, kRoom)->log, "onetwo");
  pad.taken(first);
  EXPECT_EQ(pad.next(kHolding, kRoom)->log_at, 3);
  EXPECT_EQ(pad.next(kHolding, kRoom)->log, "two");
}

TEST(NotePad, WithoutRoomTheOldestBytesGoAndTheirPlaceStaysKnown) {
  NotePad pad;
  pad.add("0123456789", 6);
  const Note sent = pad.next(kHolding, kRoom).value();
  EXPECT_EQ(sent.log_at, 4);
  EXPECT_EQ(sent.log, "456789");
  pad.add("abc", 6);  // pushes out what is under way
  EXPECT_EQ(pad.next(kHolding, kRoom)->log_at, 7);
  pad.taken(sent);
  EXPECT_EQ(pad.next(kHolding, kRoom)->log_at, 10);
  EXPECT_EQ(pad.next(kHolding, kRoom)->log, "abc");
}

TEST(NotePad, ALateAnswerTakesNothingTwice) {
  NotePad pad;
  pad.add("one", kRoom);
  const Note sent = pad.next(kHolding, kRoom).value();
  pad.taken(sent);
  pad.add("two", kRoom);
  pad.taken(sent);
  EXPECT_EQ(pad.next(kHolding, kRoom)->log, "two");
  EXPECT_EQ(pad.next(kHolding, kRoom)->log_at, 3);
}

TEST(NotePad, ALongLogGoesInPieces) {
  NotePad pad;
  pad.add("0123456789", kRoom);
  std::string sent;
  while (const std::optional<Note> note = pad.next(kHolding, 4)) {
    EXPECT_EQ(note->log_at, static_cast<std::int64_t>(sent.size()));
    sent += note->log;
    pad.taken(*note);
  }
  EXPECT_EQ(sent, "0123456789");
}

TEST(NotePad, ProgressThatCameMeanwhileIsSentToo) {
  NotePad pad;
  pad.add(Progress{.percent = 1});
  const Note sent = pad.next(kHolding, kRoom).value();
  pad.add(Progress{.percent = 2});
  pad.taken(sent);
  EXPECT_EQ(pad.next(kHolding, kRoom)->progress->percent, 2);
}

TEST(NotePad, AClosedOneForgetsAll) {
  NotePad pad;
  pad.add("one", kRoom);
  pad.close();
  EXPECT_EQ(pad.next(kHolding, kRoom), std::nullopt);
  EXPECT_FALSE(pad.add("two", kRoom));
  EXPECT_FALSE(pad.add(Progress{}));
  EXPECT_EQ(pad.next(kHolding, kRoom), std::nullopt);
}

struct Kept final : RunNotes {
  void progress(Progress progress) override { said = std::move(progress); }
  void log(std::string_view bytes) override { text += bytes; }
  Progress said;
  std::string text;
};

TEST(Run, CutsProgressToWhatAStoreTakes) {
  const Job job;
  TrustDeadline trust{Instant{}};
  Kept kept;
  const fenceline::Run run{.job = job, .stop = {}, .trust = &trust, .notes = &kept};
  run.progress(101, std::string(2000, 'x'));
  EXPECT_EQ(kept.said.percent, 100);
  EXPECT_EQ(kept.said.note.size(), kNoteBytesMax);
  run.progress(-1, "half a character \xC3");
  EXPECT_EQ(kept.said.percent, 0);
  EXPECT_EQ(kept.said.note, "half a character \xEF\xBF\xBD");
}

TEST(Run, WithoutSomebodyToListenNothingHappens) {
  const Job job;
  TrustDeadline trust{Instant{}};
  const fenceline::Run run{.job = job, .stop = {}, .trust = &trust};
  run.progress(1);
  run.log("x");
}

}  // namespace
}  // namespace fenceline
