// Bad input: a clear message, an exit code by kind, and nothing damaged.
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>

#include "app/cli_test_util.h"

namespace moraine::app {
namespace {

constexpr const char* kHello = "[1:1:1:0:0:6:0]";

class BadInput : public Cli {
 protected:
  // The command fails with this code and text, and does not change the device.
  void expect_refused(const Outcome& outcome, int code, const std::string& words) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
  }
  // Mounts of this test are seen by its children only. An empty text: done.
  static std::string own_mounts() {
    if (unshare(CLONE_NEWNS) != 0) return std::string("unshare: ") + std::strerror(errno);
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      return std::string("private mounts: ") + std::strerror(errno);
    }
    return "";
  }
};

TEST_F(BadInput, MalformedIdsAreRefusedBeforeAnythingIsOpened) {
  for (const char* id :
       {"", "[1:1:1:0:0:6:0", "[1:1:1:0:0:6]", "1:1:1:0:0:6:0:0", "[a:1:1:0:0:6:0]",
        "[-1:1:1:0:0:6:0]", "[1:1:1:256:0:6:0]", "[1:1:1:0:0:268435456:0]", "[01:1:1:0:0:6:0]",
        "[1:4294967296:1:0:0:6:0]", "zz", "0123"}) {
    const Outcome got = blob({"get", id});
    EXPECT_EQ(got.code, 2) << id << ": " << got.err;
    EXPECT_FALSE(got.err.empty());
    EXPECT_EQ(blob({"put", id, "-"}, "hello\n").code, 2) << id;
  }
  EXPECT_FALSE(std::filesystem::exists(data()));
}

TEST_F(BadInput, SizesThatDoNotMatchAreRefused) {
  make_folder("32MiB");
  ASSERT_EQ(blob({"put", kHello, "-"}, "hello\n").code, 0);
  const std::uint32_t before = fingerprint(device());
  expect_refused(blob({"put", "[1:1:2:0:0:6:0]", "-"}, "hello"), 2, "the id says 6 bytes");
  expect_refused(blob({"put", "[1:1:2:0:0:0:0]", "-"}, ""), 2, "empty");
  expect_refused(blob({"put", "--auto", "[1:1:2:0:0:0:0]", "-"}, ""), 2, "empty");
  expect_refused(blob({"put", "[1:1:2:0:0:6:1]", "-"}, "hello\n"), 2, "part");
  expect_refused(blob({"put", "[0:1:2:0:0:6:0]", "-"}, "hello\n"), 2, "tablet");
  expect_refused(blob({"put", "--auto", "1:1:2:0:0:0:0", "-"}, std::string((10u << 20) + 1, 'x')),
                 2, "more than");
  expect_refused(blob({"put", kHello, folder / "missing"}), 2, "missing");
  expect_refused(blob({"get", kHello, "--offset", "6"}), 2, "past the end");
  EXPECT_EQ(fingerprint(device()), before);
}

TEST_F(BadInput, WrongUsageExitsWithCodeTwo) {
  make_folder("32MiB");
  EXPECT_EQ(run({}).code, 2);
  EXPECT_EQ(run({"nonsense"}).code, 2);
  EXPECT_EQ(blob({"get"}).code, 2);
  EXPECT_EQ(blob({"get", kHello, "--timeout", "-1"}).code, 2);
  EXPECT_EQ(blob({"get", kHello, "--group", "77"}).code, 2);
  EXPECT_EQ(blob({"get", kHello, "--group", "xyz"}).code, 2);
  EXPECT_EQ(blob({"get", kHello, "--node", "127.0.0.1:1"}).code, 2) << "--data and --node";
  EXPECT_EQ(blob({"range"}).code, 2);
  EXPECT_EQ(blob({"range", "[1:1:1:0:0:1:0]", "[2:1:1:0:0:1:0]"}).code, 2) << "two tablets";
  EXPECT_EQ(blob({"collect", "1", "0", "--generation", "1"}).code, 2) << "nothing to do";
  EXPECT_EQ(blob({"collect", "1", "0", "--generation", "1", "--barrier", "5"}).code, 2);
  EXPECT_EQ(blob({"collect", "1", "0", "--generation", "1", "--keep", "[2:1:1:0:0:1:0]"}).code, 2);
  EXPECT_EQ(blob({"block", "1"}).code, 2);
  EXPECT_EQ(blob({"block", "0", "1"}).code, 2);
  EXPECT_EQ(run({"device", "format", folder / "disk", "--size", "12 monkeys"}).code, 2);
  EXPECT_EQ(run({"device", "format", folder / "disk", "--size", "1MiB"}).code, 2);
  EXPECT_EQ(run({"device", "format", folder / "disk"}).code, 2);
  EXPECT_EQ(run({"init", "--data", folder / "new", "--size", "1KiB"}).code, 2);
  EXPECT_EQ(run({"init", "--data", folder / "new", "--erasure", "raid"}).code, 2);
  EXPECT_EQ(run({"serve", "--data", folder / "new", "--http", "nowhere"}).code, 2);
  EXPECT_EQ(run({"serve", "--data", folder / "new", "--size", "1KiB"}).code, 2);
  EXPECT_EQ(blob({"status", "--log-level", "loud"}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder / "disk"));
  EXPECT_FALSE(std::filesystem::exists(folder / "new"));
}

