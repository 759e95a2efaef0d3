#include "app/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace moraine::app {
namespace {

constexpr int kExecFailed = 127;

int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Between fork and exec: only calls that a signal handler may make.
[[noreturn]] void become(const ChildOptions& options, char* const* arguments, int output_pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int input = ::open(options.input.c_str(), O_RDONLY);
  const int output = output_pipe >= 0
                         ? output_pipe
                         : ::open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0640);
  const int errors = ::open(options.errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0640);
  if (input < 0 || output < 0 || errors < 0) _exit(kExecFailed);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  std::signal(SIGPIPE, SIG_DFL);
  execv(arguments[0], arguments);
  _exit(kExecFailed);
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const ChildOptions& options) {
  int ends[2] = {-1, -1};
  if (options.output.empty() && pipe2(ends, O_CLOEXEC) != 0) {
    return fail(Errc::kIo, fmt::format("pipe: {}", std::strerror(errno)));
  }
  std::vector<char*> arguments;
  for (const std::string& argument : options.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const pid_t id = fork();
  if (id == 0) become(options, arguments.data(), ends[1]);
  const int error_number = errno;
  if (ends[1] >= 0) close(ends[1]);
  ChildProcess child(id, ends[0]);
  if (id < 0) return fail(Errc::kIo, fmt::format("fork: {}", std::strerror(error_number)));
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : id_(std::exchange(other.id_, -1)),
      pipe_(std::exchange(other.pipe_, -1)),
      status_(other.status_),
      unread_(std::move(other.unread_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(pipe_, other.pipe_);
  std::swap(status_, other.status_);
  std::swap(unread_, other.unread_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (id_ > 0 && status_ < 0) {
    send(SIGKILL);
    wait();
  }
  if (pipe_ >= 0) close(pipe_);
}

bool ChildProcess::running() {
  int status = 0;
  if (status_ < 0 && waitpid(id_, &status, WNOHANG) == id_) status_ = exit_code(status);
  return status_ < 0;
}

Result<std::string> ChildProcess::read_line(Duration timeout) {
  for (;;) {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (unread_.size() > kChildLineBytesMax) return fail(Errc::kCorrupt, "an endless line");
    pollfd ready{pipe_, POLLIN, 0};
    const auto wait_ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
    const int count = poll(&ready, 1, static_cast<int>(wait_ms));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) return fail(Errc::kTimeout, "the program says nothing");
    char bytes[4096];
    const ssize_t read_bytes = ::read(pipe_, bytes, sizeof bytes);
    if (read_bytes < 0 && errno == EINTR) continue;
    if (read_bytes <= 0) return fail(Errc::kUnavailable, "the program ended");
    unread_.append(bytes, static_cast<std::size_t>(read_bytes));
  }
}

void ChildProcess::send(int signal) const {
  if (id_ > 0 && status_ < 0) kill(id_, signal);
}

int ChildProcess::wait() {
  int status = 0;
  while (status_ < 0) {
    if (waitpid(id_, &status, 0) == id_)
      status_ = exit_code(status);
    else if (errno != EINTR)
      break;
  }
  return status_;
}

}  // namespace moraine::app
