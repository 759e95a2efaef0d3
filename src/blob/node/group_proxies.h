// GroupProxies: proxies to every group, for the clients on one lane of a node.
//
// Threading  The world's executor.
#pragma once

#include <map>
#include <memory>

#include "blob/cluster_config.h"
#include "blob/endpoint/resolver.h"
#include "blob/proxy/proxy.h"
#include "io/world.h"

namespace moraine::blob {

class GroupProxies {
 public:
  // `services`: the VDisks of this node, which may run on other lanes; it outlives every call.
  // `metrics` of the options is set.
  GroupProxies(World world, std::vector<GroupConfig> groups, DiskServices& services,
               ProxyOptions options);
  GroupProxies(const GroupProxies&) = delete;
  GroupProxies& operator=(const GroupProxies&) = delete;

  // Made on first use; null when there is no such group.
  Proxy* proxy(GroupId group);
  // Does nothing unless it is a newer generation of a known group.
  void reconfigure(const GroupConfig& newer);
  // Waits for the commands in flight. Called once.
  Task<void> stop();

 private:
  World world_;
  std::map<GroupId, GroupConfig> groups_;
  NodeEndpoints endpoints_;
  const ProxyOptions options_;
  std::map<GroupId, std::unique_ptr<Proxy>> proxies_;
};

}  // namespace moraine::blob
