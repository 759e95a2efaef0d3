#include "sim/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cluster.h"

namespace moraine::sim {

using namespace moraine::blob;

namespace {

bool listed(const std::vector<BlobId>& ids, const BlobId& id) {
  return std::ranges::find(ids, id) != ids.end();
}

std::string describe(GenStep at) {
  return fmt::format("{}:{}", at.generation, at.step);
}

}  // namespace

BlobRecord* Model::find(const BlobId& id) {
  const auto tablet = tablets_.find(id.tablet());
  if (tablet == tablets_.end()) return nullptr;
  const auto found = tablet->second.blobs.find(id);
  return found == tablet->second.blobs.end() ? nullptr : &found->second;
}

bool Model::doomed(const BlobId& id, const BlobRecord& record) const {
  const auto tablet = tablets_.find(id.tablet());
  const auto barrier = tablet->second.barriers.find(id.channel());
  if (barrier == tablet->second.barriers.end()) return false;
  if (id.gen_step() <= barrier->second.hard_agreed) return true;
  return id.gen_step() <= barrier->second.soft_agreed &&
         (!record.keep_sent || record.do_not_keep_agreed);
}

void Model::lost(const BlobId& id, const char* where) {
  history_.fail(fmt::format("{} got NODATA for {}, which was confirmed and not collected", where,
                            id.to_string()));
}

void Model::seen(const BlobId& id, bool restoring, const char* where) {
  BlobRecord* record = find(id);
  if (!record) {
    history_.fail(fmt::format("{} found {}, which was never written", where, id.to_string()));
    return;
  }
  if (restoring) record->confirmed = true;
}

void Model::check_data(const BlobId& id, std::uint32_t shift, std::size_t size, const Slice& data) {
  ++history_.tally.blobs_checked;
  if (data.size() != size) {
    history_.fail(fmt::format("read {} bytes of {} from {}, expected {}", data.size(),
                              id.to_string(), shift, size));
  } else if (!right_bytes(id, shift, data)) {
    history_.fail(
        fmt::format("read different bytes than were written: {} from {}", id.to_string(), shift));
  }
}

void Model::check_blocked(TabletId id, Generation least, Generation reported) {
  if (reported < least) {
    history_.fail(
        fmt::format("tablet {} is reported blocked up to {}, after a block of {} was "
                    "acknowledged",
                    id.value, reported, least));
  }
  if (reported > tablet(id).blocked_sent) {
    history_.fail(
        fmt::format("tablet {} is reported blocked up to {}; nothing was requested above "
                    "{}",
                    id.value, reported, tablet(id).blocked_sent));
  }
}

Model::Ticket Model::put_sent(const BlobId& id) {
  TabletRecord& owner = tablet(id.tablet());
  const auto [at, fresh] = owner.blobs.try_emplace(id);
  const BarrierRecord& barrier = owner.barriers[id.channel()];
  if (fresh && id.gen_step() <= std::max(barrier.soft_sent, barrier.hard_sent)) {
    at->second.exposed = true;
  }
  return {owner.blocked_agreed, {}, {}};
}

void Model::put_done(const Ticket& ticket, const BlobId& id, const PutResult& result) {
  TabletRecord& owner = tablet(id.tablet());
  if (result.status == Status::kOk) {
    if (id.generation() <= ticket.blocked) {
      history_.fail(fmt::format("put of {} got OK; it was sent after generation {} was blocked",
                                id.to_string(), ticket.blocked));
    }
    BlobRecord& record = owner.blobs[id];
    if (result.beyond_barrier && !record.exposed) {
      history_.fail(
          fmt::format("put of {} was reported as garbage; no barrier covers it", id.to_string()));
    }
    record.confirmed = true;
  } else if (result.status == Status::kBlocked && id.generation() > owner.blocked_sent) {
    history_.fail(fmt::format("put of {} got BLOCKED; nothing was blocked above {}", id.to_string(),
                              owner.blocked_sent));
  }
}

Model::Ticket Model::get_sent(const GetRequest& request) {
  Ticket ticket;
  for (const GetQuery& query : request.queries) {
    const BlobRecord* record = find(query.id);
    if (record && record->must_exist()) ticket.must_exist.insert(query.id);
  }
  return ticket;
}

void Model::get_done(const Ticket& ticket, const GetRequest& request, const GetResult& result) {
  if (result.items.size() != request.queries.size()) {
    return history_.fail(
        fmt::format("{} answers to {} queries", result.items.size(), request.queries.size()));
  }
  for (std::size_t i = 0; i < result.items.size(); ++i) {
    const GetItem& item = result.items[i];
    const GetQuery& query = request.queries[i];
    if (item.status == Status::kOk) {
      seen(query.id, request.must_restore, "get");
      const std::uint32_t rest = query.id.size() - query.shift;
      const std::uint32_t size = query.size == 0 ? rest : std::min(rest, query.size);
      if (!request.index_only) check_data(query.id, query.shift, size, item.data);
    } else if (item.status == Status::kNoData && ticket.must_exist.contains(query.id) &&
               find(query.id)->must_exist()) {
      lost(query.id, request.must_restore ? "restoring get" : "get");
    }
  }
}

Model::Ticket Model::block_sent(const BlockRequest& request) {
  TabletRecord& owner = tablet(request.tablet);
  owner.blocked_sent = std::max(owner.blocked_sent, request.blocked());
  return {owner.blocked_agreed, {}, {}};
}

void Model::block_done(const Ticket& ticket, const BlockRequest& request,
                       const BlockResult& result) {
  if (result.status != Status::kOk) return;
  TabletRecord& owner = tablet(request.tablet);
  const auto [winner, first] = owner.block_winners.try_emplace(request.blocked(), request.issuer);
  if (request.blocked() < ticket.blocked) {
    history_.fail(fmt::format("block of tablet {} at {} got OK; {} was blocked before it was sent",
                              request.tablet.value, request.blocked(), ticket.blocked));
  } else if (!first && winner->second != request.issuer) {
    history_.fail(fmt::format("two issuers got OK for the block of tablet {} at {}",
                              request.tablet.value, request.blocked()));
  }
  owner.blocked_agreed = std::max(owner.blocked_agreed, request.blocked());
}

// Below a barrier only blobs are safe whose Keep was agreed before, or is sent with the barrier.
void Model::expose(TabletRecord& owner, const CollectRequest& request) {
  BarrierRecord& barrier = owner.barriers[request.channel];
  for (const BlobId& id : request.keep) owner.blobs[id].keep_sent = true;
  for (const BlobId& id : request.do_not_keep) {
    BlobRecord& record = owner.blobs[id];
    record.do_not_keep_sent = true;
    if (id.gen_step() <= barrier.soft_sent) record.exposed = true;
  }
  if (!request.barrier) return;
  GenStep& sent = request.hard ? barrier.hard_sent : barrier.soft_sent;
  sent = std::max(sent, *request.barrier);
  const BlobId last = BlobId::highest(request.tablet, request.channel, *request.barrier);
  for (auto at = owner.blobs.lower_bound(BlobId::lowest(request.tablet, request.channel));
       at != owner.blobs.end() && at->first <= last; ++at) {
    BlobRecord& record = at->second;
    const bool kept = !request.hard && !record.do_not_keep_sent &&
                      (record.keep_agreed || listed(request.keep, at->first));
    if (!kept) record.exposed = true;
  }
}

Model::Ticket Model::collect_sent(const CollectRequest& request) {
  TabletRecord& owner = tablet(request.tablet);
  const BarrierRecord& barrier = owner.barriers[request.channel];
  Ticket ticket;
  ticket.blocked = owner.blocked_agreed;
  ticket.agreed = request.hard ? barrier.hard_agreed : barrier.soft_agreed;
  expose(owner, request);
  return ticket;
}

void Model::collect_done(const Ticket& ticket, const CollectRequest& request,
                         const CollectResult& result) {
  if (result.status != Status::kOk) return;
  TabletRecord& owner = tablet(request.tablet);
  if (request.record_generation <= ticket.blocked) {
    history_.fail(
        fmt::format("collect of tablet {} by generation {} got OK; it was sent after "
                    "generation {} was blocked",
                    request.tablet.value, request.record_generation, ticket.blocked));
  }
  for (const BlobId& id : request.keep) owner.blobs[id].keep_agreed = true;
  for (const BlobId& id : request.do_not_keep) owner.blobs[id].do_not_keep_agreed = true;
  if (!request.barrier) return;
  BarrierRecord& barrier = owner.barriers[request.channel];
  GenStep& agreed = request.hard ? barrier.hard_agreed : barrier.soft_agreed;
  if (*request.barrier < ticket.agreed) {
    history_.fail(fmt::format("collect of tablet {} at {} got OK below {}", request.tablet.value,
                              describe(*request.barrier), describe(ticket.agreed)));
  }
  agreed = std::max(agreed, *request.barrier);
}

Model::Ticket Model::range_sent(const RangeRequest& request) {
  const TabletId id = request.from.tablet();
  TabletRecord& owner = tablet(id);
  if (request.force_block) {
    owner.blocked_sent = std::max(owner.blocked_sent, request.force_block->generation);
  }
  Ticket ticket{owner.blocked_agreed, {}, {}};
  const auto [low, high] = std::minmax(request.from, request.to);
  for (auto at = owner.blobs.lower_bound(low); at != owner.blobs.end() && at->first <= high; ++at) {
    if (at->second.must_exist()) ticket.must_exist.insert(at->first);
  }
  return ticket;
}

void Model::range_done(const Ticket& ticket, const RangeRequest& request,
                       const RangeResult& result) {
  if (result.status != Status::kOk) return;
  std::set<BlobId> found;
  for (const RangeFound& item : result.items) {
    if (!found.insert(item.id).second) {
      history_.fail(fmt::format("range returned {} twice", item.id.to_string()));
    }
    seen(item.id, request.must_restore, "range");
    if (!request.index_only) check_data(item.id, 0, item.id.size(), item.data);
  }
  const bool descending = request.to < request.from;
  for (const BlobId& id : ticket.must_exist) {
    if (found.contains(id) || !find(id)->must_exist()) continue;
    // Behind the last item of a range that was cut at its limit.
    const bool beyond = result.more && !result.items.empty() &&
                        (descending ? id < result.items.back().id : id > result.items.back().id);
    if (!beyond) lost(id, "range (by omitting it)");
  }
  if (request.force_block) {
    TabletRecord& owner = tablet(request.from.tablet());
    owner.blocked_agreed = std::max(owner.blocked_agreed, request.force_block->generation);
  }
  check_blocked(request.from.tablet(), 0, result.blocked);
}

Model::Ticket Model::discover_sent(const DiscoverRequest& request) {
  TabletRecord& owner = tablet(request.tablet);
  owner.blocked_sent = std::max(owner.blocked_sent, request.force_blocked_generation);
  Ticket ticket{owner.blocked_agreed, {}, {}};
  const BlobId low = BlobId::lowest(request.tablet, 0, GenStep{request.min_generation, 0});
  const BlobId high = BlobId::highest(request.tablet, 0);
  for (auto at = owner.blobs.lower_bound(low); at != owner.blobs.end() && at->first <= high; ++at) {
    if (at->second.must_exist()) ticket.must_exist.insert(at->first);
  }
  return ticket;
}

void Model::discover_done(const Ticket& ticket, const DiscoverRequest& request,
                          const DiscoverResult& result) {
  if (result.status != Status::kOk && result.status != Status::kNoData) return;
  const bool found = result.status == Status::kOk;
  if (found) {
    seen(result.id, true, "discover");
    if (request.read_body) check_data(result.id, 0, result.id.size(), result.body);
  }
  for (auto at = ticket.must_exist.rbegin(); at != ticket.must_exist.rend(); ++at) {
    if (found && *at <= result.id) break;
    if (find(*at)->must_exist()) {
      lost(*at, found ? "discover (by returning an older blob)" : "discover");
      break;
    }
  }
  if (request.discover_blocked) check_blocked(request.tablet, ticket.blocked, result.blocked);
  TabletRecord& owner = tablet(request.tablet);
  owner.blocked_agreed = std::max(owner.blocked_agreed, request.force_blocked_generation);
}

Model::Ticket Model::blocked_sent(TabletId id) {
  return {tablet(id).blocked_agreed, {}, {}};
}

void Model::blocked_done(const Ticket& ticket, TabletId id, const GetBlockResult& result) {
  if (result.status == Status::kOk) check_blocked(id, ticket.blocked, result.blocked);
}

}  // namespace moraine::sim