TEST_F(BadInput, AForeignFolderIsNotTouched) {
  std::filesystem::create_directory(data());
  write_file(data() + "/thesis.txt", "years of work");
  for (const Outcome& outcome : {run({"serve", "--data", data()}), run({"init", "--data", data()}),
                                 blob({"status"}), blob({"check"})}) {
    expect_refused(outcome, 3, "thesis.txt");
  }
  EXPECT_EQ(read_file(data() + "/thesis.txt"), "years of work");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(data()), {}), 1);
  write_file(folder / "file", "x");
  expect_refused(run({"serve", "--data", folder / "file"}), 3, "not a folder");
  expect_refused(run({"blob", "status", "--data", folder / "nowhere"}), 3, "no data folder");
}

TEST_F(BadInput, AFolderOfANewerVersionIsNotTouched) {
  make_folder("32MiB");
  const std::uint32_t before = fingerprint(device());
  write_file(data() + "/VERSION", "moraine data folder, version 2\n");
  expect_refused(run({"serve", "--data", data()}), 3, "version 2");
  expect_refused(blob({"status"}), 3, "version 2");
  write_file(data() + "/VERSION", "somebody else's\n");
  expect_refused(blob({"status"}), 3,
                 "begins with \"somebody else's\" where a data folder of moraine has");
  EXPECT_EQ(fingerprint(device()), before);
}

TEST_F(BadInput, ATruncatedOrForeignDeviceIsRefused) {
  make_folder("32MiB");
  ASSERT_EQ(blob({"put", kHello, "-"}, "hello\n").code, 0);
  const std::string image = read_file(device());
  std::filesystem::resize_file(device(), 16u << 20);
  std::uint32_t before = fingerprint(device());
  expect_refused(blob({"get", kHello}), 3, "truncated");
  expect_refused(run({"serve", "--data", data()}), 3, "truncated");
  EXPECT_EQ(blob({"check"}).code, 1);
  EXPECT_EQ(fingerprint(device()), before);

  write_file(device(), some_bytes(1u << 20, 5));
  before = fingerprint(device());
  expect_refused(blob({"get", kHello}), 3, "not a moraine device");
  expect_refused(run({"device", "info", device()}), 3, "not a moraine device");
  expect_refused(run({"device", "format", device()}), 3, "not empty");
  EXPECT_EQ(fingerprint(device()), before);

  std::filesystem::resize_file(device(), 100);
  expect_refused(blob({"get", kHello}), 3, "not a moraine device");
  std::filesystem::remove(device());
  EXPECT_EQ(blob({"get", kHello}).code, 3);
  EXPECT_FALSE(std::filesystem::exists(device())) << "nothing is made in its place";

  write_file(device(), image);
  EXPECT_EQ(blob({"get", kHello}).out, "hello\n") << "the original is as good as before";
}

