// A power cut at every I/O boundary: whatever the disk was about to do, or had just done, the image
// opens again and holds every acknowledged record.

#include <gtest/gtest.h>

#include <set>

#include "blob/device/device.h"
#include "blob/device/test_owner.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {
namespace {

constexpr OwnerSlot kSlot = 1;
const std::string kPath = "device";

Slice value_of(int version, std::size_t size) {
  SeededRandom random(static_cast<std::uint64_t>(version) + 1);
  Buffer buffer(size);
  for (std::byte& b : buffer.span()) b = static_cast<std::byte>(random.next());
  return std::move(buffer).freeze();
}

// For each name the versions that a client may find (nullopt: absent).
struct Truth {
  std::map<std::string, std::set<std::optional<int>>> allowed;
  std::map<int, std::size_t> sizes;
};

struct Image {
  DiskImage disk;
  Truth truth;
  std::uint64_t event;
};

DeviceOptions small_options() {
  DeviceOptions options;
  options.checkpoint_log_bytes = 384u << 10;
  options.clean_fill_max = 0.9;
  return options;
}

// Puts, overwrites and erases with several in flight, so that checkpoints, cleaning and trimming
// happen; `pause` leaves the device idle at times.
class Scenario {
 public:
  Scenario(SimWorld& world, Device& device)
      : world_(world), owner_(std::static_pointer_cast<TestOwner>(device.attach(kSlot))) {}

  Truth truth;

  void run(int operations, Duration pause = {}) {
    SeededRandom random(7);
    for (int i = 0; i < operations; i += 4) {
      TaskScope scope;
      for (int k = 0; k < 4; ++k) {
        std::string name = fmt::format("n{}", (i + k * 7) % 24);
        // Some names stay forever, all over the device: cleaning has to copy them.
        const bool cold = random.one_in(8);
        if (cold) name = fmt::format("cold{}", i + k);
        if (random.one_in(4) && !cold) {
          scope.spawn(erase(name));
        } else {
          const std::size_t size =
              !cold && random.one_in(6) ? 70'000 : 1 + random.below(cold ? 4'000 : 20'000);
          scope.spawn(set(name, i + k, size));
        }
      }
      world_.run(wait(scope));
      if (pause > Duration{} && i % 40 == 0) world_.run_for(pause);
    }
  }

 private:
  static Task<void> wait(TaskScope& scope) { co_await scope.join(); }

  Task<void> set(std::string name, int version, std::size_t size) {
    truth.sizes[version] = size;
    auto& allowed = truth.allowed[name];
    if (allowed.empty()) allowed.insert(std::nullopt);
    allowed.insert(version);
    const auto done = co_await owner_->set(name, value_of(version, size));
    if (done) truth.allowed[name] = {version};
  }
  Task<void> erase(std::string name) {
    truth.allowed[name].insert(std::nullopt);
    const auto done = co_await owner_->erase(name);
    if (done) truth.allowed[name] = {std::nullopt};
  }

  SimWorld& world_;
  std::shared_ptr<TestOwner> owner_;
};

void check_image(const Image& image, CrashPolicy policy) {
  SimWorld world(99);
  SimNode& node = world.add_node();
  node.disks().install(kPath, image.disk);
  auto opened = world.run(Device::open(node.world(), kPath, small_options(), TestOwner::factory()));
  ASSERT_TRUE(opened) << "event " << image.event << ": " << opened.error().message();
  EXPECT_TRUE((*opened)->damage().empty())
      << "event " << image.event << ": " << (*opened)->damage().front();
  {
    auto owner = std::static_pointer_cast<TestOwner>((*opened)->attach(kSlot));
    for (const auto& [name, versions] : image.truth.allowed) {
      const auto got = world.run(owner->get(name));
      bool found = !got && got.error().code == Errc::kNotFound && versions.contains(std::nullopt);
      for (const auto& version : versions) {
        if (!version || !got) continue;
        found = found || equal(*got, value_of(*version, image.truth.sizes.at(*version)));
      }
      ASSERT_TRUE(found) << "event " << image.event << " policy " << static_cast<int>(policy) << " "
                         << name << ": " << (got ? "other bytes" : got.error().message());
    }
    const auto again = world.run(owner->set("after", value_of(1, 5000)));
    ASSERT_TRUE(again) << again.error().message();
  }
  world.run((*opened)->stop());
}

// Runs the scenario with a power cut tried at every boundary; returns the device's statistics.
DeviceStats cut_at_every_boundary(std::uint64_t segments, int operations, Duration pause) {
  SimWorld world(5);
  SimNode& node = world.add_node();
  FormatOptions format;
  format.segment_bytes = 256u << 10;
  format.size = kSegmentsOffset + segments * format.segment_bytes;
  EXPECT_TRUE(world.run(Device::format(node.world(), kPath, format)));
  auto opened = world.run(Device::open(node.world(), kPath, small_options(), TestOwner::factory()));
  EXPECT_TRUE(opened);
  if (!opened) return {};
  std::uint64_t images = 0;
  {
    Scenario scenario(world, **opened);
    node.disks().on_io([&](const IoEvent& event) {
      // A third of the boundaries for each policy keeps the test short; all are covered over them.
      const CrashPolicy policy = event.number % 3 == 0   ? CrashPolicy::kKeep
                                 : event.number % 3 == 1 ? CrashPolicy::kLose
                                                         : CrashPolicy::kRandom;
      ++images;
      check_image(
          {node.disks().crash_image(kPath, policy, event.number), scenario.truth, event.number},
          policy);
    });
    scenario.run(operations, pause);
    node.disks().on_io({});
  }
  EXPECT_GT(images, 300u);
  const DeviceStats stats = (*opened)->stats();
  world.run((*opened)->stop());
  return stats;
}

TEST(CrashPoints, EveryBoundaryOfPutEraseCheckpointAndCleanReopensWhole) {
  const DeviceStats stats = cut_at_every_boundary(14, 1000, {});
  EXPECT_GT(stats.checkpoints, 5u);
  EXPECT_GT(stats.segments_freed, 10u);
  EXPECT_GT(stats.segments_evacuated, 0u);
}

TEST(CrashPoints, EveryBoundaryOfTrimmingAndPrewritingReopensWhole) {
  const DeviceStats stats = cut_at_every_boundary(40, 600, 1200ms);
  EXPECT_GT(stats.segments_trimmed, 10u);
  EXPECT_GT(stats.segments_prewritten, 0u);
}

}  // namespace
}  // namespace moraine::blob
