#include "node/key_value_host.h"

#include "tablet/test_tablet.h"

namespace moraine {
namespace {

const TabletInfo kInfo = TabletInfo::simple(TabletId{7}, kTestGroup, 3);

class KeyValueHostTest : public testing::Test {
 protected:
  KeyValueHostTest() : world_(8), storage_(world_) {
    host_ = std::make_unique<KeyValueHost>(storage_.world(), storage_, kInfo);
    host_->start();
  }
  ~KeyValueHostTest() override {
    if (host_) world_.run(host_->stop());
    host_.reset();
    world_.shutdown();
  }
  Instant soon() { return storage_.world().executor.now() + 30s; }
  Result<void> write(const std::shared_ptr<KeyValue>& tablet, std::string key) {
    std::vector<Command> commands;
    commands.push_back(WriteKey{std::move(key), Slice::copy_of("value"), false});
    return world_.run(tablet->execute(std::move(commands)));
  }

  SimWorld world_;
  TestStorage storage_;
  std::unique_ptr<KeyValueHost> host_;
};

TEST_F(KeyValueHostTest, GivesTheTabletOnceItRuns) {
  EXPECT_FALSE(host_->get());
  const auto tablet = world_.run(host_->wait(soon()));
  ASSERT_TRUE(tablet);
  EXPECT_EQ(host_->get(), tablet);
  EXPECT_TRUE(write(tablet, "a"));
}

TEST_F(KeyValueHostTest, ATabletThatWasTakenOverIsTakenBack) {
  const auto first = world_.run(host_->wait(soon()));
  ASSERT_TRUE(write(first, "a"));
  auto other = world_.run(KeyValue::boot(storage_.world(), storage_, kInfo));
  ASSERT_TRUE(other);
  EXPECT_EQ(write(first, "b").error().code, Errc::kConflict);
  world_.run_for(1ms);
  EXPECT_FALSE(host_->get()) << "it has ended";
  const auto second = world_.run(host_->wait(soon()));
  ASSERT_TRUE(second);
  EXPECT_NE(second, first);
  EXPECT_TRUE(second->find("a"));
  EXPECT_TRUE(write(second, "c"));
  world_.run((*other)->stop());
}

TEST_F(KeyValueHostTest, WaitingEndsAtTheDeadlineAndWhenTheHostStops) {
  EXPECT_FALSE(world_.run(host_->wait(storage_.world().executor.now())));
  world_.run(host_->stop());
  EXPECT_FALSE(world_.run(host_->wait(Instant::never())));
  host_.reset();
}

TEST_F(KeyValueHostTest, APowerCutEndsItAndTheNextOneHasEverything) {
  ASSERT_TRUE(write(world_.run(host_->wait(soon())), "a"));
  storage_.node().on_stop([&] { host_->abandon(); });
  storage_.node().on_crash([&] { host_.reset(); });
  storage_.crash();
  host_ = std::make_unique<KeyValueHost>(storage_.world(), storage_, kInfo);
  host_->start();
  const auto tablet = world_.run(host_->wait(soon()));
  ASSERT_TRUE(tablet);
  EXPECT_TRUE(tablet->find("a"));
}

}  // namespace
}  // namespace moraine
