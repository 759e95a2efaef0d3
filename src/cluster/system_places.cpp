#include "cluster/system_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/invariant.h"
#include "base/log.h"
#include "base/sealed.h"
#include "cluster/tablet_ids.h"
#include "io/sync.h"

namespace moraine {
namespace {

constexpr std::uint8_t kRecordVersion = 1;
constexpr std::array kSystemTablets{kSchemeTabletId, kGatewayTabletId, kTimestampTabletId,
                                    kCoordinatorTabletId};
constexpr std::size_t kRecordBytes = 2 + kSystemTablets.size() * 12 + 4;
constexpr Duration kAnswerWithin = 2s;
constexpr Duration kAskAgain = 100ms;

BlobId record_id() {
  return BlobId(kPlacesTabletId, 1, 1, 0, static_cast<std::uint32_t>(kRecordBytes), 0);
}

std::string name_of(GroupId group) {
  return fmt::format("0x{:x}", group.value);
}

// The reply of one group.
struct GroupReply {
  GroupId group;
  bool answered = false;
  std::string reason;
  std::optional<SystemPlaces> record;
  std::set<TabletId> tablets;  // System tablets that were started in this group.
};

Task<Result<void>> ask(World world, BlobGroups& groups, GroupReply& reply) {
  blob::Proxy* proxy = groups.group(reply.group);
  if (!proxy) co_return fail(Errc::kNotFound, "no group " + name_of(reply.group));
  const Instant deadline = world.executor.now() + kAnswerWithin;
  blob::GetRequest request;
  request.queries.push_back({record_id()});
  request.must_restore = true;
  request.deadline = deadline;
  const blob::GetResult got = co_await proxy->get(std::move(request));
  const blob::Status status = got.items.size() == 1 ? got.items[0].status : got.status;
  if (status == blob::Status::kOk) {
    CO_TRY(reply.record, decode_places(got.items[0].data));
    reply.answered = true;
    co_return Result<void>();
  }
  reply.reason =
      fmt::format("group {}: {} {}", name_of(reply.group), to_string(status), got.reason);
  if (status != blob::Status::kNoData) co_return Result<void>();
  for (const TabletId tablet : kSystemTablets) {
    blob::GetBlockRequest block;
    block.tablet = tablet;
    block.deadline = deadline;
    const blob::GetBlockResult blocked = co_await proxy->blocked_generation(block);
    if (blocked.status != blob::Status::kOk) {
      reply.reason = fmt::format("group {}: {} {}", name_of(reply.group), to_string(blocked.status),
                                 blocked.reason);
      co_return Result<void>();
    }
    if (blocked.blocked > 0) reply.tablets.insert(tablet);
  }
  reply.answered = true;
  co_return Result<void>();
}

Task<void> ask_one(World world, BlobGroups& groups, GroupReply& reply, Result<void>& outcome) {
  outcome = co_await ask(world, groups, reply);
}

Task<Result<std::vector<GroupReply>>> ask_all(World world, BlobGroups& groups,
                                              std::vector<GroupId> configured) {
  std::vector<GroupReply> all(configured.size());
  std::vector<Result<void>> outcomes(configured.size());
  TaskScope asks;
  for (std::size_t i = 0; i < configured.size(); ++i) {
    all[i].group = configured[i];
    asks.spawn(ask_one(world, groups, all[i], outcomes[i]));
  }
  co_await asks.join();
  for (const Result<void>& outcome : outcomes) {
    if (!outcome) co_return std::unexpected(outcome.error());
  }
  co_return all;
}

// The record that the groups have. nullopt: none of them.
Result<std::optional<SystemPlaces>> recorded(const std::vector<GroupReply>& all) {
  const GroupReply* first = nullptr;
  for (const GroupReply& reply : all) {
    if (!reply.record) continue;
    if (!first) first = &reply;
    if (*reply.record != *first->record) {
      return fail(Errc::kConflict,
                  fmt::format("groups {} and {} are of two clusters: their records of the system "
                              "tablets differ; remove one of them from the config",
                              name_of(first->group), name_of(reply.group)));
    }
  }
  if (!first) return std::nullopt;
  for (const auto& [tablet, group] : *first->record) {
    if (std::ranges::find(all, group, &GroupReply::group) != all.end()) continue;
    return fail(
        Errc::kConflict,
        fmt::format("the config has no group {}, which stores system tablet {} (the tree of "
                    "topics and tables, or another one); put the group back",
                    name_of(group), tablet.value));
  }
  return first->record;
}

// The groups of tablets that were started without a record; the first group for the others.
Result<SystemPlaces> chosen(const std::vector<GroupReply>& all) {
  auto home = std::ranges::find_if(
      all, [](const GroupReply& reply) { return reply.tablets.contains(kSchemeTabletId); });
  if (home == all.end()) {
    home =
        std::ranges::find_if(all, [](const GroupReply& reply) { return !reply.tablets.empty(); });
  }
  SystemPlaces places;
  for (const TabletId tablet : kSystemTablets) {
    places[tablet] = home == all.end() ? all.front().group : home->group;
    std::string found;
    for (const GroupReply& reply : all) {
      if (!reply.tablets.contains(tablet)) continue;
      if (!found.empty()) {
        return fail(Errc::kConflict,
                    fmt::format("system tablet {} was started in group {} and in group {}, and no "
                                "record says which one counts: the config's first group was "
                                "changed. Use a config with only the group that has your data",
                                tablet.value, found, name_of(reply.group)));
      }
      found = name_of(reply.group);
      places[tablet] = reply.group;
    }
  }
  return places;
}

// A group without the record gets it; one that does not answer gets it at a later start.
Task<Result<void>> record(World world, BlobGroups& groups, GroupId group, SystemPlaces places) {
  blob::PutRequest request;
  request.id = record_id();
  request.data = encode_places(places);
  request.deadline = world.executor.now() + kAnswerWithin;
  const blob::PutResult put = co_await groups.group(group)->put(std::move(request));
  if (put.status == blob::Status::kOk) co_return Result<void>();
  co_return fail(Errc::kUnavailable,
                 fmt::format("the groups of the system tablets cannot be "
                             "recorded in group {}: {} {}",
                             name_of(group), to_string(put.status), put.reason));
}

// kTimeout: the caller retries.
Task<Result<SystemPlaces>> find_once(World world, BlobGroups& groups,
                                     std::vector<GroupId> configured) {
  CO_TRY(const std::vector<GroupReply> all, co_await ask_all(world, groups, std::move(configured)));
  CO_TRY(std::optional<SystemPlaces> places, recorded(all));
  const auto silent = std::ranges::find_if_not(all, &GroupReply::answered);
  if (!places) {
    if (silent != all.end()) co_return fail(Errc::kTimeout, silent->reason);
    CO_TRY(places, chosen(all));
  }
  // Without a record the next start finds the groups by the tablets' blocked generations.
  for (const GroupReply& reply : all) {
    if (reply.record || !reply.answered) continue;
    const auto written = co_await record(world, groups, reply.group, *places);
    if (!written)
      log_warning(
          "the groups of the system tablets are not recorded in a group; the next start retries",
          {{"error", written.error()}});
  }
  co_return *places;
}

}  // namespace

Slice encode_places(const SystemPlaces& places) {
  Encoder encoder;
  encoder.u8(kRecordVersion).u8(static_cast<std::uint8_t>(places.size()));
  for (const auto& [tablet, group] : places) encoder.u64(tablet.value).u32(group.value);
  return seal(std::move(encoder));
}

Result<SystemPlaces> decode_places(ByteSpan bytes) {
  TRY(const ByteSpan inside, unseal(bytes));
  Decoder decoder(inside);
  if (decoder.u8() != kRecordVersion) {
    return fail(Errc::kUnsupported, "record of the system tablets' groups: another version");
  }
  const std::uint8_t count = decoder.u8();
  SystemPlaces places;
  for (std::uint8_t i = 0; i < count; ++i) {
    const TabletId tablet{decoder.u64()};
    const GroupId group{decoder.u32()};
    if (!places.empty() && tablet <= places.rbegin()->first) {
      return fail(Errc::kCorrupt, "record of the system tablets' groups: order");
    }
    places[tablet] = group;
  }
  if (!decoder.finished()) {
    return fail(Errc::kCorrupt, "record of the system tablets' groups: length");
  }
  return places;
}

Task<Result<SystemPlaces>> find_system_places(World world, BlobGroups& groups,
                                              std::vector<GroupId> configured, Instant deadline) {
  INVARIANT(!configured.empty(), "a config without groups");
  while (true) {
    auto found = co_await find_once(world, groups, configured);
    if (found || found.error().code != Errc::kTimeout || world.executor.now() >= deadline) {
      co_return found;
    }
    co_await sleep_for(world.executor, kAskAgain);
  }
}

}  // namespace moraine
