// ScriptedDisk: a VDisk in memory for tests of the proxy, with behaviour that the test controls.
//
// Keeps parts, blocks and flags by the simplest rules that a proxy relies on; no sync or barriers.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "blob/ingress.h"
#include "blob/protocol.h"
#include "io/sync.h"

namespace moraine::blob {

class ScriptedDisk final : public DiskEndpoint {
 public:
  enum class Behaviour : std::uint8_t { kHealthy, kError, kSilent, kNotReady, kOutOfSpace };

  ScriptedDisk(Executor& executor, GroupConfig group, std::uint32_t order)
      : config(std::move(group)), executor_(executor), order_(order) {}

  Task<DiskReply> call(DiskRequest request, Instant deadline) override {
    ++calls;
    if (std::holds_alternative<PutPart>(request.body)) ++puts;
    if (std::holds_alternative<GetParts>(request.body)) ++gets;
    if (behaviour == Behaviour::kSilent) {
      co_await sleep_for(executor_, deadline - executor_.now());
      co_return refusal(Status::kDeadline);
    }
    if (delay > Duration{0}) co_await sleep_for(executor_, delay);
    if (script) {
      if (std::optional<DiskReply> reply = script(request)) co_return std::move(*reply);
    }
    co_return handle(request);
  }

  static DiskReply refusal(Status status) {
    DiskReply reply;
    reply.status = status;
    return reply;
  }
  void wipe() {
    parts.clear();
    ingress.clear();
    ++incarnation;
  }
  bool has(const BlobId& id, std::uint32_t part) const {
    return parts.contains(id.with_part(part));
  }

  // What the test may change or inspect.
  Behaviour behaviour = Behaviour::kHealthy;
  Duration delay = 1ms;
  std::function<std::optional<DiskReply>(const DiskRequest&)> script;  // nullopt: as usual.
  std::map<BlobId, Slice> parts;                                       // By id with part.
  std::set<BlobId> corrupted;                                          // With part.
  std::set<BlobId> not_yet;                                            // Whole ids.
  std::map<BlobId, Ingress> ingress;                                   // Whole ids.
  std::map<TabletId, std::pair<Generation, std::uint64_t>> blocks;
  std::vector<Collect> collects;
  std::uint64_t incarnation = 1;
  Colour colour = Colour::kGreen;
  std::uint64_t live_bytes = 0;
  std::uint32_t calls = 0;
  std::uint32_t puts = 0;
  std::uint32_t gets = 0;
  std::size_t get_reply_bytes_max = kGetReplyBytesMax;
  GroupConfig config;

 private:
  Generation blocked(TabletId tablet) const {
    const auto found = blocks.find(tablet);
    return found == blocks.end() ? 0 : found->second.first;
  }
  bool is_blocked(const TabletGeneration& who) const {
    return blocks.contains(who.tablet) && who.generation <= blocked(who.tablet);
  }
  void force(const std::optional<TabletGeneration>& who) {
    if (who && blocked(who->tablet) < who->generation) blocks[who->tablet] = {who->generation, 0};
  }

  DiskReply handle(DiskRequest& request) {
    DiskReply reply;
    reply.incarnation = incarnation;
    reply.colour = colour;
    reply.status = Status::kOk;
    if (auto* body = std::get_if<Configure>(&request.body)) {
      if (body->config.generation > config.generation) config = body->config;
      reply.body = ConfigureReply{};
      return reply;
    }
    if (request.target.generation != config.generation) {
      reply.status = Status::kRace;
      reply.config = config;
      return reply;
    }
    switch (behaviour) {
      case Behaviour::kError: return refusal(Status::kError);
      case Behaviour::kNotReady: return refusal(Status::kNotReady);
      default: break;
    }
    std::visit([&](auto& body) { serve(body, reply); }, request.body);
    return reply;
  }

  void serve(PutPart& put, DiskReply& reply) {
    if (behaviour == Behaviour::kOutOfSpace) return void(reply.status = Status::kOutOfSpace);
    bool fenced = !put.ignore_block && is_blocked({put.id.tablet(), put.id.generation()});
    for (const TabletGeneration& extra : put.extra_blocks) fenced = fenced || is_blocked(extra);
    if (fenced) return void(reply.status = Status::kBlocked);
    const int slot = config.geometry.subgroup(put.id).slot_of(order_);
    if (slot < 0 || !config.geometry.allowed(static_cast<std::uint32_t>(slot), put.id.part())) {
      return void(reply.status = Status::kError);
    }
    parts[put.id] = put.data.joined();
    corrupted.erase(put.id);
    not_yet.erase(put.id.whole());
    ingress[put.id.whole()].bits |=
        present_bit(config.geometry, static_cast<std::uint32_t>(slot), put.id.part());
    reply.body = PutPartReply{};
  }

