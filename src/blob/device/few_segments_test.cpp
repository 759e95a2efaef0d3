// Devices with few segments and long records: much of each segment's end stays empty, and a pass of
// cleaning needs a large share of the free segments.

#include <gtest/gtest.h>

#include "blob/device/test_owner.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {
namespace {

constexpr OwnerSlot kSlot = 1;
const std::string kPath = "device";
constexpr std::uint32_t kSegment = 256u << 10;
constexpr Colour kColourToRefuse = Colour::kPreOrange;  // As VDisks do.

struct Shape {
  std::string name;
  std::uint32_t segments = 24;
  int writers = 8;
  int names = 14;  // Of each writer.
  std::uint64_t size_min = 20'000;
  std::uint64_t size_max = 60'000;
  int rounds = 400;
  // Of the writes, the percentage refused by colour. A device that is too small for the names
  // refuses some; it still accepts many.
  int refused_max = 0;
  bool heed_colour = true;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.name;
}

class FewSegments : public testing::TestWithParam<std::tuple<Shape, std::uint64_t>> {
 protected:
  FewSegments() : world_(std::get<1>(GetParam())), node_(world_.add_node()) {
    FormatOptions options;
    options.size = kSegmentsOffset + std::uint64_t{shape().segments} * kSegment;
    options.segment_bytes = kSegment;
    EXPECT_TRUE(world_.run(Device::format(node_.world(), kPath, options)));
    open();
  }
  ~FewSegments() override {
    world_.run(device_->stop());
    owner_.reset();
    device_.reset();
  }
  static const Shape& shape() { return std::get<0>(GetParam()); }

  void open() {
    auto opened = world_.run(Device::open(node_.world(), kPath, {}, TestOwner::factory()));
    ASSERT_TRUE(opened) << opened.error().message();
    device_ = std::move(*opened);
    owner_ = std::static_pointer_cast<TestOwner>(device_->attach(kSlot));
  }
  void reopen_after_power_cut() {
    node_.on_stop([this] { device_->abandon(); });
    node_.on_crash([this] {
      owner_.reset();
      device_.reset();
    });
    node_.crash(CrashPolicy::kRandom);
    node_.restart();
    open();
  }

