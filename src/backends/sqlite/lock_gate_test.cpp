// Writes of an application under a lock's fence: the newest grant counts, in the commit of the statements.
#include <gtest/gtest.h>

#include "backends/sqlite/guarded_testing.hpp"

namespace fenceline::test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class GuardedByALock : public GuardedFile {
 protected:
  GuardedByALock() {
    make_table("CREATE TABLE account (name TEXT PRIMARY KEY, cents INTEGER)");
    make_table("INSERT INTO account VALUES ('ana', 100)");
  }
  LockGrant take(const std::string& name, const std::string& owner) {
    const AcquireReply reply =
        must(store->acquire({.ns = "default", .names = {name}, .owner = owner, .request = "r", .ttl = seconds{30}}));
    if (reply.grants.empty()) throw std::runtime_error("not granted: " + std::string(to_string(reply.held->reason)));
    return reply.grants.front();
  }
  // The holder is paused past its lease, and another one has the lock.
  LockGrant takeover(const std::string& name, const std::string& owner) {
    clock_.advance(seconds{31});
    return take(name, owner);
  }
  Result<void> pay(const std::string& lock, Fence fence) {
    return guarded(connection, lock, fence, [](SqliteTransaction& transaction) -> Result<void> {
      const auto paid = transaction.execute("UPDATE account SET cents = cents - 10");
      return paid ? Result<void>() : std::unexpected(paid.error());
    });
  }
  std::string cents() { return text_of("SELECT cents FROM account"); }
  std::optional<Fence> seen(const std::string& name) { return must(store->lock("default", name))->seen_at_gate; }
};

TEST_F(GuardedByALock, E3_APausedHolderThatWasTakenOverWritesNothing) {
  const LockGrant stale = take("a", "ana");
  EXPECT_TRUE(pay("a", stale.fence));
  EXPECT_TRUE(pay("a", stale.fence)) << "an equal fence is accepted";
  const LockGrant newest = takeover("a", "bob");  // and has written nothing yet
  const auto late = pay("a", stale.fence);
  EXPECT_EQ(code_of(late), Code::lost);
  EXPECT_NE(late.error().message.find(std::to_string(newest.fence)), std::string::npos) << late.error().message;
  EXPECT_EQ(code_of(pay("a", newest.fence + 1)), Code::lost) << "it was never granted";
  EXPECT_EQ(cents(), "80");
  EXPECT_TRUE(pay("a", newest.fence));
  EXPECT_EQ(cents(), "70");
}

TEST_F(GuardedByALock, E3_AHolderWhoseLeaseRanOutWritesWhileNobodyTookOver) {
  const LockGrant grant = take("a", "ana");
  clock_.advance(seconds{31});
  EXPECT_TRUE(pay("a", grant.fence)) << "what is finished is not thrown away";
}

TEST_F(GuardedByALock, E3_ABreakEndsItsFenceThoughNobodyHasTheNewOne) {
  const LockGrant grant = take("a", "ana");
  must(store->break_lock({.ns = "default", .resource = "a", .request = "b", .act = {.actor = "ada"}}));
  EXPECT_EQ(code_of(pay("a", grant.fence)), Code::lost);
  EXPECT_EQ(cents(), "100");
}

TEST_F(GuardedByALock, OfWhichNothingIsKnownIsNotFound) {
  EXPECT_EQ(code_of(pay("a", 7)), Code::not_found);
  EXPECT_EQ(code_of(pay("{a}", 7)), Code::invalid);
  take("a", "ana");
  EXPECT_EQ(code_of(pay("a", 0)), Code::invalid);
}

TEST_F(GuardedByALock, E3_NoTakeoverComesBetweenTheCheckAndTheCommit) {
  const LockGrant grant = take("a", "ana");
  clock_.advance(seconds{31});
  SqliteTransaction transaction = must(connection.begin());
  must(transaction.guard_lock("a", grant.fence));
  AcquireRequest request{.ns = "default", .names = {"a"}, .owner = "bob", .request = "r", .ttl = seconds{30}};
  request.timeout = std::chrono::milliseconds{100};
  EXPECT_EQ(code_of(store->acquire(request)), Code::unavailable) << "it waits for its turn";
  must(transaction.execute("UPDATE account SET cents = 0"));
  EXPECT_TRUE(transaction.commit());
  EXPECT_EQ(must(store->lock("default", "a"))->fence, grant.fence);
}

