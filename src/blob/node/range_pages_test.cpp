// A range over more ids than one message of a disk holds.
#include <gtest/gtest.h>

#include "blob/node/blob_node.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {
namespace {

constexpr std::uint32_t kBlobs = 2 * kRangeItemsMax + 100;
constexpr TabletId kTablet{9};

Task<void> put_all(Proxy& proxy, Status& worst) {
  for (std::uint32_t step = 1; step <= kBlobs; ++step) {
    PutRequest request;
    request.id = BlobId(kTablet, 1, step, 0, 1, 0);
    request.data = Slice::copy_of("x");
    const PutResult result = co_await proxy.put(std::move(request));
    if (result.status != Status::kOk) worst = result.status;
  }
}

TEST(RangePages, EveryIdComesOnceInBothDirections) {
  SimWorld world(1);
  SimNode& node = world.add_node();
  ClusterConfig config = single_node_config("device", 256u << 20);
  config.nodes[0].id = node.id();
  config.nodes[0].devices[0].segment_size = 1u << 20;
  config.groups[0].disks[0].node = node.id();
  BlobNode storage(node.world(), config, node.id());
  ASSERT_TRUE(world.run(storage.start()));
  Proxy& proxy = *storage.proxy(config.groups[0].id);
  Status worst = Status::kOk;
  world.run(put_all(proxy, worst));
  ASSERT_EQ(worst, Status::kOk);
  for (const bool descending : {false, true}) {
    RangeRequest request;
    request.from = BlobId::lowest(kTablet, 0);
    request.to = BlobId::highest(kTablet, 0);
    if (descending) std::swap(request.from, request.to);
    request.index_only = true;
    const RangeResult found = world.run(proxy.range(std::move(request)));
    ASSERT_EQ(found.status, Status::kOk) << found.reason;
    ASSERT_EQ(found.items.size(), kBlobs);
    for (std::uint32_t i = 0; i < kBlobs; ++i) {
      ASSERT_EQ(found.items[i].id.step(), descending ? kBlobs - i : i + 1);
    }
  }
  world.run(storage.stop());
}

}  // namespace
}  // namespace moraine::blob
