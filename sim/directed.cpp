#include "sim/directed.h"

#include <fmt/format.h>

#include "base/log.h"
#include "sim/stage.h"

namespace moraine::sim {

using namespace moraine::blob;

namespace {

using Failure = std::optional<std::string>;

ClusterOptions block42() {
  ClusterOptions options;
  options.erasure = Erasure::kBlock42;
  options.node = quick_node_options();
  return options;
}

// Puts blobs until each slot rotation has some.
std::vector<BlobId> put_some(Stage& stage, Generation generation, Step count) {
  std::vector<BlobId> ids;
  for (Step step = 1; step <= count; ++step) {
    const BlobId id = stage.id(generation, step, 100 * step);
    if (stage.put(id).status != Status::kOk) stage.history().fail("put of " + id.to_string());
    ids.push_back(id);
  }
  return ids;
}

void read_all(Stage& stage, const std::vector<BlobId>& ids, const char* when) {
  const GetResult result = stage.get(ids);
  for (const GetItem& item : result.items) {
    if (item.status == Status::kOk) continue;
    stage.history().fail(fmt::format("get of {}, which was confirmed, got {} ({}) {}",
                                     item.id.to_string(), to_string(item.status), result.reason,
                                     when));
  }
}

// Two members are down while Keep is agreed, and learn of the barrier first. If they apply it alone
// they drop what is kept; then two more are lost.
Failure barrier_before_keep() {
  const ScopedLogCapture silence(0);
  Stage stage(block42());
  stage.open();
  const std::vector<BlobId> ids = put_some(stage, 1, 24);
  const DiskSet sleepers = disk_bit(0) | disk_bit(1);
  stage.crash(sleepers);
  CollectRequest keep = stage.collect_request(1);
  keep.keep = ids;
  if (stage.collect(keep).status != Status::kOk) stage.history().fail("keep was not agreed");
  // They restart, and from then on only the client can reach them.
  stage.cut(sleepers, stage.member_hosts());
  stage.start(sleepers);
  stage.world().run_for(500ms);
  stage.world().network().heal();
  const Instant end = stage.history().now() + 30s;
  while (!stage.cluster().all_ready() && stage.history().now() < end) stage.world().run_for(1ms);
  stage.cut(sleepers, stage.member_hosts());
  CollectRequest barrier = stage.collect_request(1);
  barrier.barrier = GenStep{1, 24};
  if (stage.collect(barrier).status != Status::kOk) stage.history().fail("barrier not agreed");
  stage.world().run_for(300ms);
  stage.crash(disk_bit(4) | disk_bit(5));
  stage.world().network().heal();
  if (!stage.failed()) read_all(stage, ids, "with two members lost");
  return stage.failure();
}

// A replaced member that cannot reach its neighbours must not report itself complete: its operator
// would replace the next ones.
Failure replaced_while_isolated() {
  const ScopedLogCapture silence(0);
  Stage stage(block42());
  stage.open();
  const std::vector<BlobId> ids = put_some(stage, 1, 24);
  stage.settle();
  stage.cut(disk_bit(2), stage.member_hosts());
  stage.replace(disk_bit(2));
  const Instant dark = stage.history().now() + 4s;
  while (!stage.cluster().replicated(2) && stage.history().now() < dark) {
    stage.world().run_for(100ms);
  }
  stage.world().network().heal();
  const Instant end = stage.history().now() + 60s;
  while (!stage.cluster().replicated(2) && stage.history().now() < end) {
    stage.world().run_for(1ms);
  }
  if (!stage.cluster().replicated(2)) stage.history().fail("a replaced disk is still incomplete");
  stage.replace(disk_bit(5) | disk_bit(6));
  stage.world().run_for(30s);
  if (!stage.failed()) read_all(stage, ids, "after one replacement and then two");
  return stage.failure();
}

Task<void> put_into(Proxy& proxy, PutRequest request, std::optional<PutResult>& result) {
  result = co_await proxy.put(std::move(request));
}

// A member acknowledges a part and loses its disk, while the other parts are delayed. Once it is
// back the old acknowledgement must not count.
Failure stale_acknowledgement() {
  const ScopedLogCapture silence(0);
  ClusterOptions options = block42();
  options.node.proxy.hedge_min = 60s;  // Disables hedged requests.
  options.node.proxy.hedge_max = 60s;
  options.node.proxy.hedge_initial = 60s;
  Stage stage(options);
  stage.open();
  const BlobId id = stage.id(1, 1, 4'000);
  const auto subgroup = stage.cluster().geometry().subgroup(id);
  const NodeId client = stage.cluster().node_id(stage.cluster().client_host(0));
  const std::uint32_t loser = subgroup.order[0];
  for (const std::size_t host : stage.member_hosts()) {
    const bool held = host != stage.cluster().host_of(loser);
    if (held) stage.world().network().clog(client, stage.cluster().node_id(host));
  }
  PutRequest request;
  request.id = id;
  request.data = blob_bytes(id);
  request.deadline = stage.history().now() + 50s;
  const auto ticket = stage.model().put_sent(id);
  std::optional<PutResult> result;
  stage.world().executor().post(
      [&stage, &request, &result] { spawn(put_into(stage.proxy(), std::move(request), result)); });
  stage.world().run_for(500ms);
  stage.replace(disk_bit(loser));
  const Instant end = stage.history().now() + 30s;
  while (!stage.cluster().replicated(loser) && stage.history().now() < end) {
    stage.world().run_for(100ms);
  }
  stage.world().network().heal();
  while (!result && stage.history().now() < end + 30s) stage.world().run_for(1ms);
  if (!result) return "the put was not answered";
  stage.model().put_done(ticket, id, *result);
  if (result->status == Status::kOk) {
    stage.crash(disk_bit(subgroup.order[1]) | disk_bit(subgroup.order[2]));
    read_all(stage, {id}, "with two members lost right after its put");
  }
  return stage.failure();
}

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = {
      {SeededBug::kLonelyBarrier, "a barrier that comes before the flags", barrier_before_keep},
      {SeededBug::kServeBeforeRecovery, "replaced while isolated", replaced_while_isolated},
      {SeededBug::kCountStaleAck, "the acknowledgement of a lost disk", stale_acknowledgement},
  };
  return all;
}

}  // namespace moraine::sim