TEST_F(BadInput, AConfigWithContradictionsNamesThePlace) {
  make_folder("32MiB");
  const std::string path = data() + "/cluster.yaml";
  const std::string sound = read_file(path);
  const auto replaced = [&](const std::string& what, const std::string& by) {
    std::string text = sound;
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), by);
  };
  const std::uint32_t before = fingerprint(device());
  const std::vector<std::pair<std::string, std::string>> broken{
      {replaced("{node: 1, device: 1", "{node: 2, device: 1"), "there is no node 2"},
      {replaced("{node: 1, device: 1", "{node: 1, device: 9"), "has no device 9"},
      {replaced("erasure: none", "erasure: block-4-2"), "shape"},
      {replaced("erasure: none", "erasure: wishes"), "erasure"},
      {replaced("port: 7500", "port: 75000"), "port"},
      {replaced("size: 32MiB", "size: 32MiBs"), "size"},
      {replaced("generation: 1", "genration: 1"), "genration"},
      {replaced("cluster:", "cluster: [}"), "line"},
      {"", "document"},
  };
  for (const auto& [text, words] : broken) {
    write_file(path, text);
    for (const Outcome& outcome : {run({"serve", "--data", data()}), blob({"status"}),
                                   run({"serve", "--config", path, "--http", "off"}),
                                   run({"blob", "status", "--config", path}), blob({"check"})}) {
      expect_refused(outcome, 3, words);
    }
  }
  EXPECT_EQ(fingerprint(device()), before);
  write_file(path, replaced("id: 0x82000000", "id: 0x82000001"));
  ASSERT_EQ(blob({"status"}).code, 0) << "a group that nobody has used yet";
  write_file(path, sound);
  expect_refused(blob({"status"}), 3, "belongs to group");
}

TEST_F(BadInput, TopicsAreNotServedOnAFolderThatIsTooSmallForThem) {
  expect_refused(run({"serve", "--data", folder / "new", "--size", "64MiB", "--http", "off"}), 2,
                 "too small for topics");
  EXPECT_FALSE(std::filesystem::exists(folder / "new")) << "nothing was made";
  make_folder("32MiB");
  expect_refused(run({"serve", "--data", data(), "--http", "off", "--kafka", "127.0.0.1:0"}), 3,
                 "too small for topics");
}

TEST_F(BadInput, ANodeNeedsSomeMemory) {
  expect_refused(run({"serve", "--data", folder / "new", "--memory", "1MiB", "--http", "off"}), 2,
                 "at least 256 MiB");
  expect_refused(run({"serve", "--data", folder / "new", "--memory", "much", "--http", "off"}), 2,
                 "much");
  EXPECT_FALSE(std::filesystem::exists(folder / "new")) << "nothing was made";
}

TEST_F(BadInput, AnAddressThatClientsCannotConnectToNeedsAnother) {
  expect_refused(run({"serve", "--data", folder / "new", "--kafka", "0.0.0.0:0"}), 2,
                 "--kafka-host");
}

TEST_F(BadInput, AFolderInUseIsNotOpenedTwice) {
  make_folder("32MiB");
  RunningServer server({"--data", data(), "--http", "off", "--kafka", "off"}, folder / "log");
  expect_refused(run({"serve", "--data", data(), "--http", "off"}), 3, "serves it");
  expect_refused(blob({"check"}), 3, "serves it");
  expect_refused(run({"device", "info", device()}), 3, "serves it");
  expect_refused(run({"device", "format", device(), "--force"}), 3, "serves it");
  EXPECT_EQ(blob({"put", kHello, "-"}, "hello\n").code, 0) << "goes to the server";
  EXPECT_EQ(server.stop(), 0);
  EXPECT_EQ(blob({"get", kHello}).out, "hello\n");
}

TEST_F(BadInput, AnUnreachableNodeHasItsOwnExitCode) {
  expect_refused(run({"blob", "status", "--node", "127.0.0.1:1"}), 5, "127.0.0.1:1");
  expect_refused(run({"blob", "status", "--node", "no-such-host.invalid:80"}), 5, "no-such-host");
}

