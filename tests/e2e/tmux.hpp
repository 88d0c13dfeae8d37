// A terminal whose picture is what a person would see.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "jobs.hpp"

namespace fenceline::e2e {

// A tmux server of its own, with one window in which a shell waits.
class Tmux {
 public:
  explicit Tmux(const Workplace& place, int width = 100, int height = 40) : place_(place) {
    EXPECT_EQ(tmux({"-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", std::to_string(width), "-y",
                    std::to_string(height), "env", "PS1=ready> ", "ENV=", "sh"})
                  .status,
              0);
    EXPECT_TRUE(shows("ready>"));
  }
  ~Tmux() { tmux({"kill-server"}); }
  Tmux(const Tmux&) = delete;
  Tmux& operator=(const Tmux&) = delete;

  void type(const std::string& text) { EXPECT_EQ(tmux({"send-keys", "-t", "t", "-l", text}).status, 0); }
  void press(const std::string& key) { EXPECT_EQ(tmux({"send-keys", "-t", "t", key}).status, 0); }
  void run(const std::string& line) {
    type(line);
    press("Enter");
  }
  void resize(int width, int height) {
    EXPECT_EQ(tmux({"resize-window", "-t", "t", "-x", std::to_string(width), "-y", std::to_string(height)}).status, 0);
  }

  std::string picture() { return tmux({"capture-pane", "-p", "-t", "t"}).out; }
  bool shows(const std::string& text) {
    return eventually([&] { return picture().find(text) != std::string::npos; });
  }
  bool does_not_show(const std::string& text) {
    return eventually([&] { return picture().find(text) == std::string::npos; });
  }
  // The program in the window, once it is there: a child of the shell.
  std::string child() {
    std::string pid;
    eventually([&] {
      const std::string shell = trimmed(tmux({"display-message", "-p", "-t", "t", "#{pane_pid}"}).out);
      pid = trimmed(place_.run({"pgrep", "-P", shell}).out);
      return !pid.empty();
    });
    return pid;
  }
  // Whether the shell is back, with its echo, its cursor and the picture of before.
  bool is_restored() {
    if (!eventually([&] {
          return trimmed(
                     tmux({"display-message", "-p", "-t", "t", "#{cursor_flag} #{alternate_on} #{wrap_flag}"}).out) ==
                 "1 0 1";
        }))
      return false;
    run("echo an$((40+2))d");
    return shows("an42d") && picture().find("echo an$((40+2))d") != std::string::npos &&
           picture().find("1 queues") == std::string::npos;
  }

 private:
  Ended tmux(Words words) {
    Words argv{"tmux", "-S", place_.file("tmux").string(), "-u"};
    Setting setting{.env = {{"TERM", "screen"}, {"LANG", "C.UTF-8"}, {"LC_ALL", "C.UTF-8"}, {"TMUX", ""}}};
    setting.env.erase("TMUX");
    return place_.run(joined(argv, words), setting);
  }

  const Workplace& place_;
};

}  // namespace fenceline::e2e