TEST_F(GuardedByALock, TheInventoryShowsWhichFenceAGateLetIn) {
  const LockGrant first = take("a", "ana");
  EXPECT_EQ(seen("a"), std::nullopt);
  must(pay("a", first.fence));
  EXPECT_EQ(seen("a"), first.fence);
  const LockGrant second = takeover("a", "bob");
  EXPECT_EQ(code_of(pay("a", first.fence)), Code::lost);
  EXPECT_EQ(seen("a"), first.fence) << "the new holder has written nothing";
  must(pay("a", second.fence));
  EXPECT_EQ(seen("a"), second.fence);
  EXPECT_EQ(must(store->locks({.ns = "default"})).locks.at(0).seen_at_gate, second.fence);
}

class ProtectedByALock : public GuardedByALock {
 protected:
  ProtectedByALock() {
    make_table("CREATE TABLE line (id INTEGER PRIMARY KEY, lock TEXT, fence INTEGER, text TEXT)");
    must(connection.protect_table({.table = "line", .resource_column = "lock"}));
  }
  std::optional<Code> insert(const LockGrant& by, const std::string& text) {
    SqliteTransaction transaction = must(connection.begin());
    const auto wrote =
        transaction.execute("INSERT INTO line (lock, fence, text) VALUES (?1, ?2, ?3)", {by.resource, by.fence, text});
    return wrote ? code_of(transaction.commit()) : wrote.error().code;
  }
  std::string lines() { return text_of("SELECT text FROM line ORDER BY id"); }
};

TEST_F(ProtectedByALock, E3_TheNewestGrantCountsBeforeItsHolderHasWritten) {
  const LockGrant stale = take("a", "ana");
  EXPECT_EQ(insert(stale, "first"), std::nullopt);
  const LockGrant newest = takeover("a", "bob");
  EXPECT_EQ(insert(stale, "late"), Code::lost);
  {
    SqliteTransaction transaction = must(connection.begin());
    EXPECT_EQ(code_of(transaction.act_as("a", stale.fence)), Code::lost);
    must(transaction.act_as("a", newest.fence));
    EXPECT_EQ(must(transaction.execute("UPDATE line SET text = 'second'")), 1);
    must(transaction.commit());
  }
  EXPECT_EQ(lines(), "second");
}

TEST_F(ProtectedByALock, E3_AHolderFromBeforeATakeoverIsRefusedAfterTheLockIsForgottenToo) {
  const LockGrant stale = take("a", "ana");
  EXPECT_EQ(insert(stale, "first"), std::nullopt);
  takeover("a", "bob");  // who never writes
  clock_.advance(minutes{31});
  EXPECT_EQ(must(store->tidy({.ns = "default"})).removed, 1);
  EXPECT_EQ(insert(stale, "late"), Code::lost);
  EXPECT_EQ(insert(take("a", "eve"), "second"), std::nullopt);
  must(store->remove_namespace("default", {.actor = "ada", .reason = "over"}));
  EXPECT_EQ(insert(stale, "late"), Code::lost);
  EXPECT_EQ(lines(), "first;second");
}

// No gate has seen these: what ended their fences is all that speaks against them.
TEST_F(ProtectedByALock, E3_AFenceThatWasTakenAwayStaysEndedAfterTheLockIsForgotten) {
  const LockGrant broken = take("broken", "ana");
  must(store->break_lock({.ns = "default", .resource = "broken", .request = "b", .act = {.actor = "ada"}}));
  const LockGrant lost = take("lost", "ana");
  const LockGrant newest = takeover("lost", "bob");
  must(store->release({.ns = "default", .locks = {{"lost", "bob", newest.fence}}}));
  const LockGrant last = take("lost", "eve");  // whose own grant is a clean one
  must(store->release({.ns = "default", .locks = {{"lost", "eve", last.fence}}}));
  const LockGrant clean = take("clean", "ana");
  must(store->release({.ns = "default", .locks = {{"clean", "ana", clean.fence}}}));
  clock_.advance(minutes{31});
  EXPECT_EQ(must(store->tidy({.ns = "default"})).removed, 3);
  EXPECT_EQ(insert(broken, "late"), Code::lost);
  EXPECT_EQ(insert(lost, "late"), Code::lost);
  EXPECT_EQ(text_of("SELECT count(*) FROM fenceline_fence"), "2") << "nothing is kept of the clean one";
}

TEST_F(ProtectedByALock, E3_AFenceThatWasTakenAwayStaysEndedAfterItsNamespaceIsRemoved) {
  const LockGrant lost = take("lost", "ana");
  takeover("lost", "bob");
  must(store->remove_namespace("default", {.actor = "ada", .reason = "over"}));
  EXPECT_EQ(insert(lost, "late"), Code::lost);
}

}  // namespace
}  // namespace fenceline::test
