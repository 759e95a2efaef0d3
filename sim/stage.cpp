#include "sim/stage.h"

#include <fmt/format.h>

#include "base/log.h"

namespace moraine::sim {

using namespace moraine::blob;

namespace {

constexpr Duration kStartBound = 60s;

}  // namespace

Stage::Stage(ClusterOptions options, std::uint64_t seed, SimOptions world)
    : world_(seed, world),
      history_(world_),
      model_(history_),
      cluster_(world_, std::move(options)) {}

Stage::~Stage() {
  world_.shutdown();
}

void Stage::open() {
  const Instant end = history_.now() + kStartBound;
  while (!cluster_.all_ready() && history_.now() < end) world_.run_for(100ms);
  if (!cluster_.all_ready()) history_.fail("the group did not start: " + cluster_.unsettled());
}

DiskReply Stage::ask(std::uint32_t order, RequestBody body) {
  const auto disk = cluster_.vdisk(order);
  if (!disk) return {};
  DiskRequest request{cluster_.config().vdisk(order), std::move(body)};
  return world_.run(disk->handle(std::move(request)));
}

PutResult Stage::put(const BlobId& id, std::size_t client) {
  PutRequest request;
  request.id = id;
  request.data = blob_bytes(id);
  request.deadline = history_.now() + command_time_;
  const auto ticket = model_.put_sent(id);
  const PutResult result = world_.run(proxy(client).put(std::move(request)));
  model_.put_done(ticket, id, result);
  return result;
}

GetResult Stage::get(std::vector<BlobId> ids, bool must_restore, std::size_t client) {
  GetRequest request;
  for (const BlobId& id : ids) request.queries.push_back({id, 0, 0});
  request.must_restore = must_restore;
  request.deadline = history_.now() + command_time_;
  const auto ticket = model_.get_sent(request);
  GetResult result = world_.run(proxy(client).get(request));
  model_.get_done(ticket, request, result);
  return result;
}

Status Stage::get_one(const BlobId& id, bool must_restore, std::size_t client) {
  return get({id}, must_restore, client).items.front().status;
}

BlockResult Stage::block(Generation generation, std::uint64_t issuer, std::size_t client) {
  BlockRequest request;
  request.tablet = kTablet;
  request.generation = generation + 1;
  request.issuer = issuer;
  request.deadline = history_.now() + command_time_;
  const auto ticket = model_.block_sent(request);
  const BlockResult result = world_.run(proxy(client).block(request));
  model_.block_done(ticket, request, result);
  return result;
}

CollectRequest Stage::collect_request(Generation generation) {
  CollectRequest request;
  request.tablet = kTablet;
  request.record_generation = generation;
  request.counter = counter_++;
  return request;
}

CollectResult Stage::collect(CollectRequest request, std::size_t client) {
  request.deadline = history_.now() + command_time_;
  const auto ticket = model_.collect_sent(request);
  const CollectResult result = world_.run(proxy(client).collect(request));
  model_.collect_done(ticket, request, result);
  return result;
}

void Stage::crash(DiskSet members, CrashPolicy policy) {
  for (std::uint32_t order = 0; order < cluster_.geometry().disks(); ++order) {
    const std::size_t host = cluster_.host_of(order);
    if (contains(members, order) && cluster_.alive(host)) cluster_.crash(host, policy);
  }
}

void Stage::start(DiskSet members) {
  for (std::uint32_t order = 0; order < cluster_.geometry().disks(); ++order) {
    if (contains(members, order)) cluster_.start(cluster_.host_of(order));
  }
}

void Stage::replace(DiskSet members) {
  crash(members);
  for (std::uint32_t order = 0; order < cluster_.geometry().disks(); ++order) {
    if (contains(members, order)) cluster_.replace_disk(cluster_.host_of(order));
  }
  start(members);
}

void Stage::cut(DiskSet members, const std::vector<std::size_t>& hosts) {
  for (std::uint32_t order = 0; order < cluster_.geometry().disks(); ++order) {
    if (!contains(members, order)) continue;
    const NodeId self = cluster_.node_id(cluster_.host_of(order));
    for (const std::size_t host : hosts) {
      if (cluster_.node_id(host) != self) {
        world_.network().partition({self}, {cluster_.node_id(host)});
      }
    }
  }
}

std::vector<std::size_t> Stage::member_hosts() {
  std::vector<std::size_t> hosts;
  for (std::uint32_t order = 0; order < cluster_.geometry().disks(); ++order) {
    hosts.push_back(cluster_.host_of(order));
  }
  return hosts;
}

std::vector<std::size_t> Stage::client_hosts() {
  std::vector<std::size_t> hosts;
  for (std::size_t client = 0; client < cluster_.clients(); ++client) {
    hosts.push_back(cluster_.client_host(client));
  }
  return hosts;
}

void Stage::settle(Duration bound) {
  if (!cluster_.settle(bound)) history_.fail("did not settle: " + cluster_.unsettled());
}

}  // namespace moraine::sim
