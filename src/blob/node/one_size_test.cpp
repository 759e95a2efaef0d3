// No two blobs differ in their size alone.
#include <gtest/gtest.h>

#include "blob/node/blob_node.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {
namespace {

constexpr TabletId kTablet{9};

class OneSize : public testing::Test {
 protected:
  OneSize() : world_(5), node_(world_.add_node()) {
    ClusterConfig config = single_node_config("device", kSegmentsOffset + (20u << 20));
    config.nodes[0].id = node_.id();
    config.nodes[0].devices[0].segment_size = 1u << 20;
    config.groups[0].disks[0].node = node_.id();
    storage_ = std::make_unique<BlobNode>(node_.world(), config, node_.id());
    EXPECT_TRUE(world_.run(storage_->start()));
  }
  ~OneSize() override { world_.run(storage_->stop()); }

  Proxy& proxy() { return *storage_->proxy(GroupId{1}); }
  static BlobId id(std::uint32_t size, Step step = 1) {
    return BlobId(kTablet, 5, step, 0, size, 7);
  }
  static PutRequest put_of(const BlobId& id) {
    PutRequest request;
    request.id = id;
    request.data = Buffer::zeroed(id.size()).freeze();
    return request;
  }
  PutResult put(const BlobId& id) { return world_.run(proxy().put(put_of(id))); }
  Status get(const BlobId& id) {
    GetRequest request;
    request.queries.push_back({id, 0, 0});
    return world_.run(proxy().get(std::move(request))).items.at(0).status;
  }
  static Task<void> put_into(Proxy& proxy, PutRequest request, Status& status) {
    status = (co_await proxy.put(std::move(request))).status;
  }

  static Task<void> joined(TaskScope& scope) { co_await scope.join(); }

  SimWorld world_;
  SimNode& node_;
  std::unique_ptr<BlobNode> storage_;
};

TEST_F(OneSize, ABlobThatDiffersFromAStoredOneInItsSizeAloneIsRefused) {
  ASSERT_EQ(put(id(100)).status, Status::kOk);
  for (const std::uint32_t size : {99u, 101u}) {
    const PutResult refused = put(id(size));
    EXPECT_EQ(refused.status, Status::kError);
    EXPECT_NE(refused.reason.find("already stored with another size: [9:5:1:0:7:100:0]"),
              std::string::npos)
        << refused.reason;
    EXPECT_EQ(get(id(size)), Status::kNoData);
  }
  EXPECT_EQ(put(id(100)).status, Status::kOk) << "the same blob again";
  EXPECT_EQ(put(BlobId(kTablet, 5, 1, 0, 99, 8)).status, Status::kOk) << "another cookie";
  EXPECT_EQ(put(id(99, 2)).status, Status::kOk) << "another step";
  EXPECT_EQ(get(id(100)), Status::kOk);
}

TEST_F(OneSize, OfTwoPutsAtOnceOneIsRefused) {
  Status first = Status::kNotYet;
  Status second = Status::kNotYet;
  {
    TaskScope scope;
    scope.spawn(put_into(proxy(), put_of(id(100)), first));
    scope.spawn(put_into(proxy(), put_of(id(101)), second));
    world_.run(joined(scope));
  }
  ASSERT_EQ((first == Status::kOk) + (second == Status::kOk), 1);
  const BlobId winner = first == Status::kOk ? id(100) : id(101);
  EXPECT_EQ(put(winner).status, Status::kOk) << "the one that was acknowledged, again";
  EXPECT_EQ(get(winner), Status::kOk);
  EXPECT_EQ(put(id(102)).status, Status::kError);
}

TEST_F(OneSize, ACollectedBlobIsNotInTheWay) {
  ASSERT_EQ(put(id(100)).status, Status::kOk);
  CollectRequest collect;
  collect.tablet = kTablet;
  collect.record_generation = 5;
  collect.counter = 1;
  collect.keep = {id(101)};
  collect.barrier = GenStep{5, 1};
  ASSERT_EQ(world_.run(proxy().collect(collect)).status, Status::kOk);
  EXPECT_EQ(put(id(101)).status, Status::kOk);
  EXPECT_EQ(get(id(101)), Status::kOk);
}

}  // namespace
}  // namespace moraine::blob
