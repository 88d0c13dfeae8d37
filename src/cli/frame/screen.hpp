// A terminal taken over for a picture that is redrawn: keys come one by one, nothing is echoed, and what stood there
// before comes back at the end, also at a crash.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace fenceline::cli {

// One in a process, for one thread; wake() is for any.
class Screen {
 public:
  // Takes the terminal of stdin and stdout over. Errors: refused (there is none, or it is not supported).
  static Result<void> usable();
  Screen();
  ~Screen();  // leaves
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Gives the terminal back as it was. Nothing is drawn any more.
  void leave();

  struct Size {
    int width = 80;
    int height = 24;
  };
  Size size() const;

  // Shows these lines from the top. Only lines that differ from the screen are written, in one write.
  void draw(const std::vector<std::string>& lines);

  // Waits for keys, wake(), or another size of the window. Returns what was typed, if anything; `complete`: nothing
  // follows at once.
  struct Typed {
    std::string bytes;
    bool complete = true;
    bool over = false;  // the terminal is gone
  };
  Typed wait();

  // wait() returns. Also from a signal's handler.
  static void wake();

 private:
  std::vector<std::string> shown_;
};

}  // namespace fenceline::cli
