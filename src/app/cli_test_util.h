// Runs build/moraine as a user would: temporary folders, commands with their output, servers.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "app/child_process.h"
#include "base/bytes.h"
#include "base/checksum.h"
#include "io/random.h"

namespace moraine::app {

inline std::string moraine_binary() {
  if (const char* set = std::getenv("MORAINE_BINARY")) return set;
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "moraine").string();
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "moraine-test-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write_file(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline void overwrite(const std::string& path, std::size_t at, std::string_view bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file << bytes;
}

inline std::string some_bytes(std::size_t size, std::uint64_t seed) {
  SeededRandom random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random.next());
  return bytes;
}

// Of the whole file: equal before and after means that nothing was changed.
inline std::uint32_t fingerprint(const std::string& path) {
  return crc32c(as_bytes(read_file(path)));
}

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

class Cli : public testing::Test {
 protected:
  Outcome run(std::vector<std::string> arguments, std::string_view input = "") {
    ChildOptions options;
    options.arguments = std::move(arguments);
    options.arguments.insert(options.arguments.begin(), moraine_binary());
    options.input = folder / "stdin";
    options.output = folder / "stdout";
    options.errors = folder / "stderr";
    write_file(options.input, input);
    std::filesystem::remove(options.errors);
    auto child = ChildProcess::start(options);
    if (!child) return {-1, "", child.error().message()};
    Outcome outcome;
    outcome.code = child->wait();
    outcome.out = read_file(options.output);
    outcome.err = read_file(options.errors);
    return outcome;
  }

  // `moraine blob ...` on the test's data folder.
  Outcome blob(std::vector<std::string> arguments, std::string_view input = "") {
    arguments.insert(arguments.begin(), "blob");
    arguments.insert(arguments.end(), {"--data", data()});
    return run(std::move(arguments), input);
  }

  std::string data() const { return folder / "data"; }
  std::string device(int number = 1) const { return data() + "/device-" + std::to_string(number); }
  void make_folder(const std::string& size = "256MiB", const std::string& erasure = "none") {
    const Outcome made = run({"init", "--data", data(), "--size", size, "--erasure", erasure});
    ASSERT_EQ(made.code, 0) << made.err;
  }

  TemporaryFolder folder;
};

// A started server that listens.
class RunningServer {
 public:
  RunningServer(std::vector<std::string> arguments, const std::string& log)
      : child_(start(std::move(arguments), log)), log_(log) {
    const auto line = child_.read_line(std::chrono::seconds(60));
    EXPECT_TRUE(line) << (line ? "" : line.error().message()) << "\n" << read_file(log_);
    if (line) line_ = *line;
  }

  const std::string& line() const { return line_; }
  // The value of "name=..." in the line.
  std::string address(const std::string& name) const {
    const std::size_t at = line_.find(name + "=");
    if (at == std::string::npos) return "";
    const std::size_t from = at + name.size() + 1;
    return line_.substr(from, line_.find(' ', from) - from);
  }
  int stop(int signal = SIGTERM) {
    child_.send(signal);
    return child_.wait();
  }
  std::string log() const { return read_file(log_); }
  ChildProcess& child() { return child_; }

 private:
  static ChildProcess start(std::vector<std::string> arguments, const std::string& log) {
    ChildOptions options;
    options.arguments = std::move(arguments);
    options.arguments.insert(options.arguments.begin(), {moraine_binary(), "serve"});
    // Servers of several tests run at once.
    const auto has = [&options](const char* name) {
      return std::ranges::find(options.arguments, name) != options.arguments.end();
    };
    if (!has("--kafka") && !has("--config")) {
      options.arguments.insert(options.arguments.end(), {"--kafka", "127.0.0.1:0"});
    }
    options.errors = log;
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child);
    return std::move(*child);
  }

  ChildProcess child_;
  std::string log_;
  std::string line_;
};

}  // namespace moraine::app
