// Commands under a guardian, with real processes: this program is started again as the guardian and as a worker.
#include "runtime/guardian.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/process_tree.hpp"
#include "runtime/thread_runtime.hpp"
#include "services/command_handler.hpp"
#include "support/results.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using test::must;

constexpr const char* kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr Duration kSoon = 20s;  // far more than a busy machine needs

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

// Alive, and not just waiting to be reaped by whoever has it now.
bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && text[end + 2] != 'Z' && text[end + 2] != 'X';
}

bool wait_for(Runtime& runtime, const std::function<bool()>& condition) {
  for (const Instant end = runtime.now() + kSoon; runtime.now() < end; runtime.sleep_for(5ms, {})) {
    if (condition()) return true;
  }
  return condition();
}

// One delivery to a command handler, without a store.
RunResult run_once(Runtime& runtime, CommandOptions options, Duration trust, std::stop_token stop = {},
                   const std::string& payload = "null", const std::string& traceparent = "") {
  CommandHandler handler(runtime, std::move(options));
  Job job;
  job.id.bytes[0] = 0xab;
  job.queue = "mail";
  job.stage = "review";
  job.fence = 77;
  job.deliveries = 3;
  job.payload = payload;
  job.traceparent = traceparent;
  TrustDeadline deadline(runtime.now() + trust);
  return handler.run({.job = job, .stop = std::move(stop), .trust = &deadline});
}

