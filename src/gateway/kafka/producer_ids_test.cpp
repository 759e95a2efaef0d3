#include "gateway/kafka/producer_ids.h"

#include <gtest/gtest.h>

#include <set>

#include "tablet/test_tablet.h"

namespace moraine::kafka {
namespace {

class ProducerIdsTest : public testing::Test {
 protected:
  ProducerIdsTest() : world_(5), storage_(world_) { boot(); }
  ~ProducerIdsTest() override {
    stop();
    world_.shutdown();
  }
  void boot() {
    auto booted = world_.run(
        KeyValue::boot(storage_.world(), storage_, TabletInfo::simple(TabletId{7}, kTestGroup, 3)));
    INVARIANT(booted, "{}", booted.error().message());
    tablet_ = std::move(*booted);
  }
  void stop() {
    if (tablet_) world_.run(tablet_->stop());
    tablet_.reset();
  }
  static Task<void> take(DurableProducerIds& ids, std::multiset<std::int64_t>& into) {
    const auto id = co_await ids.next();
    into.insert(id.value_or(-1));
  }
  static Task<void> join(TaskScope& scope) { co_await scope.join(); }

  SimWorld world_;
  TestStorage storage_;
  std::shared_ptr<KeyValue> tablet_;
};

TEST_F(ProducerIdsTest, IdsAreGivenOnceOverRestartsAndNeverZero) {
  std::multiset<std::int64_t> given;
  for (int life = 0; life < 3; ++life) {
    DurableProducerIds ids(storage_.world().executor, [this] { return tablet_; });
    TaskScope scope;
    for (int i = 0; i < 1'500; ++i) scope.spawn(take(ids, given));
    world_.run(join(scope));
    stop();
    boot();
  }
  EXPECT_EQ(given.size(), 4'500u);
  EXPECT_EQ(std::set<std::int64_t>(given.begin(), given.end()).size(), given.size());
  EXPECT_GE(*given.begin(), 1);
}

TEST_F(ProducerIdsTest, WithoutItsTabletThereAreNoIdsUntilItIsBack) {
  bool here = false;
  DurableProducerIds ids(storage_.world().executor, [&] { return here ? tablet_ : nullptr; });
  EXPECT_EQ(world_.run(ids.next()).error().code, Errc::kNotHere);
  here = true;
  EXPECT_EQ(world_.run(ids.next()).value_or(-1), 1);
}

TEST(ProducerIdCounter, ReadsWhatItWroteAndNothingElse) {
  const Slice bytes = encode_producer_id_counter(123'456);
  EXPECT_EQ(decode_producer_id_counter(bytes).value_or(-1), 123'456);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Buffer copy(bytes.size());
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    copy.data()[at] ^= std::byte{0x40};
    EXPECT_FALSE(decode_producer_id_counter(std::move(copy).freeze()));
    EXPECT_FALSE(decode_producer_id_counter(bytes.sub(0, at)));
  }
}

}  // namespace
}  // namespace moraine::kafka
