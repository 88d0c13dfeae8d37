#include "backends/postgres/transaction_words.hpp"

#include <gtest/gtest.h>

namespace fenceline::postgres {
namespace {

TEST(TransactionWords, WhatBeginsOrEndsATransactionIsKnownHoweverItIsSpelled) {
  for (const char* sql : {"commit",
                          "COMMIT",
                          " \n\tCommit;",
                          "commit and chain",
                          "commit work",
                          "end",
                          "end transaction",
                          "abort",
                          "begin",
                          "start transaction read only",
                          "rollback",
                          "rollback work",
                          "rollback and chain",
                          "rollback prepared 'x'",
                          "prepare transaction 'x'",
                          "PREPARE /* a */ TRANSACTION 'x'",
                          "-- a comment\ncommit",
                          "/* a /* b */ c */ commit",
                          ";; commit",
                          "/**/commit/**/",
                          "commit/*",
                          "-- a\n-- b\n/* c */ rollback /* to */ work -- to"})
    EXPECT_TRUE(ends_transaction(sql)) << sql;
}

TEST(TransactionWords, SavepointsAndAllElseAreLetThrough) {
  for (const char* sql : {"",
                          ";",
                          "--",
                          "-- commit",
                          "/* commit */",
                          "/* commit",
                          "savepoint s",
                          "release savepoint s",
                          "rollback to s",
                          "rollback to savepoint s",
                          "rollback work to s",
                          "rollback transaction to savepoint s",
                          "rollback /* a */ to -- b\n s",
                          "prepare p as select 1",
                          "prepare transactions as select 1",
                          "select 'commit'",
                          "insert into commit values (1)",
                          "committed",
                          "\"commit\"",
                          "set transaction read only",
                          "do $$ begin commit; end $$"})
    EXPECT_FALSE(ends_transaction(sql)) << sql;
}

}  // namespace
}  // namespace fenceline::postgres