class Guardian : public testing::Test {
 protected:
  Guardian() {
    std::string pattern = (std::filesystem::temp_directory_path() / "guardian-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~Guardian() override { std::filesystem::remove_all(folder); }

  RunResult run(const std::vector<std::string>& command, Duration trust = 1h, std::stop_token stop = {},
                const std::string& payload = "null") {
    options.command = command;
    return run_once(runtime, options, trust, std::move(stop), payload);
  }
  std::string path(const std::string& name) const { return folder + "/" + name; }
  // The pid that a command wrote into a file; 0: not yet.
  pid_t pid_in(const std::string& name) const {
    std::ifstream file(path(name));
    std::string line;
    return std::getline(file, line) && !file.eof() ? std::stoi(line) : 0;
  }
  pid_t wait_for_pid(const std::string& name) {
    wait_for(runtime, [&] { return pid_in(name) != 0; });
    return pid_in(name);
  }
  // Another process that runs `command` for a job that it may trust for so long.
  ChildProcess start_worker(Duration trust, const std::vector<std::string>& command) {
    std::vector<std::string> arguments{"guardian_test", "worker", std::to_string(trust.count())};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return must(spawn_child({.program = "/proc/self/exe", .arguments = arguments}));
  }

  ThreadRuntime runtime;
  CommandOptions options{.store_url = "sqlite:x.db", .ns = "team", .grace = 10s};
  std::string folder;
};

TEST_F(Guardian, GivesThePayloadOnStdinAndTakesTheResultFromStdout) {
  const RunResult result = run({"cat"}, 1h, {}, R"({"to":"a"})");
  EXPECT_EQ(result.kind, OutcomeKind::done);
  EXPECT_EQ(result.result, R"({"to":"a"})");
}

TEST_F(Guardian, AnExitStatusIsAnOutcome) {
  EXPECT_EQ(run({"true"}).kind, OutcomeKind::done);
  const RunResult failed = run(shell("echo no paper >&2; exit 3"));
  EXPECT_EQ(failed.kind, OutcomeKind::failed);
  EXPECT_EQ(failed.error, "exit status 3: no paper");
  const RunResult dead = run(shell("exit 65"));
  EXPECT_EQ(dead.kind, OutcomeKind::dead);
  EXPECT_EQ(dead.error, "exit status 65");
  EXPECT_EQ(run(shell("exit 75")).kind, OutcomeKind::later);
  const RunResult killed = run(shell("kill -9 $$"));
  EXPECT_EQ(killed.kind, OutcomeKind::failed);
  EXPECT_EQ(killed.error, "killed by signal 9");
}

TEST_F(Guardian, PassesArgumentsAsTheyAreNeverThroughAShell) {
  EXPECT_EQ(run({"printf", "%s|", "a b", "$(id)", ";", "-x", ""}).result, "a b|$(id)|;|-x||");
}

TEST_F(Guardian, TellsTheCommandWhichJobItWorksOn) {
  const RunResult result = run(shell(
      "echo $FENCELINE_JOB $FENCELINE_FENCE $FENCELINE_QUEUE $FENCELINE_STAGE $FENCELINE_DELIVERY $FENCELINE_STORE "
      "$FENCELINE_NAMESPACE"));
  EXPECT_EQ(result.result, "ab000000-0000-0000-0000-000000000000 77 mail review 3 sqlite:x.db team\n");
}

TEST_F(Guardian, ACleanEnvironmentHasOnlyWhatIsNamed) {
  ::setenv("SECRET_OF_THE_WORKER", "x", 1);
  EXPECT_NE(run({"/usr/bin/env"}).result.find("SECRET_OF_THE_WORKER=x"), std::string::npos);
  options.clean_env = true;
  options.command = {"/usr/bin/env"};
  std::istringstream lines(run_once(runtime, options, 1h, {}, "null", kTrace).result);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) names.push_back(line.substr(0, line.find('=')));
  std::vector<std::string> expected = command_variables();
  std::erase(expected, "FENCELINE_SENT_BACK");  // of a worker on an issue tracker only
  std::erase(expected, "FENCELINE_SENT_BACK_TO");
  EXPECT_EQ(names, expected);
}

TEST_F(Guardian, TheTraceOfAJobGoesOnInItsCommand) {
  options.command = shell("echo ${TRACEPARENT-none}");
  ::unsetenv("TRACEPARENT");
  EXPECT_EQ(run_once(runtime, options, 1h).result, "none\n");
  EXPECT_EQ(run_once(runtime, options, 1h, {}, "null", kTrace).result, std::string(kTrace) + "\n");
  ::setenv("TRACEPARENT", "inherited", 1);
  EXPECT_EQ(run_once(runtime, options, 1h).result, "inherited\n");
  EXPECT_EQ(run_once(runtime, options, 1h, {}, "null", kTrace).result, std::string(kTrace) + "\n");
  ::unsetenv("TRACEPARENT");
}

TEST_F(Guardian, AnExitStatusIsKeptAndASignalIsOneToo) {
  EXPECT_EQ(run({"true"}).exit_status, 0);
  EXPECT_EQ(run(shell("exit 3")).exit_status, 3);
  EXPECT_EQ(run(shell("kill -9 $$")).exit_status, 128 + 9);
  EXPECT_EQ(run({folder + "/nothing"}).exit_status, std::nullopt);
}

TEST_F(Guardian, AnEndMeansWhatThePolicySays) {
  options.ends = must(EndPolicy::parse({"3=done", "4=dead", "signal=later"}));
  const RunResult fine = run(shell("echo partly; exit 3"));
  EXPECT_EQ(fine.kind, OutcomeKind::done);
  EXPECT_EQ(fine.result, "partly\n");
  EXPECT_EQ(fine.exit_status, 3);
  EXPECT_EQ(run(shell("exit 4")).kind, OutcomeKind::dead);
  EXPECT_EQ(run(shell("kill -9 $$")).kind, OutcomeKind::later);
  EXPECT_EQ(run(shell("exit 65")).kind, OutcomeKind::dead);
}

struct Kept final : RunNotes {
  void progress(Progress) override {}
  void log(std::string_view bytes) override { text += bytes; }
  std::string text;
};

TEST_F(Guardian, WhatACommandWritesToStderrIsLogged) {
  options.command = shell("echo one >&2; echo result; printf two >&2");
  CommandHandler handler(runtime, options);
  Job job;
  TrustDeadline deadline(runtime.now() + 1h);
  Kept kept;
  EXPECT_EQ(handler.run({.job = job, .stop = {}, .trust = &deadline, .notes = &kept}).result, "result\n");
  EXPECT_EQ(kept.text, "one\ntwo");
}

TEST_F(Guardian, TheCommandGetsNoDescriptorButItsThree) {
  const UniqueFd open_here(::open("/dev/null", O_RDONLY));                // as one that the worker was started with
  EXPECT_EQ(run(shell("exec ls /proc/self/fd")).result, "0\n1\n2\n3\n");  // 3: the folder that ls reads
}

TEST_F(Guardian, ACommandThatReadsNothingDoesNotBlockItsWorker) {
  const std::string payload(1 << 20, 'x');
  EXPECT_EQ(run({"true"}, 1h, {}, payload).kind, OutcomeKind::done);
  EXPECT_EQ(run(shell("exec 0</dev/null; echo out; exit 0"), 1h, {}, payload).result, "out\n");
  EXPECT_EQ(run({"wc", "-c"}, 1h, {}, payload).result, "1048576\n");
}

TEST_F(Guardian, OfAnOutputOverOneMiBTheFirstOneIsKeptAndTheJobIsDone) {
  EXPECT_EQ(run({"head", "-c", "1048576", "/dev/zero"}).result.size(), 1048576u);
  const RunResult result = run({"head", "-c", "1048577", "/dev/zero"});
  EXPECT_EQ(result.kind, OutcomeKind::done);
  EXPECT_EQ(result.result.size(), 1048576u);
}

TEST_F(Guardian, KeepsTheEndOfStderrAsValidText) {
  const RunResult result =
      run(shell("i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; printf 'last \\377' >&2; exit 1"));
  EXPECT_LE(result.error.size(), kErrorBytesMax);
  EXPECT_TRUE(result.error.starts_with("exit status 1: "));
  EXPECT_TRUE(result.error.ends_with("line 2999\nlast \xEF\xBF\xBD"));
}

TEST_F(Guardian, ACommandThatCannotBeStartedFailsAndSaysWhy) {
  const RunResult result = run({folder + "/nothing"});
  EXPECT_EQ(result.kind, OutcomeKind::failed);
  EXPECT_EQ(result.error, "cannot start " + folder + "/nothing: No such file or directory");
}

TEST_F(Guardian, WithoutRoomForAProcessItIsTriedLaterAtNoCost) {
  options.guardian = shell("echo no_room for now >&4");  // the limit of processes does not bind every user
  EXPECT_EQ(run({"/bin/true"}).kind, OutcomeKind::later);
}

TEST_F(Guardian, EndsWhatACommandLeftBehindBeforeItsResultCounts) {
  const RunResult result = run(shell("setsid sleep 1000 & echo $!"));
  EXPECT_EQ(result.kind, OutcomeKind::done);
  EXPECT_FALSE(is_alive(std::stoi(result.result)));
}

TEST_F(Guardian, AStopIsATermToTheCommand) {
  std::stop_source stop;
  Task stopper = runtime.spawn("stopper", [&](std::stop_token) {
    wait_for_pid("ready");
    stop.request_stop();
  });
  const RunResult result =
      run(shell("trap 'exit 65' TERM; echo $$ > " + path("ready") + "; while :; do sleep 0.02; done"), 1h,
          stop.get_token());
  EXPECT_EQ(result.kind, OutcomeKind::dead);
  EXPECT_TRUE(result.error.starts_with("exit status 65")) << result.error;
}

TEST_F(Guardian, OneThatIgnoresTheTermIsKilledAfterTheGrace) {
  options.grace = 100ms;
  std::stop_source stop;
  Task stopper = runtime.spawn("stopper", [&](std::stop_token) {
    wait_for_pid("ready");
    stop.request_stop();
  });
  const RunResult result =
      run(shell("trap '' TERM; echo $$ > " + path("ready") + "; while :; do sleep 0.02; done"), 1h, stop.get_token());
  EXPECT_EQ(result.kind, OutcomeKind::given_back);
}

// Both tell the deadline first, then the stop, as the worker does.
TEST_F(Guardian, ARevokedCommandThatIgnoresTheTermIsGoneWithinASecond) {
  options.command =
      shell("trap '' TERM; setsid sleep 1000 & echo $$ > " + path("ready") + "; while :; do sleep 0.02; done");
  CommandHandler handler(runtime, options);
  Job job;
  TrustDeadline deadline(runtime.now() + 1h);
  std::stop_source stop;
  Instant cancelled_at;
  Task canceller = runtime.spawn("canceller", [&](std::stop_token) {
    wait_for_pid("ready");
    cancelled_at = runtime.now();
    deadline.cut_at(cancelled_at + 300ms, Cut::revoked);
    stop.request_stop();
  });
  EXPECT_EQ(handler.run({.job = job, .stop = stop.get_token(), .trust = &deadline}).kind, OutcomeKind::given_back);
  EXPECT_GE(runtime.now() - cancelled_at, 300ms);
  EXPECT_LT(runtime.now() - cancelled_at, kSoon);
  EXPECT_FALSE(is_alive(pid_in("ready")));
}

TEST_F(Guardian, ACommandThatTimedOutHasFailedUnlessItSaysThatItIsDone) {
  options.ends = must(EndPolicy::parse({"timeout=dead"}));
  const auto time_out = [&](const std::string& script) {
    std::filesystem::remove(path("ready"));
    options.command = shell(script + "; echo words >&2; echo $$ > " + path("ready") + "; while :; do sleep 0.02; done");
    CommandHandler handler(runtime, options);
    Job job;
    TrustDeadline deadline(runtime.now() + 1h);
    std::stop_source stop;
    Task watch = runtime.spawn("watch", [&](std::stop_token) {
      wait_for_pid("ready");
      deadline.cut_at(runtime.now() + 300ms, Cut::timed_out);
      stop.request_stop();
    });
    return handler.run({.job = job, .stop = stop.get_token(), .trust = &deadline});
  };
  EXPECT_EQ(time_out("trap 'exit 0' TERM").kind, OutcomeKind::done);
  const RunResult polite = time_out("trap 'exit 3' TERM");
  EXPECT_EQ(polite.kind, OutcomeKind::dead);
  EXPECT_EQ(polite.exit_status, 3);
  EXPECT_TRUE(polite.error.starts_with("words")) << polite.error;  // the worker says the rest
  const RunResult obstinate = time_out("trap '' TERM");
  EXPECT_EQ(obstinate.kind, OutcomeKind::dead);
  EXPECT_EQ(obstinate.exit_status, 128 + SIGKILL);
}

TEST_F(Guardian, L5_ACommandIsKilledAtItsTrustDeadlineAndNotBefore) {
  const Instant until = runtime.now() + 300ms;
  const RunResult result = run({"sleep", "1000"}, 300ms);
  EXPECT_GE(runtime.now(), until);
  EXPECT_LT(runtime.now(), until + kSoon);
  EXPECT_EQ(result.kind, OutcomeKind::given_back);  // that its time was over is not its fault
}

TEST_F(Guardian, L5_AStoppedCommandIsKilledToo) {
  EXPECT_EQ(run(shell("kill -STOP $$"), 300ms).kind, OutcomeKind::given_back);
}

TEST_F(Guardian, ARenewalMovesTheDeadline) {
  options.command = shell("echo $$ > " + path("ready") + "; sleep 2; echo whole");
  CommandHandler handler(runtime, options);
  Job job;
  TrustDeadline deadline(runtime.now() + 1500ms);
  Task renewer = runtime.spawn("renewer", [&](std::stop_token) {
    wait_for_pid("ready");
    deadline.move_to(runtime.now() + 1h);
  });
  EXPECT_EQ(handler.run({.job = job, .stop = {}, .trust = &deadline}).result, "whole\n");
}

TEST_F(Guardian, ADeadlineThatHasPassedStartsNothing) {
  EXPECT_EQ(run(shell("echo $$ > " + path("ready")), -1s).kind, OutcomeKind::given_back);
  EXPECT_EQ(pid_in("ready"), 0);
}

TEST_F(Guardian, WhatIsMeantForTheWorkerDoesNotEndTheGuardian) {
  EXPECT_EQ(run(shell("kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; sleep 0.05; echo alive")).result, "alive\n");
}

TEST_F(Guardian, IsOutsideTheGroupOfItsCommand) {
  // As a command that signals its whole group.
  EXPECT_EQ(run(shell("trap '' TERM; kill -TERM 0; echo alive")).result, "alive\n");
  EXPECT_EQ(run(shell("kill -KILL 0")).error, "killed by signal 9");
}

TEST_F(Guardian, L5_AKilledWorkerTakesItsCommandAndAGrandchildOfAnotherSessionWithIt) {
  const ChildProcess worker = start_worker(1h, shell("setsid sleep 1000 & echo $! > " + path("grandchild") +
                                                     "; echo $$ > " + path("child") + "; sleep 1000"));
  const pid_t child = wait_for_pid("child");
  const pid_t grandchild = wait_for_pid("grandchild");
  ASSERT_TRUE(is_alive(child) && is_alive(grandchild));
  ::kill(worker.pid, SIGKILL);
  reap(worker);
  EXPECT_TRUE(wait_for(runtime, [&] { return !is_alive(child) && !is_alive(grandchild); }));
}

TEST_F(Guardian, L5_TheCommandOfAStoppedWorkerIsGoneAfterTheTrustDeadline) {
  const Instant until = runtime.now() + 2s;
  const ChildProcess worker = start_worker(2s, shell("setsid sleep 1000 & echo $! > " + path("grandchild") +
                                                     "; echo $$ > " + path("child") + "; sleep 1000"));
  const pid_t child = wait_for_pid("child");
  const pid_t grandchild = wait_for_pid("grandchild");
  ::kill(worker.pid, SIGSTOP);
  EXPECT_TRUE(wait_for(runtime, [&] { return !is_alive(child) && !is_alive(grandchild); }));
  EXPECT_GE(runtime.now(), until);
  ::kill(worker.pid, SIGCONT);
  EXPECT_EQ(reap(worker), (ExitStatus{.exited = true, .number = 1}));  // it saw the failure
}

TEST_F(Guardian, WhatADeadGuardianLeavesBehindIsEndedByItsWorker) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  options.owns_children = true;
  const RunResult result = run(shell("setsid sleep 1000 & echo $! > " + path("grandchild") + "; echo $$ > " +
                                     path("child") + "; kill -9 $PPID; sleep 1000"));
  EXPECT_EQ(result.kind, OutcomeKind::failed);
  EXPECT_EQ(result.error, "its guardian process ended: killed by signal 9");
  EXPECT_FALSE(is_alive(pid_in("child")));
  EXPECT_FALSE(is_alive(pid_in("grandchild")));
}