  // Overwrites its names at random. What is refused makes it erase one of them.
  Task<void> write(int writer) {
    SeededRandom random = world_.stream("writer", static_cast<std::uint64_t>(writer));
    for (int round = 0; round < shape().rounds && !stopping_; ++round) {
      const auto chosen = random.below(static_cast<std::uint64_t>(shape().names));
      const std::string name = fmt::format("{}/{}", writer, chosen);
      const std::uint64_t seed = random.next();
      const std::uint64_t size =
          shape().size_min + random.below(shape().size_max - shape().size_min + 1);
      if (shape().heed_colour && device_->colour() >= kColourToRefuse) {
        ++refused_;
        co_await erase(name);
        continue;
      }
      const auto written = co_await owner_->set(name, bytes_of(seed, size));
      if (written) {
        ++written_;
        expected_[name] = {seed, size};
        continue;
      }
      note_failure(written.error());
      co_await erase(name);
    }
  }
  Task<void> erase(std::string name) {
    const auto erased = co_await owner_->erase(name);
    if (erased) {
      expected_.erase(name);
    } else if (!stopping_) {
      errors_.push_back(erased.error().message());
    }
    co_await sleep_for(world_.executor(), 1ms);
  }
  // Only who ignores the colour may get kNoSpace, and only once the colour says so.
  void note_failure(const Error& error) {
    if (stopping_ && error.code != Errc::kNoSpace) return;
    const bool clean = !shape().heed_colour && error.code == Errc::kNoSpace &&
                       error.context.contains("no segment can be freed") &&
                       device_->colour() >= kColourToRefuse;
    if (clean) {
      ++refused_;
    } else {
      errors_.push_back(fmt::format("{} at {}, {} of {} segments free", error.message(),
                                    to_string(device_->colour()), device_->segments().free(),
                                    device_->segments().count()));
    }
  }
  void write_all() {
    TaskScope scope;
    for (int writer = 0; writer < shape().writers; ++writer) scope.spawn(write(writer));
    for (int i = 0; i < 36'000 && scope.live() > 0; ++i) world_.run_for(100ms);
    ASSERT_EQ(scope.live(), 0u) << "appends wait for nothing";
  }
  // Writes, and stops the device while the writers run.
  void write_until_stopped(Duration after) {
    TaskScope scope;
    for (int writer = 0; writer < shape().writers; ++writer) scope.spawn(write(writer));
    world_.run_for(after);
    stopping_ = true;
    world_.run(device_->stop());
    for (int i = 0; i < 100 && scope.live() > 0; ++i) world_.run_for(100ms);
    ASSERT_EQ(scope.live(), 0u) << "appends wait for nothing";
    stopping_ = false;
    owner_.reset();
    device_.reset();
    open();
  }
  void expect_all() {
    EXPECT_EQ(owner_->names().size(), expected_.size());
    for (const auto& [name, content] : expected_) {
      const auto got = world_.run(owner_->get(name));
      ASSERT_TRUE(got) << name << ": " << got.error().message();
      EXPECT_TRUE(equal(*got, bytes_of(content.first, content.second))) << name;
    }
  }

  SimWorld world_;
  SimNode& node_;
  std::unique_ptr<Device> device_;
  std::shared_ptr<TestOwner> owner_;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> expected_;  // Seed and size.
  bool stopping_ = false;
  int written_ = 0;
  int refused_ = 0;
  std::vector<std::string> errors_;
};

TEST_P(FewSegments, EveryAppendSucceedsOrIsRefusedByColour) {
  write_all();
  EXPECT_TRUE(errors_.empty()) << errors_.size() << " errors, the first: " << errors_.front();
  const int all = shape().writers * shape().rounds;
  EXPECT_LE(refused_ * 100, shape().refused_max * all) << refused_ << " of " << all;
  RecordProperty("refused", refused_);
  RecordProperty("live_percent", static_cast<int>(100 * (1.0 - device_->segments().free_share())));
  RecordProperty("evacuated", static_cast<int>(device_->stats().segments_evacuated));
  RecordProperty("copied_kib", static_cast<int>(device_->stats().bytes_appended >> 10));
  expect_all();
  reopen_after_power_cut();
  expect_all();
}

TEST_P(FewSegments, AStopWaitsForTheSegmentsThatAreBeingFreed) {
  SeededRandom random = world_.stream("stops");
  for (int stop = 0; stop < 12; ++stop) {
    write_until_stopped(std::chrono::microseconds(random.below(60'000)));
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(errors_.empty()) << errors_.size() << " errors, the first: " << errors_.front();
}

const Shape kShapes[] = {
    {.name = "SeventyPercent", .refused_max = 30},
    {.name = "SeventyPercentBlind", .refused_max = 30, .heed_colour = false},
    {.name = "FortyPercent", .names = 8},
    {.name = "HalfFull", .names = 10, .refused_max = 5},
    {.name = "NinetyPercent", .names = 18, .refused_max = 50},
    {.name = "NinetyPercentBlind", .names = 18, .refused_max = 50, .heed_colour = false},
    {.name = "OneWriter", .writers = 1, .names = 70, .rounds = 1500},
    {.name = "HalfSegments",
     .segments = 16,
     .writers = 4,
     .names = 4,
     .size_min = 60'000,
     .size_max = 130'000,
     .refused_max = 50},
    {.name = "UpToAWholeSegment",
     .segments = 16,
     .writers = 3,
     .names = 5,
     .size_min = 1'000,
     .size_max = 250'000,
     .refused_max = 60},
    {.name = "FewestSegments", .segments = 12, .writers = 3, .names = 8, .refused_max = 60},
    {.name = "ManySmall", .names = 200, .size_min = 500, .size_max = 4'000, .rounds = 1500},
    {.name = "ManySmallFull",
     .names = 260,
     .size_min = 500,
     .size_max = 4'000,
     .rounds = 1500,
     .refused_max = 50},
    {.name = "LongAmongSmall",
     .segments = 32,
     .writers = 8,
     .names = 30,
     .size_min = 100,
     .size_max = 40'000,
     .rounds = 800,
     .refused_max = 10},
};

INSTANTIATE_TEST_SUITE_P(Shapes, FewSegments,
                         testing::Combine(testing::ValuesIn(kShapes),
                                          testing::Range<std::uint64_t>(1, 4)),
                         [](const auto& info) {
                           return fmt::format("{}{}", std::get<0>(info.param).name,
                                              std::get<1>(info.param));
                         });

}  // namespace
}  // namespace moraine::blob