TEST_F(BadInput, AFullDeviceRefusesPutsAndKeepsWhatItHas) {
  const Outcome made = run({"init", "--data", data(), "--size", "8MiB"});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string bytes = some_bytes(100'000, 1);
  int stored = 0;
  Outcome put;
  for (; stored < 100; ++stored) {
    put = blob({"put", "--auto", "1:1:" + std::to_string(stored + 1) + ":0:0:0:0", "-"}, bytes);
    if (put.code != 0) break;
  }
  ASSERT_GT(stored, 10);
  ASSERT_LT(stored, 100);
  expect_refused(put, 4, "OUT_OF_SPACE");
  for (int step = 1; step <= stored; step += 7) {
    EXPECT_EQ(blob({"get", "1:1:" + std::to_string(step) + ":0:0:100000:0"}).out, bytes) << step;
  }
  EXPECT_EQ(blob({"check"}).code, 0);
  ASSERT_EQ(blob({"collect", "1", "0", "--generation", "1", "--barrier", "1:1000"}).code, 0)
      << "collecting is possible on a full device";
  EXPECT_EQ(blob({"put", "--auto", "1:1:2000:0:0:0:0", "-"}, bytes).code, 0);
}

TEST_F(BadInput, AFullFileSystemRefusesPutsAndKeepsWhatItHas) {
  const std::string problem = own_mounts();
  if (!problem.empty()) GTEST_SKIP() << problem;
  const std::string small = folder / "small";
  std::filesystem::create_directory(small);
  if (mount("none", small.c_str(), "tmpfs", 0, "size=8m") != 0) {
    GTEST_SKIP() << "tmpfs: " << std::strerror(errno);
  }
  const std::string target = small + "/data";
  ASSERT_EQ(run({"init", "--data", target, "--size", "64MiB"}).code, 0);
  const std::string bytes = some_bytes(100'000, 1);
  const auto id = [](int step) { return "1:1:" + std::to_string(step) + ":0:0:100000:0"; };
  int stored = 0;
  Outcome put;
  for (; stored < 200; ++stored) {
    put = run({"blob", "put", id(stored + 1), "-", "--data", target}, bytes);
    if (put.code != 0) break;
  }
  ASSERT_GT(stored, 10);
  ASSERT_LT(stored, 200);
  expect_refused(put, 4, "No space left");
  for (int step = 1; step <= stored; step += 7) {
    EXPECT_EQ(run({"blob", "get", id(step), "--data", target}).out, bytes) << step;
  }
  EXPECT_EQ(run({"blob", "check", "--data", target}).code, 0);
  const Outcome prefilled =
      run({"init", "--data", small + "/other", "--size", "64MiB", "--prefill", "64"});
  expect_refused(prefilled, 4, "No space left");
  EXPECT_FALSE(std::filesystem::exists(small + "/other")) << "half a folder was left";
  umount(small.c_str());
}

TEST_F(BadInput, AReadOnlyFolderIsReportedAsReadOnly) {
  const std::string problem = own_mounts();
  if (!problem.empty()) GTEST_SKIP() << problem;
  make_folder("32MiB");
  ASSERT_EQ(blob({"put", kHello, "-"}, "hello\n").code, 0);
  const std::string view = folder / "view";
  std::filesystem::create_directory(view);
  if (mount(data().c_str(), view.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
      mount(nullptr, view.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
    GTEST_SKIP() << "bind mount: " << std::strerror(errno);
  }
  const std::uint32_t before = fingerprint(device());
  expect_refused(run({"serve", "--data", view, "--http", "off"}), 3, "Read-only file system");
  expect_refused(run({"blob", "put", "[1:1:2:0:0:1:0]", "-", "--data", view}, "x"), 3,
                 "Read-only file system");
  expect_refused(run({"device", "format", view + "/device-2", "--size", "32MiB"}), 3,
                 "Read-only file system");
  expect_refused(run({"init", "--data", view + "/new", "--size", "32MiB"}), 3,
                 "Read-only file system");
  EXPECT_EQ(run({"blob", "check", "--data", view}).code, 0) << "looking is allowed";
  EXPECT_EQ(run({"device", "info", view + "/device-1"}).code, 0);
  EXPECT_EQ(fingerprint(device()), before);
  umount(view.c_str());
}

}  // namespace
}  // namespace moraine::app
