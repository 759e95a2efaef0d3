// Help for the tests of simulated disks: sectors are filled with one letter each.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/sim/sim_world.h"

namespace moraine::sim_disk_test {

inline constexpr std::uint64_t kDiskSize = 64 * kSectorSize;

// Sectors filled with one letter each.
inline Slice sectors(std::string_view letters) {
  Buffer buffer(letters.size() * kSectorSize);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    std::memset(buffer.data() + i * kSectorSize, letters[i], kSectorSize);
  }
  return std::move(buffer).freeze();
}

// The letter of each sector; '.' for zeros, '?' for a sector that is not of one letter.
inline std::string letters_of(const Slice& bytes) {
  std::string letters;
  for (std::size_t at = 0; at < bytes.size(); at += kSectorSize) {
    const Slice sector = bytes.sub(at, kSectorSize);
    const char first = sector.text()[0];
    const bool same = sector.text().find_first_not_of(first) == std::string_view::npos;
    letters += !same ? '?' : first == 0 ? '.' : first;
  }
  return letters;
}

inline std::string letters_of(const DiskImage& image, std::uint64_t first, std::uint64_t count) {
  return letters_of(image.read(first * kSectorSize, count * kSectorSize));
}

class SimDiskTest : public ::testing::Test {
 protected:
  explicit SimDiskTest(std::uint64_t seed = 1) : world(seed), node(world.add_node()) {}

  void create() { disk = open({.create = true, .create_size = kDiskSize}).value(); }
  Result<std::unique_ptr<Disk>> open(DiskOptions options) {
    return world.run(node.world().disks.open("disk", options));
  }
  Result<void> write(std::uint64_t sector, std::string_view letters,
                     Durability durability = Durability::kCached) {
    return world.run(disk->write(sector * kSectorSize, {sectors(letters)}, durability));
  }
  std::string read(std::uint64_t sector, std::uint64_t count) {
    return letters_of(world.run(disk->read(sector * kSectorSize, count * kSectorSize)).value());
  }
  Errc read_error(std::uint64_t sector) {
    return world.run(disk->read(sector * kSectorSize, kSectorSize)).error().code;
  }
  Result<void> sync() { return world.run(disk->sync()); }
  SimDrive& drive() { return node.disks().drive("disk"); }
  void power_cut(CrashPolicy policy = CrashPolicy::kRandom) {
    node.on_crash([this] { disk.reset(); });
    node.crash(policy);
    node.restart();
    disk = open({}).value();
  }

  SimWorld world;
  SimNode& node;
  std::unique_ptr<Disk> disk;
};

inline Task<void> write_into(Disk& disk, std::uint64_t sector, std::string letters, int& done) {
  std::vector<Slice> pieces{sectors(letters)};
  const Result<void> result =
      co_await disk.write(sector * kSectorSize, std::move(pieces), Durability::kCached);
  if (result) ++done;
}

inline Task<void> sync_into(Disk& disk, int& done) {
  if (co_await disk.sync()) ++done;
}

}  // namespace moraine::sim_disk_test
