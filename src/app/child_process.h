// ChildProcess: runs a program as a user would.
//
// Promise    The child dies with this process, and with this object.
// Threading  Plain blocking calls.
// Limits     kChildLineBytesMax for read_line().
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "io/executor.h"

namespace moraine::app {

inline constexpr std::size_t kChildLineBytesMax = std::size_t{64} << 10;

struct ChildOptions {
  std::vector<std::string> arguments;  // The program first.
  std::string input = "/dev/null";     // Files.
  std::string output;                  // Empty: a pipe, for read_line().
  std::string errors = "/dev/null";    // Appended to.
};

class ChildProcess {
 public:
  static Result<ChildProcess> start(const ChildOptions& options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();  // Kills what still runs.

  pid_t id() const { return id_; }
  bool running();
  // The next line of its standard output. kUnavailable: it ended. kTimeout: no output.
  Result<std::string> read_line(Duration timeout);
  void send(int signal) const;
  // Waits for its end: the exit code, or 128 plus the signal that ended it.
  int wait();

 private:
  ChildProcess(pid_t id, int pipe) : id_(id), pipe_(pipe) {}

  pid_t id_ = -1;
  int pipe_ = -1;
  int status_ = -1;  // Once it has ended.
  std::string unread_;
};

}  // namespace moraine::app
