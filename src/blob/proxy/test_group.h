// TestGroup: a group of ScriptedDisks with a proxy, in a simulated world.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "blob/group/erasure.h"
#include "blob/proxy/proxy.h"
#include "blob/proxy/scripted_disk.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {

inline constexpr std::uint64_t kTestTablet = 1001;

inline Slice test_bytes(std::size_t size, std::uint64_t seed = 1) {
  Buffer buffer(size);
  SeededRandom random(seed + size);
  for (std::size_t i = 0; i < size; ++i) buffer.data()[i] = static_cast<std::byte>(random.next());
  return std::move(buffer).freeze();
}

inline BlobId test_id(std::size_t size, Step step, Generation generation = 1, Channel channel = 0) {
  return BlobId(TabletId{kTestTablet}, generation, step, channel, static_cast<std::uint32_t>(size),
                0);
}

class TestGroup final : public EndpointResolver {
 public:
  explicit TestGroup(Species species, ProxyOptions options = {})
      : TestGroup(Geometry::standard(species), options) {}
  explicit TestGroup(const Geometry& geometry, ProxyOptions options = {})
      : world_(1), node_(world_.add_node()) {
    GroupConfig config;
    config.id = GroupId{7};
    config.geometry = geometry;
    for (std::uint32_t order = 0; order < geometry.disks(); ++order) {
      config.disks.push_back({NodeId{order + 1}, 0, 0});
    }
    for (std::uint32_t order = 0; order < geometry.disks(); ++order) add_disk(config, order);
    proxy_ = std::make_unique<Proxy>(node_.world(), std::move(config), *this, options);
  }
  ~TestGroup() override {
    if (proxy_) run(proxy_->stop());
  }

  std::shared_ptr<DiskEndpoint> resolve(const DiskAddress& address) override {
    for (const auto& [where, disk] : disks_) {
      if (where == address) return disk;
    }
    return nullptr;
  }

  template <class T>
  T run(Task<T> task) {
    return world_.run(std::move(task));
  }
  void wait(Duration duration) { world_.run_for(duration); }
  Instant now() { return world_.executor().now(); }

  Proxy& proxy() { return *proxy_; }
  World world() { return node_.world(); }
  const Geometry& geometry() const { return proxy_->config().geometry; }
  // By its current address.
  ScriptedDisk& disk(std::uint32_t order) { return *at(proxy_->config().disks[order]); }
  ScriptedDisk& disk(const BlobId& id, std::uint32_t slot) {
    return disk(geometry().subgroup(id).order[slot]);
  }
  ScriptedDisk& add_disk(const GroupConfig& config, std::uint32_t order) {
    auto disk = std::make_shared<ScriptedDisk>(node_.world().executor, config, order);
    disks_.emplace_back(config.disks[order], disk);
    return *disk;
  }
  ScriptedDisk* at(const DiskAddress& address) {
    const auto found =
        std::ranges::find(disks_, address, [](const auto& pair) { return pair.first; });
    return found == disks_.end() ? nullptr : found->second.get();
  }

  // Sets the behaviour of the disks in `set` (by order), and makes the others healthy.
  void set_behaviours(DiskSet set, ScriptedDisk::Behaviour behaviour) {
    for (std::uint32_t order = 0; order < geometry().disks(); ++order) {
      disk(order).behaviour = contains(set, order) ? behaviour : ScriptedDisk::Behaviour::kHealthy;
    }
  }
  void forget_health() { wait(11s); }

  PutResult put(const BlobId& id, const Slice& data, Duration timeout = 30s) {
    PutRequest request;
    request.id = id;
    request.data = data;
    request.deadline = now() + timeout;
    return run(proxy_->put(std::move(request)));
  }
  GetItem get(const BlobId& id, std::uint32_t shift = 0, std::uint32_t size = 0,
              bool must_restore = false, bool index_only = false) {
    GetRequest request;
    request.queries.push_back({id, shift, size});
    request.must_restore = must_restore;
    request.index_only = index_only;
    GetResult result = run(proxy_->get(std::move(request)));
    EXPECT_EQ(result.items.size(), 1u);
    last_reason = result.reason;
    return std::move(result.items.front());
  }
  GetItem restore(const BlobId& id, bool index_only = false) {
    return get(id, 0, 0, true, index_only);
  }
  // Fences `generation` and every lower one.
  BlockResult block(Generation generation, std::uint64_t issuer = 0, Duration timeout = 30s) {
    BlockRequest request;
    request.tablet = TabletId{kTestTablet};
    request.generation = generation + 1;
    request.issuer = issuer;
    request.deadline = now() + timeout;
    return run(proxy_->block(request));
  }

  // Stores single parts of a blob on their disks, without the proxy.
  void place(const BlobId& id, const Slice& data, std::uint32_t slot, std::uint32_t part) {
    ScriptedDisk& to = disk(id, slot);
    to.parts[id.with_part(part)] = split(geometry().species(), data)[part - 1];
    to.ingress[id].bits |= present_bit(geometry(), slot, part);
  }
  PartLayout layout(const BlobId& id) {
    PartLayout layout;
    for (std::uint32_t slot = 0; slot < geometry().slots(); ++slot) {
      for (std::uint32_t part = 1; part <= geometry().parts(); ++part) {
        if (disk(id, slot).has(id, part)) layout.add(slot, part);
      }
    }
    return layout;
  }

  std::string last_reason;

 private:
  ScopedLogCapture silence_{0};
  SimWorld world_;
  SimNode& node_;
  std::vector<std::pair<DiskAddress, std::shared_ptr<ScriptedDisk>>> disks_;
  std::unique_ptr<Proxy> proxy_;
};

}  // namespace moraine::blob
