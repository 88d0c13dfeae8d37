// Lines that a person can paste into a shell of a machine that reaches the server. No password is in them: psql asks
// for it, or finds it where libpq does.
#pragma once

#include <string>
#include <vector>

#include "backends/postgres/dsn.hpp"

namespace fenceline::postgres {

// "host=db port=5432 user=app dbname=app", without a secret; of several hosts the one that was reached.
std::string connection_words(const Dsn& dsn);
std::string host_of(const Dsn& dsn);  // "localhost" for a socket

// psql with each of these as a transaction of its own.
std::string psql_line(const Dsn& dsn, const std::vector<std::string>& statements);

// As SQL writes them.
std::string quoted_name(const std::string& name);
std::string quoted_text(const std::string& text);

}  // namespace fenceline::postgres
