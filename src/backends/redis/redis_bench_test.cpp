// How fast the client is beside a bare loop of write and read on the same socket. For a quiet machine, by hand:
//   script/with_redis -- bin/redis_test --gtest_also_run_disabled_tests --gtest_filter='RedisBench.*'
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "backends/redis/testing.hpp"

namespace fenceline::redis {
namespace {

using namespace std::chrono_literals;
using test::must;

const Script kTouch("return redis.call('INCR', KEYS[1])");
constexpr int kBlock = 200;  // alternated, so that what disturbs the machine disturbs both

class RedisBench : public testing::Test {
 protected:
  double per_second(int calls, const std::function<void()>& run) {
    const Instant began = runtime_.now();
    run();
    return calls / std::chrono::duration<double>(runtime_.now() - began).count();
  }

  ThreadRuntime runtime_;
};

TEST_F(RedisBench, DISABLED_OneCallerBesideABareLoop) {
  for (const std::string& url : {test::admin_url(), test::from_environment("FENCELINE_TEST_REDIS")}) {
    Client client(runtime_, test::options_for(url));
    const Command command = std::move(Command(kTouch).key("fl:n"));
    must(client.call(command, CallKind::change, 10s));
    const std::unique_ptr<Connection> bare =
        must(Connection::connect(runtime_, must(parse_address(url)), runtime_.now() + 10s));
    std::string bytes;
    command.append_to(bytes);
    std::vector<double> ratios, rates;
    for (int block = 0; block < 401; ++block) {
      const double raw = per_second(kBlock, [&] {
        char answer[256];
        for (int i = 0; i < kBlock; ++i) {
          if (::send(bare->socket(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0 ||
              ::recv(bare->socket(), answer, sizeof answer, 0) <= 0)
            FAIL();
        }
      });
      const double ours = per_second(kBlock, [&] {
        for (int i = 0; i < kBlock; ++i) must(client.call(Command(kTouch).key("fl:n"), CallKind::change, 10s));
      });
      ratios.push_back(ours / raw);
      rates.push_back(ours);
    }
    std::sort(ratios.begin(), ratios.end());
    std::sort(rates.begin(), rates.end());
    std::printf("%s one caller: %.0f calls/s, %.3f of the bare loop (p10 %.3f, p90 %.3f)\n", url.substr(0, 5).c_str(),
                rates[200], ratios[200], ratios[40], ratios[360]);
  }
}

TEST_F(RedisBench, DISABLED_SixtyFourThreads) {
  Client client(runtime_, test::options_for(test::admin_url()));
  must(client.call(Command(kTouch).key("fl:n"), CallKind::change, 10s));
  const auto rate = [&](int threads, int each) {
    return per_second(threads * each, [&] {
      std::vector<Task> tasks;
      for (int t = 0; t < threads; ++t)
        tasks.push_back(runtime_.spawn("caller", [&](const std::stop_token&) {
          for (int i = 0; i < each; ++i) must(client.call(Command(kTouch).key("fl:n"), CallKind::change, 10s));
        }));
      for (Task& task : tasks) task.join();
    });
  };
  for (int round = 0; round < 3; ++round) {
    const double one = rate(1, 20000);
    const double many = rate(64, 2000);
    std::vector<Command> commands(64, Command(kTouch).key("fl:n"));
    const double in_flight = per_second(64 * 2000, [&] {
      for (int i = 0; i < 2000; ++i) client.call_many(commands, CallKind::change, 10s);
    });
    std::printf("one %.0f/s, 64 threads %.0f/s (%.2f times), 64 in one call %.0f/s (%.2f times)\n", one, many,
                many / one, in_flight, in_flight / one);
  }
}

}  // namespace
}  // namespace fenceline::redis