TEST_F(Guardian, L5_ACommandDoesNotOutliveItsGuardianAndItsWorkerKilledTogether) {
  const ChildProcess worker = start_worker(
      1h, shell("echo $PPID > " + path("guardian") + "; echo $$ > " + path("child") + "; exec sleep 1000"));
  const pid_t child = wait_for_pid("child");
  ASSERT_TRUE(is_alive(child));
  ::kill(worker.pid, SIGSTOP);  // so that it cannot see its guardian die
  ::kill(pid_in("guardian"), SIGKILL);
  ::kill(worker.pid, SIGKILL);
  reap(worker);
  EXPECT_TRUE(wait_for(runtime, [&] { return !is_alive(child); }));
}

TEST_F(Guardian, NoProcessOfATestIsLeft) { EXPECT_TRUE(descendants_of(::getpid()).empty()); }

TEST(GuardianOrder, IsALineThatReadsBack) {
  for (const auto kind : {GuardianOrder::Kind::trust, GuardianOrder::Kind::term}) {
    const GuardianOrder order{kind, Instant{1234567us}};
    std::string line = to_line(order);
    ASSERT_EQ(line.back(), '\n');
    line.pop_back();
    EXPECT_EQ(parse_order(line), order);
  }
  const GuardianOrder signal{GuardianOrder::Kind::signal, {}, SIGUSR1};
  EXPECT_EQ(to_line(signal), "signal " + std::to_string(SIGUSR1) + "\n");
  EXPECT_EQ(parse_order("signal " + std::to_string(SIGUSR1)), signal);
  for (const char* bad :
       {"", "trust", "trust ", "trust 1x", "term x", "stop 1", "signal", "signal 0", "signal 900", "signal -9"})
    EXPECT_EQ(parse_order(bad), std::nullopt) << bad;
}

