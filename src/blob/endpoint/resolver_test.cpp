#include "blob/endpoint/resolver.h"

#include <gtest/gtest.h>

#include "blob/endpoint/fake_disk.h"
#include "blob/endpoint/local_endpoint.h"
#include "blob/endpoint/node_service.h"
#include "blob/endpoint/remote_endpoint.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {
namespace {

class NodeEndpointsTest : public ::testing::Test {
 protected:
  NodeEndpointsTest()
      : node(world.add_node()), endpoints(node.world().network, node.world().executor, services) {}

  SimWorld world{1};
  SimNode& node;
  DiskServices services;
  NodeEndpoints endpoints;
};

TEST_F(NodeEndpointsTest, AddressesOfThisNodeAreLocalAndOthersRemote) {
  const auto local = endpoints.resolve({node.id(), 1, 0});
  const auto remote = endpoints.resolve({NodeId{node.id().value + 1}, 1, 0});
  EXPECT_NE(dynamic_cast<LocalEndpoint*>(local.get()), nullptr);
  EXPECT_NE(dynamic_cast<RemoteEndpoint*>(remote.get()), nullptr);
}

TEST_F(NodeEndpointsTest, TheSameAddressGivesTheSameEndpoint) {
  EXPECT_EQ(endpoints.resolve({node.id(), 1, 0}), endpoints.resolve({node.id(), 1, 0}));
  EXPECT_NE(endpoints.resolve({node.id(), 1, 0}), endpoints.resolve({node.id(), 1, 1}));
}

TEST_F(NodeEndpointsTest, CallersReachDisksOfBothNodesInTheSameWay) {
  SimNode& other = world.add_node();
  DiskServices services_of_other;
  NodeService service(other.world().network, other.world().executor, services_of_other);
  const DiskAddress here{node.id(), 1, 0};
  const DiskAddress there{other.id(), 1, 0};
  auto local_disk = std::make_shared<FakeDisk>(node.world().executor);
  auto remote_disk = std::make_shared<FakeDisk>(other.world().executor);
  services.add(here, local_disk);
  services_of_other.add(there, remote_disk);
  for (const DiskAddress& address : {here, there}) {
    const Instant deadline = world.executor().now() + 1s;
    const auto endpoint = endpoints.resolve(address);
    EXPECT_EQ(world.run(endpoint->call(put_request("x"), deadline)).status, Status::kOk);
  }
  EXPECT_EQ(local_disk->handled, 1);
  EXPECT_EQ(remote_disk->handled, 1);
}

TEST_F(NodeEndpointsTest, TheCacheIsBoundedAndKeepsWhatIsHeld) {
  const auto held = endpoints.resolve({node.id(), 0, 0});
  for (std::uint32_t slot = 1; slot <= kEndpointsCachedMax; ++slot) {
    endpoints.resolve({node.id(), 0, slot});
  }
  EXPECT_EQ(endpoints.cached(), 2u);
  EXPECT_EQ(endpoints.resolve({node.id(), 0, 0}), held);

  std::vector<std::shared_ptr<DiskEndpoint>> all;
  for (std::uint32_t slot = 0; slot < kEndpointsCachedMax + 10; ++slot) {
    all.push_back(endpoints.resolve({node.id(), 1, slot}));
  }
  EXPECT_EQ(endpoints.cached(), kEndpointsCachedMax);
}

}  // namespace
}  // namespace moraine::blob
