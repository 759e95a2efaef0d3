#include "sim/final_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace moraine::sim {

using namespace moraine::blob;

namespace {

constexpr Duration kSettleBound = 180s;
constexpr Duration kCollectBound = 60s;
constexpr Duration kCommandTime = 15s;
constexpr std::size_t kReadsAtOnce = 64;
constexpr std::size_t kLossesTried = 3;
// What checkpoints may hold besides the parts of blobs.
constexpr std::uint64_t kCheckpointBytesMax = 512u << 10;

}  // namespace

void FinalChecks::check() {
  settle();
  if (!history_.failed()) promised_exist("once healed");
  if (!history_.failed()) commands_succeed();
  if (!history_.failed()) collect_everything();
  if (!history_.failed()) doomed_are_removed();
  if (!history_.failed()) promised_exist("after the collection");
  if (!history_.failed()) space_adds_up();
  if (!history_.failed() && cluster_.geometry().disks() > 1) losses_are_survived();
}

void FinalChecks::settle() {
  if (!cluster_.settle(kSettleBound)) history_.fail("did not settle: " + cluster_.unsettled());
}

void FinalChecks::expect_ok(Status status, const std::string& reason, const std::string& what) {
  if (status == Status::kOk) return;
  history_.fail(fmt::format("{} got {} ({}) after all faults had ended", what,
                            blob::to_string(status), reason));
}

void FinalChecks::commands_succeed() {
  for (const auto& [tablet, record] : model_.tablets()) {
    generation_ = std::max(generation_, record.blocked_sent + 2);
    if (!record.blobs.empty()) {
      generation_ = std::max(generation_, record.blobs.rbegin()->first.generation() + 1);
    }
  }
  ++generation_;
  for (const auto& [tablet, record] : model_.tablets()) {
    block_and_put(tablet);
    if (history_.failed()) return;
  }
  const StatusResult status = world_.run(cluster_.proxy(0).status({}));
  expect_ok(status.status, status.reason, "status");
}

