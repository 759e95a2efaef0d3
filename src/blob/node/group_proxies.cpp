#include "blob/node/group_proxies.h"

namespace moraine::blob {

GroupProxies::GroupProxies(World world, std::vector<GroupConfig> groups, DiskServices& services,
                           ProxyOptions options)
    : world_(world), endpoints_(world.network, world.executor, services), options_(options) {
  for (GroupConfig& group : groups) {
    const GroupId id = group.id;
    groups_.insert_or_assign(id, std::move(group));
  }
}

Proxy* GroupProxies::proxy(GroupId group) {
  const auto found = proxies_.find(group);
  if (found != proxies_.end()) return found->second.get();
  const auto config = groups_.find(group);
  if (config == groups_.end()) return nullptr;
  auto& made = proxies_[group];
  made = std::make_unique<Proxy>(world_, config->second, endpoints_, options_);
  return made.get();
}

void GroupProxies::reconfigure(const GroupConfig& newer) {
  const auto known = groups_.find(newer.id);
  if (known == groups_.end() || known->second.generation >= newer.generation) return;
  known->second = newer;
  const auto proxy = proxies_.find(newer.id);
  if (proxy != proxies_.end()) proxy->second->reconfigure(newer);
}

Task<void> GroupProxies::stop() {
  for (const auto& [group, proxy] : proxies_) co_await proxy->stop();
}

}  // namespace moraine::blob
