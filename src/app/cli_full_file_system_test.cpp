// A file system that other programs have filled before the device is full.
#include <sched.h>
#include <sys/mount.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "app/cli_test_util.h"

namespace moraine::app {
namespace {

constexpr int kWritesMax = 60;
constexpr auto kPatience = std::chrono::seconds(60);

class FullFileSystem : public Cli {
 protected:
  // Seen by this test and its children only. An empty text: done.
  static std::string mount_small(const std::string& path) {
    std::filesystem::create_directory(path);
    if (unshare(CLONE_NEWNS) != 0) return std::string("unshare: ") + std::strerror(errno);
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      return std::string("private mounts: ") + std::strerror(errno);
    }
    if (mount("none", path.c_str(), "tmpfs", 0, "size=128m") != 0) {
      return std::string("tmpfs: ") + std::strerror(errno);
    }
    return "";
  }
  static void fill(const std::string& path) {
    std::ofstream filler(path, std::ios::app);
    const std::string page(4096, 'x');
    while (filler.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
  }
  // False: not within kPatience.
  static bool eventually(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return true;
  }
};

TEST_F(FullFileSystem, IsSeenInStatusLogAndExitCodeAndWritesResumeWhenSpaceIsFreed) {
  const std::string small = folder / "small";
  const std::string problem = mount_small(small);
  if (!problem.empty()) GTEST_SKIP() << problem;
  const std::string target = small + "/data";
  RunningServer server({"--data", target, "--size", "512MiB", "--http", "127.0.0.1:0"},
                       folder / "log");
  const auto topic_write = [&](const std::string& bytes) {
    return run({"topic", "write", "t", "--whole", "--data", target}, bytes);
  };
  ASSERT_EQ(topic_write("first").code, 0);
  fill(small + "/filler");
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += std::string(100'000, 'x') + "\n";
  Outcome wrote;
  for (int i = 0; i < kWritesMax && wrote.code <= 0; ++i) {
    wrote = run({"topic", "write", "t", "--data", target}, lines);
    fill(small + "/filler");  // The space that the server has released since.
  }
  EXPECT_EQ(wrote.code, 4) << wrote.err;
  EXPECT_TRUE(wrote.err.contains("KAFKA_STORAGE_ERROR")) << wrote.err;
  const Outcome status = run({"blob", "status", "--data", target});
  EXPECT_FALSE(status.out.contains("green")) << status.out;
  EXPECT_TRUE(status.out.contains("yellow")) << status.out;
  EXPECT_TRUE(eventually([&] { return server.log().contains("topics take no writes"); }))
      << server.log();
  EXPECT_TRUE(server.log().contains("file system")) << server.log();
  EXPECT_EQ(run({"topic", "read", "t", "--count", "1", "--data", target}).out, "first\n");
  std::filesystem::remove(small + "/filler");
  EXPECT_TRUE(eventually([&] { return topic_write("again").code == 0; })) << server.log();
  EXPECT_TRUE(eventually([&] { return server.log().contains("topics take writes again"); }))
      << server.log();
  EXPECT_EQ(server.stop(), 0) << server.log();
  umount(small.c_str());
}

TEST_F(FullFileSystem, AServerThatWasKilledStartsAgainOnIt) {
  const std::string small = folder / "small";
  const std::string problem = mount_small(small);
  if (!problem.empty()) GTEST_SKIP() << problem;
  const std::string target = small + "/data";
  const std::vector<std::string> arguments{"--data", target, "--size", "512MiB", "--http", "off"};
  {
    RunningServer server(arguments, folder / "log");
    ASSERT_EQ(run({"topic", "write", "t", "--data", target}, "kept\n").code, 0);
    fill(small + "/filler");
    server.stop(SIGKILL);
  }
  fill(small + "/filler");
  {
    RunningServer server(arguments, folder / "log");
    EXPECT_EQ(run({"topic", "read", "t", "--kafka", server.address("kafka")}).out, "kept\n")
        << server.log();
    EXPECT_EQ(server.stop(), 0) << server.log();
  }
  umount(small.c_str());
}

}  // namespace
}  // namespace moraine::app
