// What a power cut may take: the calls by which this process changes files, in their order, and a judge of that order.
// A test that links fenceline_disk_calls has write, fsync, rename and their kin replaced by ones that also record; so
// it sees what a library such as SQLite does, too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fenceline::test {

struct DiskCall {
  enum class Kind { made, made_folder, written, synced, renamed, removed };
  Kind kind;
  std::string path;
  std::string to;       // of a rename
  std::int64_t at = 0;  // of a write: its offset; -1 if it is not known
};

// Records what happens to files below `folder`, and to the folder itself, until it goes away. One at a time.
class DiskCalls {
 public:
  explicit DiskCalls(const std::string& folder);
  ~DiskCalls();
  DiskCalls(const DiskCalls&) = delete;
  DiskCalls& operator=(const DiskCalls&) = delete;

  std::vector<DiskCall> calls() const;
  // "write report.gate.new", "sync .", "rename report.gate.new report.gate", by their names in the folder. Writes that
  // follow one another are one.
  std::vector<std::string> words() const;

  // What would be wrong if the power were cut at this moment, or had been at any moment before: a content that had its
  // name before it was on the disk, a content or a name that is not there yet, a page of a SQLite file that was written
  // before its log, a log that began anew before its pages were there. Nothing is lost with a new file that is empty,
  // or one whose name ends with one of `passing`.
  std::vector<std::string> losses(const std::vector<std::string>& passing = {}) const;

 private:
  std::string folder_;
};

}  // namespace fenceline::test