TEST_F(Guardian, FindsAProgramOrSaysWhyNot) {
  const auto write = [&](const std::string& name, const std::string& text, int mode) {
    std::ofstream(path(name)) << text;
    std::filesystem::permissions(path(name), static_cast<std::filesystem::perms>(mode));
    return path(name);
  };
  EXPECT_TRUE(must(find_program("sh")).ends_with("/sh"));
  EXPECT_EQ(must(find_program("/bin/sh")), "/bin/sh");
  EXPECT_TRUE(find_program(write("script", "#!/bin/sh\n", 0755)));
  EXPECT_EQ(test::code_of(find_program("no-such-command-here")), Code::not_found);
  EXPECT_EQ(test::code_of(find_program(path("nothing"))), Code::not_found);
  EXPECT_EQ(test::code_of(find_program("")), Code::not_found);
  EXPECT_EQ(test::code_of(find_program(folder)), Code::refused);
  EXPECT_EQ(test::code_of(find_program(write("plain", "#!/bin/sh\n", 0644))), Code::refused);
  EXPECT_EQ(test::code_of(find_program(write("text", "echo hello\n", 0755))), Code::refused);
  EXPECT_EQ(test::code_of(find_program(write("astray", "#!/no/such/interpreter\n", 0755))), Code::not_found);
}

