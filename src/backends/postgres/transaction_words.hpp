// Statements that begin or end a transaction, by their first words.
#pragma once

#include <string_view>

namespace fenceline::postgres {

// Whether one statement, as the server reads it, begins, ends or prepares a transaction: BEGIN, START TRANSACTION,
// COMMIT, END, ROLLBACK, ABORT, PREPARE TRANSACTION. Savepoints do not, nor does ROLLBACK TO one.
bool ends_transaction(std::string_view sql);

}  // namespace fenceline::postgres
