// WorkFolder: the files of a run; removed with everything in it when the run ends.
#pragma once

#include <string>

#include "base/result.h"

namespace moraine::bench {

class WorkFolder {
 public:
  // A new folder below `parent`, which is created when it is missing. kInvalidArgument when that is
  // on a memory file system, where measurements say nothing about disks.
  static Result<WorkFolder> create(const std::string& parent);
  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder();

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// Removes a file or folder of an earlier part of the run and syncs the file system, so that the
// next part does not pay for it.
void discard(const std::string& path);

}  // namespace moraine::bench
