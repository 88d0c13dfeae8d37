#include "tracker/marker.hpp"

#include <gtest/gtest.h>

#include "tracker/hmac.hpp"

namespace fenceline::tracker {
namespace {

const Signing kSigning{"key", "github:team/repo"};

Marker a_claim() {
  Marker marker{
      .kind = MarkerKind::claim, .generation = 3, .stage = "review", .worker = "9f2c41d0", .nonce = "77e0c9d1a2b3c4d5"};
  marker.ttl = 600;
  marker.over = {"11", "12"};
  return marker;
}

TEST(Hmac, IsThatOfTheStandard) {
  // RFC 4231, cases 1, 2 and 6.
  EXPECT_EQ(hmac_sha256_hex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256_hex(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_TRUE(same_in_constant_time("abc", "abc"));
  EXPECT_FALSE(same_in_constant_time("abc", "abd"));
  EXPECT_FALSE(same_in_constant_time("abc", "abcd"));
}

TEST(Marker, IsReadBackAsItWasWritten) {
  for (const Signing& signing : {kSigning, Signing{}}) {
    const std::string text = marker_text(a_claim(), "17", signing);
    EXPECT_EQ(read_marker(text, "17", signing).marker, a_claim()) << text;
    for (const MarkerKind kind : {MarkerKind::advanced, MarkerKind::returned, MarkerKind::failed, MarkerKind::released,
                                  MarkerKind::moved, MarkerKind::restored, MarkerKind::contested}) {
      Marker record{.kind = kind, .generation = 1, .stage = "gate:publish", .worker = "w", .nonce = "n"};
      record.to = "publish";
      record.claim = "5";
      record.again = 60;
      record.by = "42";
      record.why = "approved";
      record.output = "1042:0123456789abcdef0123456789abcdef";
      EXPECT_EQ(read_marker(marker_text(record, "17", signing), "17", signing).marker, record);
    }
  }
}

TEST(Marker, HasOneLineForMachinesAndOneForPeople) {
  EXPECT_EQ(marker_text(a_claim(), "17", {}),
            "<!-- fenceline/1 claim gen=3 stage=review worker=9f2c41d0 nonce=77e0c9d1a2b3c4d5 item=17 ttl=600 "
            "beat=0 at=0 over=11,12 name=- -->\nfenceline: worker 9f2c41d0 is working on review");
  Marker named = a_claim();
  named.name = "ana-laptop";
  EXPECT_TRUE(marker_text(named, "17", {}).ends_with("\nfenceline: ana-laptop (9f2c41d0) is working on review"));
  EXPECT_EQ(read_marker(marker_text(named, "17", kSigning), "17", kSigning).marker, named);
}

TEST(Marker, T2_WhatIsNotExactIsNone) {
  const std::string text = marker_text(a_claim(), "17", {});
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string other = text;
    return other.replace(other.find(from), from.size(), to);
  };
  for (const std::string& other : {text + "\n",
                                   " " + text,
                                   "> " + text,
                                   changed("gen=3", "gen=03"),
                                   changed("gen=3", "gen=+3"),
                                   changed("gen=3", "gen=-3"),
                                   changed("ttl=600", "ttl=600s"),
                                   changed("ttl=600", "ttl=1e9"),
                                   changed("ttl=600", "ttl=9999999999999999"),
                                   changed("ttl=600 beat=0", "beat=0 ttl=600"),
                                   changed("beat=0", "beat=0 beat=0"),
                                   changed("over=11,12", "over=11,,12"),
                                   changed("over=11,12", "over="),
                                   changed("working on review", "working on publish"),
                                   changed("fenceline/1", "fenceline/2"),
                                   changed("stage=review", "stage=re view"),
                                   changed("claim", "Claim"),
                                   changed("-->\n", "-->"),
                                   std::string(),
                                   std::string("<!-- fenceline/1 claim -->\n")}) {
    EXPECT_EQ(read_marker(other, "17", {}).fault, MarkerFault::foreign) << other;
  }
}

TEST(Marker, X4_ASignatureIsForOneItemOfOneTrackerAndOneText) {
  const std::string text = marker_text(a_claim(), "17", kSigning);
  EXPECT_EQ(read_marker(text, "18", kSigning).fault, MarkerFault::copied);
  std::string readdressed = text;
  readdressed.replace(readdressed.find("item=17"), 7, "item=18");
  EXPECT_EQ(read_marker(readdressed, "18", kSigning).fault, MarkerFault::unsigned_);
  EXPECT_EQ(read_marker(text, "17", {"key", "github:team/other"}).fault, MarkerFault::unsigned_);
  EXPECT_EQ(read_marker(text, "17", {"other key", kSigning.place}).fault, MarkerFault::unsigned_);
  EXPECT_EQ(read_marker(marker_text(a_claim(), "17", {}), "17", kSigning).fault, MarkerFault::unsigned_);
  std::string beaten = text;
  beaten.replace(beaten.find("beat=0"), 6, "beat=9");
  EXPECT_EQ(read_marker(beaten, "17", kSigning).fault, MarkerFault::unsigned_);
  // Without the key nobody can say: the item is left alone.
  EXPECT_EQ(read_marker(text, "17", {}).fault, MarkerFault::unreadable);
}

TEST(Marker, X5_TextOfOthersIsMadeHarmless) {
  for (const std::string& text : {marker_text(a_claim(), "17", kSigning), "quote: " + marker_text(a_claim(), "17", {}),
                                  std::string("fencefenceline/line/")}) {
    const std::string harmless = neutralised(text);
    EXPECT_EQ(harmless.find("fenceline/"), std::string::npos) << harmless;
    EXPECT_EQ(read_marker(harmless, "17", kSigning).fault, MarkerFault::foreign);
    EXPECT_EQ(neutralised(harmless), harmless);
  }
  EXPECT_EQ(neutralised("nothing of ours"), "nothing of ours");
}

TEST(Marker, ANameIsAShortWord) {
  for (const char* name : {"ana", "ana-laptop", "Box.7_b"}) EXPECT_TRUE(is_worker_name(name)) << name;
  for (const std::string& name : {std::string(), std::string("-"), std::string("two words"), std::string("a:b"),
                                  std::string("<b>"), std::string("a\n"), std::string(41, 'a')})
    EXPECT_FALSE(is_worker_name(name)) << name;
}

TEST(Marker, NoRandomChangeOfASignedMarkerIsOne) {
  const std::string text = marker_text(a_claim(), "17", kSigning);
  std::uint64_t state = 7;
  for (int round = 0; round < 20'000; ++round) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::string other = text;
    const std::size_t at = (state >> 33) % other.size();
    switch ((state >> 20) % 3) {
      case 0: other[at] = static_cast<char>(state >> 40); break;
      case 1: other.erase(at, 1 + (state >> 50) % 5); break;
      default: other.insert(at, 1, static_cast<char>(state >> 40)); break;
    }
    if (other != text) {
      EXPECT_FALSE(read_marker(other, "17", kSigning).marker) << other;
    }
  }
}

TEST(Command, IsOneExactLine) {
  EXPECT_EQ(read_command("/approve"), (Command{CommandKind::approve, ""}));
  EXPECT_EQ(read_command("/approve publish\n"), (Command{CommandKind::approve, "publish"}));
  EXPECT_EQ(read_command("/reject ready"), (Command{CommandKind::reject, "ready"}));
  EXPECT_EQ(read_command("/move review"), (Command{CommandKind::move, "review"}));
  EXPECT_EQ(read_command("/hold"), (Command{CommandKind::hold, ""}));
  EXPECT_EQ(read_command("/release"), (Command{CommandKind::release, ""}));
  for (const char* text : {"", "approve", "I would not /approve this", "/approve\nbut not today", "> /approve",
                           "/Approve", "/move", "/hold on", "/approve two words", "/approve  publish"}) {
    EXPECT_FALSE(read_command(text)) << text;
  }
}

}  // namespace
}  // namespace fenceline::tracker