// A command with our own stdin, stdout and stderr, as `fenceline lock` runs one.
class Attached : public Guardian {
 protected:
  std::unique_ptr<GuardedCommand> start(const std::string& script, Duration grace) {
    return must(
        GuardedCommand::start({.guardian = {"/proc/self/exe", "guardian", "--attached-to", std::to_string(::getpgrp()),
                                            "--grace-us", std::to_string(grace.count()), "--", "/bin/sh", "-c", script},
                               .environment = environment_with({{"FOLDER", folder}}),
                               .attached = true}));
  }
};

TEST_F(Attached, TheCommandIsInOurGroupAndItsStatusIsPassedOn) {
  const auto command = start("cut -d ' ' -f 5 /proc/$$/stat > $FOLDER/group; exit 7", 1s);
  command->order({GuardianOrder::Kind::trust, runtime.now() + 1h});
  const CommandEnd end = command->attend({});
  EXPECT_EQ(end.status, (ExitStatus{.exited = true, .number = 7}));
  EXPECT_EQ(pid_in("group"), ::getpgrp());
}

TEST_F(Attached, ASignalGoesToTheCommand) {
  const auto command = start("trap 'exit 9' USR1; echo $$ > $FOLDER/begun; while :; do sleep 0.01; done", 1s);
  command->order({GuardianOrder::Kind::trust, runtime.now() + 1h});
  ASSERT_NE(wait_for_pid("begun"), 0);
  command->order({GuardianOrder::Kind::signal, {}, SIGUSR1});
  EXPECT_EQ(command->attend({}).status, (ExitStatus{.exited = true, .number = 9}));
}