void FinalChecks::block_and_put(TabletId tablet) {
  BlockRequest block;
  block.tablet = tablet;
  block.generation = generation_;
  block.issuer = 0x5eed;
  block.deadline = history_.now() + kCommandTime;
  const auto block_ticket = model_.block_sent(block);
  const BlockResult blocked = world_.run(cluster_.proxy(0).block(block));
  model_.block_done(block_ticket, block, blocked);
  expect_ok(blocked.status, blocked.reason, fmt::format("block of tablet {}", tablet.value));

  const BlobId id(tablet, generation_, 1, 0, 1'234, 1);
  PutRequest put;
  put.id = id;
  put.data = blob_bytes(id);
  put.deadline = history_.now() + kCommandTime;
  const auto put_ticket = model_.put_sent(id);
  const PutResult written = world_.run(cluster_.proxy(0).put(put));
  model_.put_done(put_ticket, id, written);
  expect_ok(written.status, written.reason, "put of " + id.to_string());

  DiscoverRequest discover;
  discover.tablet = tablet;
  discover.read_body = true;
  discover.discover_blocked = true;
  discover.deadline = history_.now() + kCommandTime;
  const auto ticket = model_.discover_sent(discover);
  const std::size_t client = cluster_.clients() - 1;
  const DiscoverResult found = world_.run(cluster_.proxy(client).discover(discover));
  model_.discover_done(ticket, discover, found);
  expect_ok(found.status, found.reason, fmt::format("discover of tablet {}", tablet.value));
}

// A last barrier for each channel: what is kept now stays, the rest is removed.
void FinalChecks::collect_everything() {
  std::vector<CollectRequest> requests;
  for (const auto& [tablet, record] : model_.tablets()) {
    for (const Channel channel : {Channel{0}, Channel{1}}) {
      CollectRequest request;
      request.tablet = tablet;
      request.channel = channel;
      request.record_generation = generation_;
      request.counter = counter_++;
      request.barrier = GenStep{generation_ - 1, kStepMax};
      bool keep = false;
      for (const auto& [id, blob] : record.blobs) {
        if (id.channel() != channel || id.gen_step() > *request.barrier) continue;
        if (!blob.must_exist() || blob.keep_agreed) continue;
        keep = !keep;
        if (keep) request.keep.push_back(id);
      }
      requests.push_back(std::move(request));
    }
  }
  for (CollectRequest& request : requests) {
    request.deadline = history_.now() + kCommandTime;
    const auto ticket = model_.collect_sent(request);
    const CollectResult result = world_.run(cluster_.proxy(0).collect(request));
    model_.collect_done(ticket, request, result);
    expect_ok(result.status, result.reason,
              fmt::format("collect of tablet {}", request.tablet.value));
    if (history_.failed()) return;
  }
}

GetResult FinalChecks::read(std::vector<BlobId> ids, bool must_restore) {
  GetRequest request;
  for (const BlobId& id : ids) request.queries.push_back({id, 0, 0});
  request.must_restore = must_restore;
  request.deadline = history_.now() + kCommandTime;
  const auto ticket = model_.get_sent(request);
  const std::size_t client = must_restore ? 0 : cluster_.clients() - 1;
  GetResult result = world_.run(cluster_.proxy(client).get(request));
  model_.get_done(ticket, request, result);
  return result;
}

void FinalChecks::promised_exist(const char* when) {
  std::vector<BlobId> ids;
  for (const auto& [tablet, record] : model_.tablets()) {
    for (const auto& [id, blob] : record.blobs) {
      if (blob.must_exist()) ids.push_back(id);
    }
  }
  for (std::size_t at = 0; at < ids.size() && !history_.failed(); at += kReadsAtOnce) {
    const std::size_t end = std::min(ids.size(), at + kReadsAtOnce);
    const GetResult result = read({ids.begin() + static_cast<std::ptrdiff_t>(at),
                                   ids.begin() + static_cast<std::ptrdiff_t>(end)},
                                  false);
    for (const GetItem& item : result.items) {
      if (item.status == Status::kOk) continue;
      history_.fail(fmt::format("get of {}, which was confirmed, got {} ({}) {}",
                                item.id.to_string(), blob::to_string(item.status), result.reason,
                                when));
    }
  }
}

bool FinalChecks::doomed_on_disks(std::string& where) {
  for (std::uint32_t order = 0; order < cluster_.geometry().disks(); ++order) {
    const auto disk = cluster_.vdisk(order);
    if (!disk) continue;
    for (const auto& [id, entry] : disk->state().index().entries()) {
      const BlobRecord* blob = model_.find(id);
      if (!blob || !model_.doomed(id, *blob)) continue;
      const bool data = disk->state().index().local_parts(id) != 0;
      where = fmt::format("disk {} still has {} of {}", order, data ? "data" : "a mark",
                          id.to_string());
      return true;
    }
  }
  return false;
}

void FinalChecks::doomed_are_removed() {
  std::string where;
  const Instant end = history_.now() + kCollectBound;
  while (doomed_on_disks(where) && history_.now() < end) world_.run_for(500ms);
  if (doomed_on_disks(where)) {
    return history_.fail("an agreed collect did not remove what it covers: " + where);
  }
  std::vector<BlobId> gone;
  for (const auto& [tablet, record] : model_.tablets()) {
    for (const auto& [id, blob] : record.blobs) {
      if (model_.doomed(id, blob) && gone.size() < kReadsAtOnce) gone.push_back(id);
    }
  }
  for (const bool must_restore : {false, true}) {
    if (gone.empty()) continue;
    const GetResult result = read(gone, must_restore);
    for (const GetItem& item : result.items) {
      if (item.status == Status::kNoData) continue;
      history_.fail(fmt::format("get of {}, which was collected, got {} ({})", item.id.to_string(),
                                blob::to_string(item.status), result.reason));
    }
  }
}

// Bytes that the device counts as live must belong to parts in the index, or to a checkpoint.
void FinalChecks::space_adds_up() {
  for (std::uint32_t order = 0; order < cluster_.geometry().disks(); ++order) {
    const auto disk = cluster_.vdisk(order);
    if (!disk) continue;
    std::uint64_t indexed = 0;
    for (const auto& [id, entry] : disk->state().index().entries()) {
      const auto parts = static_cast<unsigned>(disk->state().index().local_parts(id));
      indexed += std::uint64_t{stored_part_size(cluster_.geometry().species(), id.size())} *
                 static_cast<unsigned>(std::popcount(parts));
    }
    const std::uint64_t live = cluster_.device(order)->segments().live_bytes();
    if (live >= indexed && live <= indexed + kCheckpointBytesMax) continue;
    history_.fail(
        fmt::format("disk {} counts {} live bytes; its index refers to {}", order, live, indexed));
  }
}

std::vector<DiskSet> FinalChecks::some_losses() {
  SeededRandom random = world_.stream("losses");
  std::vector<DiskSet> losses;
  while (losses.size() < kLossesTried) {
    // Adds members while the set stays tolerated: a maximal set.
    DiskSet lost = 0;
    for (std::uint32_t tries = 0; tries < 4 * cluster_.geometry().disks(); ++tries) {
      const DiskSet more =
          lost | disk_bit(static_cast<std::uint32_t>(random.below(cluster_.geometry().disks())));
      if (tolerated(cluster_.geometry(), more)) lost = more;
    }
    losses.push_back(lost);
  }
  return losses;
}

void FinalChecks::losses_are_survived() {
  std::uint32_t round = 0;
  for (const DiskSet lost : some_losses()) {
    survive(lost, round++);
    if (history_.failed()) return;
  }
}

void FinalChecks::survive(DiskSet lost, std::uint32_t round) {
  for (std::uint32_t order = 0; order < cluster_.geometry().disks(); ++order) {
    if (contains(lost, order)) cluster_.crash(cluster_.host_of(order), CrashPolicy::kRandom);
  }
  promised_exist(fmt::format("with disks {:b} lost", lost).c_str());
  if (!history_.failed()) {
    generation_ += 2;
    block_and_put(model_.tablets().begin()->first);
  }
  for (std::uint32_t order = 0; order < cluster_.geometry().disks(); ++order) {
    if (contains(lost, order)) cluster_.start(cluster_.host_of(order));
  }
  if (history_.failed()) return;
  if (!cluster_.settle(kSettleBound)) {
    history_.fail(fmt::format("did not settle after loss {}: {}", round, cluster_.unsettled()));
  }
}

}  // namespace moraine::sim
