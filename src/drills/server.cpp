#include "drills/server.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "backends/redis/redis_address.hpp"
#include "bench/postgres_url.hpp"
#include "runtime/child_process.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline::cli {

Result<std::unique_ptr<DrillServer>> server_of(const std::string& store_url) {
  if (bench::is_postgres_url(store_url)) return postgres_server(store_url);
  if (redis::is_redis_url(store_url)) return redis_server(store_url);
  return nullptr;
}

bool run_in_shell(const std::string& line) {
  const UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto child = spawn_child(
      {.program = "/bin/sh",
       .arguments = {"sh", "-c", line},
       .descriptors = {{nowhere.get(), STDIN_FILENO}, {nowhere.get(), STDOUT_FILENO}, {nowhere.get(), STDERR_FILENO}}});
  return child && reap(*child) == ExitStatus{};
}

std::string quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return all + "'";
}

}  // namespace fenceline::cli
