#include "gateway/kafka/cluster_id.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tablet/test_tablet.h"

namespace moraine::kafka {
namespace {

// One cluster of its own.
class Cluster {
 public:
  explicit Cluster(std::uint64_t seed) : world_(seed), storage_(world_) { boot(); }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster() {
    stop();
    world_.shutdown();
  }
  void restart() {
    stop();
    boot();
  }
  Result<Uuid> id(bool here = true) {
    return world_.run(load_cluster_id([this, here] { return here ? tablet_ : nullptr; },
                                      storage_.world().random));
  }

 private:
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

  SimWorld world_;
  TestStorage storage_;
  std::shared_ptr<KeyValue> tablet_;
};

TEST(ClusterId, StaysOverRestartsAndDiffersFromThatOfAnotherCluster) {
  Cluster one(1);
  Cluster other(2);
  const auto id = one.id();
  ASSERT_TRUE(id) << id.error().message();
  EXPECT_FALSE(id->is_zero());
  one.restart();
  EXPECT_EQ(one.id().value_or(Uuid{}), *id);
  EXPECT_NE(other.id().value_or(Uuid{}), *id);
}

TEST(ClusterId, WithoutItsTabletThereIsNone) {
  Cluster cluster(1);
  EXPECT_EQ(cluster.id(false).error().code, Errc::kNotHere);
  EXPECT_TRUE(cluster.id());
}

TEST(ClusterId, IsWrittenAsKafkaWritesIt) {
  Uuid id;
  EXPECT_EQ(cluster_id_text(id), "AAAAAAAAAAAAAAAAAAAAAA");
  for (std::byte& byte : id.bytes) byte = std::byte{0xff};
  EXPECT_EQ(cluster_id_text(id), "_____________________w");
  for (std::size_t i = 0; i < id.bytes.size(); ++i) id.bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(cluster_id_text(id), "AAECAwQFBgcICQoLDA0ODw");
}

TEST(ClusterId, ReadsWhatItWroteAndNothingElse) {
  Uuid id;
  id.bytes[3] = std::byte{9};
  const Slice bytes = encode_cluster_id(id);
  EXPECT_EQ(decode_cluster_id(bytes).value_or(Uuid{}), id);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Buffer copy(bytes.size());
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    copy.data()[at] ^= std::byte{0x40};
    EXPECT_FALSE(decode_cluster_id(std::move(copy).freeze()));
    EXPECT_FALSE(decode_cluster_id(bytes.sub(0, at)));
  }
}

}  // namespace
}  // namespace moraine::kafka
