// Story: a quiet cluster and the commands of a client, in plain calls. For tests of one property
// each.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "blob/ingress.h"
#include "sim/cluster.h"

namespace moraine::sim {

class Story {
 public:
  explicit Story(blob::Species species, std::uint64_t seed = 31)
      : world_(seed), cluster_(world_, options(species)) {
    EXPECT_TRUE(cluster_.settle(5min)) << cluster_.unsettled();
  }

  SimWorld& world() { return world_; }
  Cluster& cluster() { return cluster_; }
  std::uint32_t disks() const { return cluster_.geometry().disks(); }

  blob::Status put(const blob::BlobId& id, std::size_t client = 0) {
    blob::PutRequest request;
    request.id = id;
    request.data = blob_bytes(id);
    return world_.run(cluster_.proxy(client).put(std::move(request))).status;
  }
  blob::Status get(const blob::BlobId& id, bool must_restore = false, std::size_t client = 0) {
    blob::GetRequest request;
    request.queries.push_back({id, 0, 0});
    request.must_restore = must_restore;
    const auto answer = world_.run(cluster_.proxy(client).get(std::move(request)));
    if (answer.items.size() != 1) return answer.status;
    if (answer.items[0].status == blob::Status::kOk) {
      EXPECT_TRUE(right_bytes(id, 0, answer.items[0].data)) << id.to_string();
    }
    return answer.items[0].status;
  }
  // Fences `generation` and every lower one.
  blob::Status block(blob::TabletId tablet, blob::Generation generation, std::size_t client = 0) {
    blob::BlockRequest request;
    request.tablet = tablet;
    request.generation = generation + 1;
    return world_.run(cluster_.proxy(client).block(std::move(request))).status;
  }
  blob::Generation blocked(blob::TabletId tablet, std::size_t client = 0) {
    blob::GetBlockRequest request;
    request.tablet = tablet;
    const auto answer = world_.run(cluster_.proxy(client).blocked_generation(std::move(request)));
    EXPECT_EQ(answer.status, blob::Status::kOk) << answer.reason;
    return answer.blocked;
  }
  blob::Status collect(blob::CollectRequest request, std::size_t client = 0) {
    return world_.run(cluster_.proxy(client).collect(std::move(request))).status;
  }

  // Sends to one member directly, whatever the network does.
  blob::DiskReply ask(std::uint32_t order, blob::RequestBody body) {
    blob::DiskRequest request{cluster_.config().vdisk(order), std::move(body)};
    return world_.run(cluster_.vdisk(order)->handle(std::move(request)));
  }

  void crash(blob::DiskSet members) {
    for (std::uint32_t order = 0; order < disks(); ++order) {
      if (blob::contains(members, order)) cluster_.crash(cluster_.host_of(order));
    }
  }
  void start(blob::DiskSet members) {
    for (std::uint32_t order = 0; order < disks(); ++order) {
      if (blob::contains(members, order)) cluster_.start(cluster_.host_of(order));
    }
  }
  void replace(blob::DiskSet members) {
    crash(members);
    for (std::uint32_t order = 0; order < disks(); ++order) {
      if (blob::contains(members, order)) cluster_.replace_disk(cluster_.host_of(order));
    }
    start(members);
  }
  void settle() { ASSERT_TRUE(cluster_.settle(10min)) << cluster_.unsettled(); }
  std::vector<NodeId> nodes_of(blob::DiskSet members) {
    std::vector<NodeId> nodes;
    for (std::uint32_t order = 0; order < disks(); ++order) {
      if (blob::contains(members, order))
        nodes.push_back(cluster_.node_id(cluster_.host_of(order)));
    }
    return nodes;
  }
  // Members that hold data of the blob.
  blob::DiskSet holders(const blob::BlobId& id) {
    blob::DiskSet set = 0;
    for (std::uint32_t order = 0; order < disks(); ++order) {
      const auto disk = cluster_.vdisk(order);
      if (disk && disk->state().index().local_parts(id) != 0) set |= blob::disk_bit(order);
    }
    return set;
  }

 private:
  static ClusterOptions options(blob::Species species) {
    ClusterOptions options;
    options.erasure = species == blob::Species::kBlock42     ? Erasure::kBlock42
                      : species == blob::Species::kMirror3dc ? Erasure::kMirror3dc
                                                             : Erasure::kNone;
    options.node = quick_node_options();
    return options;
  }

  SimWorld world_;
  Cluster cluster_;
};

}  // namespace moraine::sim