  PartAnswer answer_of(const GetParts& get, std::uint32_t query, std::uint32_t part) {
    const PartQuery& asked = get.queries[query];
    PartAnswer answer;
    answer.query = query;
    answer.part = part;
    answer.status = Status::kNoData;
    if (const auto known = ingress.find(asked.id.whole()); known != ingress.end()) {
      answer.ingress = known->second;
    }
    const auto found = parts.find(asked.id.with_part(part));
    if (found == parts.end()) {
      if (not_yet.contains(asked.id.whole())) answer.status = Status::kNotYet;
      return answer;
    }
    answer.status = Status::kOk;
    if (get.index_only) return answer;
    if (corrupted.contains(found->first)) {
      answer.status = Status::kCorrupted;
      return answer;
    }
    const auto size = static_cast<std::uint32_t>(found->second.size());
    const std::uint32_t from = std::min(asked.shift, size);
    answer.data =
        found->second.sub(from, asked.size == 0 ? size - from : std::min(asked.size, size - from));
    return answer;
  }

  void serve(GetParts& get, DiskReply& reply) {
    if (get.reader && is_blocked(*get.reader)) return void(reply.status = Status::kBlocked);
    force(get.force_block);
    GetPartsReply result;
    std::size_t bytes = 0;
    for (std::uint32_t query = 0; query < get.queries.size(); ++query) {
      const BlobId id = get.queries[query].id;
      std::vector<PartAnswer> answers;
      if (id.part() != 0) {
        answers.push_back(answer_of(get, query, id.part()));
      } else {
        for (std::uint32_t part = 1; part <= config.geometry.parts(); ++part) {
          if (has(id, part)) answers.push_back(answer_of(get, query, part));
        }
        if (answers.empty()) answers.push_back(answer_of(get, query, 0));
      }
      for (PartAnswer& answer : answers) {
        bytes += answer.data.size();
        if (bytes > get_reply_bytes_max && !result.answers.empty()) {
          result.truncated = true;
          reply.body = std::move(result);
          return;
        }
        result.answers.push_back(std::move(answer));
      }
    }
    reply.body = std::move(result);
  }

  void serve(BlockTablet& block, DiskReply& reply) {
    const auto found = blocks.find(block.tablet);
    const bool same = found != blocks.end() && found->second.first == block.generation &&
                      found->second.second == block.issuer && block.issuer != 0;
    if (found != blocks.end() && !same && block.generation <= found->second.first) {
      reply.status = Status::kAlready;
    } else {
      blocks[block.tablet] = {block.generation, block.issuer};
    }
    reply.body = BlockTabletReply{blocked(block.tablet)};
  }
  void serve(GetBlock& get, DiskReply& reply) { reply.body = GetBlockReply{blocked(get.tablet)}; }

  void serve(Collect& collect, DiskReply& reply) {
    if (is_blocked({collect.tablet, collect.record_generation})) {
      return void(reply.status = Status::kBlocked);
    }
    for (const BlobId& id : collect.keep) ingress[id].bits |= kKeepBit;
    for (const BlobId& id : collect.do_not_keep) ingress[id].bits |= kDoNotKeepBit;
    collects.push_back(collect);
    reply.body = CollectReply{};
  }

  void serve(RangeIndex& range, DiskReply& reply) {
    force(range.force_block);
    const bool descending = range.to < range.from;
    const BlobId low = std::min(range.from, range.to);
    const BlobId high = std::max(range.from, range.to);
    std::map<BlobId, RangeItem> found;
    const auto item_of = [&](const BlobId& id) -> RangeItem* {
      if (id < low || high < id) return nullptr;
      found[id].id = id;
      return &found[id];
    };
    for (const auto& [id, bits] : ingress) {
      if (RangeItem* item = item_of(id)) item->ingress = bits;
    }
    for (const auto& [id, data] : parts) {
      if (RangeItem* item = item_of(id.whole())) {
        item->local_parts = static_cast<std::uint8_t>(item->local_parts | 1u << (id.part() - 1));
      }
    }
    for (const BlobId& id : not_yet) {
      if (RangeItem* item = item_of(id)) item->not_yet = true;
    }
    RangeIndexReply result;
    for (const auto& [id, item] : found) result.items.push_back(item);
    if (descending) std::ranges::reverse(result.items);
    result.more = result.items.size() > range.limit;
    if (result.more) result.items.resize(range.limit);
    result.blocked = blocked(low.tablet());
    reply.body = std::move(result);
  }

  void serve(GetStatus&, DiskReply& reply) {
    GetStatusReply state;
    state.ready = true;
    state.live_bytes = live_bytes;
    state.capacity_bytes = 100;
    reply.body = state;
  }
  template <class Body>
  void serve(Body&, DiskReply& reply) {
    reply.status = Status::kError;
  }

  Executor& executor_;
  std::uint32_t order_;
};

}  // namespace moraine::blob
