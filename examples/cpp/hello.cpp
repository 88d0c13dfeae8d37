// A first program: three jobs into an embedded store, worked on by this process, each once.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "fenceline/fenceline.hpp"

namespace {

fenceline::RunResult greet(const fenceline::Run& run) {
  std::printf("under fence %lld: hello %s\n", static_cast<long long>(run.job.fence), run.job.payload.c_str());
  return fenceline::RunResult::done("greeted");
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "fenceline-hello-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 74;
  int status = 1;
  {
    auto client = fenceline::Client::open({.store = "sqlite:" + folder + "/hello.db"});
    if (!client) {
      std::fprintf(stderr, "hello: %s\n", client.error().message.c_str());
      return 69;
    }
    for (const char* name : {"\"ana\"", "\"ben\"", "\"cleo\""}) {
      if (const auto id = client->enqueue("greetings", name); !id)
        std::fprintf(stderr, "hello: %s\n", id.error().message.c_str());
    }
    const auto report = client->work({.queues = {"greetings"}, .drain = true}, greet);
    if (!report) {
      std::fprintf(stderr, "hello: %s\n", report.error().message.c_str());
    } else {
      std::printf("%lld done, %lld failed\n", static_cast<long long>(report->done),
                  static_cast<long long>(report->failed));
      status = report->done == 3 ? 0 : 1;
    }
  }
  std::filesystem::remove_all(folder);
  return status;
}