TEST_F(Attached, L5_TheCommandAndWhatItStartedAreToldBeforeTheDeadlineByTheGuardianItself) {
  // The shell waits for its child, and a shell that waits for a foreground child ends after it.
  const auto command = start(
      "trap 'echo 1 > $FOLDER/told' TERM; sh -c 'trap \"echo 1 > $FOLDER/child_told; exit\" TERM; echo $$ > "
      "$FOLDER/child; while :; do sleep 0.01; done'; exit 0",
      1h);
  command->order({GuardianOrder::Kind::trust, runtime.now() + 1h + 1s});
  const Instant begun = runtime.now();
  const CommandEnd end = command->attend({});
  EXPECT_TRUE(end.stopped) << "it ended because it was told to";
  EXPECT_LT(runtime.now() - begun, kSoon);
  EXPECT_NE(pid_in("told"), 0);
  EXPECT_NE(pid_in("child_told"), 0);
}

TEST_F(Attached, L5_OneThatIgnoresTheTermIsKilledAtTheDeadline) {
  const auto command = start("trap '' TERM; echo $$ > $FOLDER/begun; while :; do sleep 0.01; done", 300ms);
  const Instant deadline = runtime.now() + 1s;
  command->order({GuardianOrder::Kind::trust, deadline});
  EXPECT_TRUE(command->attend({}).stopped);
  EXPECT_GE(runtime.now(), deadline);
  EXPECT_FALSE(is_alive(pid_in("begun")));
}

int be_guardian(std::vector<std::string> words) {
  GuardianOptions options;
  if (words.size() > 4 && words.front() == "--attached-to") {
    options.attached = GuardianOptions::Attached{.group = std::stoi(words[1]), .grace = Duration{std::stoll(words[3])}};
    words.erase(words.begin(), words.begin() + 4);
  }
  if (!words.empty() && words.front() == "--clean-env") {
    options.environment = clean_environment();
    words.erase(words.begin());
  }
  options.command.assign(words.begin() + 1, words.end());  // after `--`
  return run_guardian(options);
}

int be_worker(const std::vector<std::string>& words) {
  ThreadRuntime runtime;
  const CommandOptions options{.command = {words.begin() + 1, words.end()}, .grace = 10s};
  return run_once(runtime, options, Duration{std::stoll(words.front())}).kind == OutcomeKind::done ? 0 : 1;
}

}  // namespace
}  // namespace fenceline

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "guardian") return fenceline::be_guardian({words.begin() + 1, words.end()});
  ::signal(SIGPIPE, SIG_IGN);
  if (!words.empty() && words.front() == "worker") return fenceline::be_worker({words.begin() + 1, words.end()});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
