#include "io/real/machine.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>

namespace moraine {
namespace {

namespace fs = std::filesystem;

class MachineTest : public testing::Test {
 protected:
  MachineTest() {
    std::string pattern = (fs::temp_directory_path() / "machine_XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~MachineTest() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) {
    const fs::path path = root_ / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void process(const std::string& groups) { write("proc/self/cgroup", groups); }
  std::optional<std::size_t> limit() { return cgroup_memory_bytes(root_); }

  fs::path root_;
};

TEST_F(MachineTest, WithoutControlGroupsThereIsNoLimit) {
  EXPECT_EQ(limit(), std::nullopt);
  process("0::/\n");
  EXPECT_EQ(limit(), std::nullopt);
  process("no line of this file\n5:memory");
  EXPECT_EQ(limit(), std::nullopt);
}

TEST_F(MachineTest, TheLeastLimitOfAGroupAndThoseAboveIt) {
  process("0::/system.slice/moraine.service\n");
  write("sys/fs/cgroup/system.slice/moraine.service/memory.max", "max\n");
  EXPECT_EQ(limit(), std::nullopt);
  write("sys/fs/cgroup/system.slice/memory.max", "2000000\n");
  EXPECT_EQ(limit(), 2'000'000u);
  write("sys/fs/cgroup/system.slice/moraine.service/memory.max", "3000000\n");
  EXPECT_EQ(limit(), 2'000'000u);
  write("sys/fs/cgroup/system.slice/moraine.service/memory.max", "1000000\n");
  EXPECT_EQ(limit(), 1'000'000u);
  write("sys/fs/cgroup/system.slice/other.service/memory.max", "500000\n");
  EXPECT_EQ(limit(), 1'000'000u);
}

TEST_F(MachineTest, AContainerSeesItsOwnGroupAtTheRoot) {
  process("0::/\n");
  write("sys/fs/cgroup/memory.max", "4000000\n");
  EXPECT_EQ(limit(), 4'000'000u);
  process("0::/docker/0123456789\n");  // Without a namespace of control groups.
  EXPECT_EQ(limit(), 4'000'000u);
  process("0::/../..\n");
  EXPECT_EQ(limit(), 4'000'000u);
}

TEST_F(MachineTest, LimitsOfVersion1) {
  process("12:cpu,cpuacct:/other\n7:hugetlb,memory:/docker/abc\n1:name=systemd:/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limit(), 9'223'372'036'854'771'712u);
  write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "6000000\n");
  EXPECT_EQ(limit(), 6'000'000u);
  write("sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1000\n");
  EXPECT_EQ(limit(), 6'000'000u);
}

TEST_F(MachineTest, WhatIsNoNumberIsIgnored) {
  process("0::/a\n");
  for (const char* text : {"", "0\n", "-5\n", "12x\n", "99999999999999999999999\n"}) {
    write("sys/fs/cgroup/a/memory.max", text);
    EXPECT_EQ(limit(), std::nullopt) << text;
  }
}

TEST(Machine, ThisOneHasMemory) {
  EXPECT_GT(machine_memory_bytes(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace moraine
