#include "blob/vdisk/syncer.h"

#include <algorithm>

#include "base/coding.h"
#include "blob/vdisk/vdisk.h"

namespace moraine::blob {
namespace {

// cursor = stage u8, then the key after which the next page starts:
//   blobs: id (25)   blocks: tablet u64   barriers: tablet u64 channel u8 hard u8
enum Stage : std::uint8_t { kBlobs = 0, kBlocks = 1, kBarriers = 2 };

constexpr std::uint64_t kPullsPerReminder = 16;
constexpr std::size_t kScanPerPage = 4 * kSyncFactsMax;

Slice next_stage(Stage stage) {
  return Encoder().u8(stage).slice();
}

Result<void> blob_page(const VDiskState& state, std::uint32_t order, ByteSpan key,
                       PullFactsReply& page) {
  if (!key.empty() && key.size() != kBlobIdBytes)
    return fail(Errc::kInvalidArgument, "pull cursor");
  const auto& entries = state.index().entries();
  auto at = key.empty() ? entries.begin() : entries.upper_bound(BlobId::decode(key.data()));
  BlobId last;
  for (std::size_t seen = 0;
       at != entries.end() && page.facts.size() < kSyncFactsMax && seen < kScanPerPage;
       ++at, ++seen) {
    last = at->first;
    const IndexFact fact = BlobFact{at->first, at->second.ingress};
    if (state.concerns(fact, order)) page.facts.push_back(fact);
  }
  if (at == entries.end()) {
    page.cursor = next_stage(kBlocks);
    return {};
  }
  std::array<std::byte, kBlobIdBytes> bytes;
  last.encode(bytes.data());
  page.cursor = Encoder().u8(kBlobs).raw(bytes).slice();
  return {};
}

Result<void> block_page(const VDiskState& state, ByteSpan key, PullFactsReply& page) {
  Decoder decoder(key);
  auto at = state.blocks().begin();
  if (!key.empty()) at = state.blocks().upper_bound(TabletId{decoder.u64()});
  if (!decoder.finished()) return fail(Errc::kInvalidArgument, "pull cursor");
  for (; at != state.blocks().end() && page.facts.size() < kSyncFactsMax; ++at) {
    page.facts.push_back(BlockFact{at->first, at->second});
    page.cursor = Encoder().u8(kBlocks).u64(at->first.value).slice();
  }
  if (at == state.blocks().end()) page.cursor = next_stage(kBarriers);
  return {};
}

Result<void> barrier_page(const VDiskState& state, ByteSpan key, PullFactsReply& page) {
  Decoder decoder(key);
  const auto& all = state.barriers().all();
  auto at = all.begin();
  if (!key.empty()) {
    BarrierSequence after;
    after.tablet.value = decoder.u64();
    after.channel = decoder.u8();
    after.hard = decoder.flag();
    at = all.upper_bound(after);
  }
  if (!decoder.finished()) return fail(Errc::kInvalidArgument, "pull cursor");
  page.cursor = {};
  for (; at != all.end() && page.facts.size() + kPendingBarriersMax < kSyncFactsMax; ++at) {
    for (const auto& [record_key, record] : at->second.records) {
      page.facts.push_back(Barriers::fact_of(at->first, record_key, record));
    }
    page.cursor = Encoder()
                      .u8(kBarriers)
                      .u64(at->first.tablet.value)
                      .u8(at->first.channel)
                      .flag(at->first.hard)
                      .slice();
  }
  if (at == all.end()) page.cursor = {};
  return {};
}

}  // namespace

Result<PullFactsReply> serve_pull(const VDiskState& state, const PullFacts& request) {
  PullFactsReply page;
  page.log = state.meta().guid;
  if (request.cursor.empty() && request.log == page.log &&
      state.sync_log().reaches(request.after)) {
    const std::uint32_t order = request.order;
    auto portion =
        state.sync_log().read(request.after, kSyncFactsMax - kFactsPerRecordMax,
                              [&](const IndexFact& fact) { return state.concerns(fact, order); });
    page.facts = std::move(portion.facts);
    page.position = portion.position;
    page.more = portion.more;
    return page;
  }
  page.full = true;
  page.position = state.sync_log().last();
  const ByteSpan cursor = request.cursor.span();
  const std::uint8_t stage =
      cursor.empty() ? std::uint8_t{kBlobs} : static_cast<std::uint8_t>(cursor[0]);
  const ByteSpan key = cursor.empty() ? cursor : cursor.subspan(1);
  if (stage == kBlobs) {
    TRY_VOID(blob_page(state, request.order, key, page));
  } else if (stage == kBlocks) {
    TRY_VOID(block_page(state, key, page));
  } else if (stage == kBarriers) {
    TRY_VOID(barrier_page(state, key, page));
  } else {
    return fail(Errc::kInvalidArgument, "pull cursor");
  }
  page.more = !page.cursor.empty();
  return page;
}

void Syncer::start(TaskScope& scope) {
  for (std::uint32_t order = 0; order < disk_.state().geometry().disks(); ++order) {
    if (order != disk_.state().order()) scope.spawn(follow(order));
  }
}

Syncer::Progress& Syncer::progress(std::uint32_t order) {
  const auto [at, fresh] = progress_.try_emplace(order);
  if (fresh) {
    const auto& known = disk_.state().positions();
    if (const auto found = known.find(order); found != known.end()) {
      at->second.log = found->second.log;
      at->second.position = found->second.position;
    }
  }
  return at->second;
}

SyncPosition Syncer::read_so_far(std::uint32_t order) {
  const Progress& known = progress(order);
  return {order, known.log, known.position};
}

Task<void> Syncer::follow(std::uint32_t order) {
  const Duration period = disk_.options_.sync_period;
  std::uint64_t pulls = 0;
  while (!stopped_ && !disk_.scope_.closed()) {
    // Neighbours are not pulled all at the same time.
    const auto jitter = static_cast<std::int64_t>(
        disk_.device_.world().random.below(static_cast<std::uint64_t>(period.count())));
    co_await sleep_for(disk_.executor(), period / 2 + Duration(jitter), disk_.scope_);
    if (stopped_ || disk_.scope_.closed()) break;
    if (pulls++ % kPullsPerReminder == 0) co_await remind(order);
    const std::uint64_t round = disk_.forget_rule_.round();
    if (co_await pull_all(order)) disk_.note_pulled(order, round);
  }
}

Task<void> Syncer::remind(std::uint32_t order) {
  ExchangeGuid own;
  own.order = disk_.state().order();
  own.guid = disk_.state().meta().guid;
  RequestBody question = own;
  const DiskReply answer = co_await disk_.ask(order, std::move(question));
  const auto* known = std::get_if<ExchangeGuidReply>(&answer.body);
  if (answer.status != Status::kOk || !known) co_return;
  if (known->state == GuidState::kFinal && known->guid == own.guid) co_return;
  own.state = GuidState::kFinal;
  RequestBody reminder = own;
  (void)co_await disk_.ask(order, std::move(reminder));
}

Task<bool> Syncer::pull_all(std::uint32_t order) {
  for (;;) {
    const Step result = co_await step(order);
    if (result != Step::kMore) co_return result == Step::kDone;
    if (stopped_) co_return false;
  }
}

Task<Syncer::Step> Syncer::step(std::uint32_t order) {
  Progress& own = progress(order);
  PullFacts request;
  request.order = disk_.state().order();
  request.log = own.log;
  request.after = own.position;
  request.cursor = own.cursor;
  RequestBody body = std::move(request);
  DiskReply answer = co_await disk_.ask(order, std::move(body));
  auto* pulled = std::get_if<PullFactsReply>(&answer.body);
  if (answer.status != Status::kOk || !pulled) co_return Step::kFailed;
  Progress& now = progress(order);
  const auto taken = co_await take(now, order, std::move(*pulled));
  if (!taken) co_return Step::kFailed;
  const bool more = !now.cursor.empty() || now.full || now.more;
  co_return more ? Step::kMore : Step::kDone;
}

// The progress advances once the facts are durable: what could not be logged is pulled again.
Task<Result<void>> Syncer::take(Progress& own, std::uint32_t order, PullFactsReply pulled) {
  // The neighbour has lost its data: what it acknowledged before does not count any more.
  if (own.log != 0 && pulled.log != own.log) disk_.note_acknowledged(order, 0, 0);
  Progress next = own;
  if (pulled.full && own.cursor.empty()) {
    // The first page: changes made while the pages are read are pulled from this position later.
    next = Progress{};
    next.log = pulled.log;
    next.position = pulled.position;
    next.full = true;
  } else if (pulled.log != own.log) {
    // The neighbour lost its data between two pages: start again from the beginning.
    own = Progress{};
    own.more = true;
    co_return Result<void>();
  }
  std::vector<IndexFact> now;
  for (IndexFact& fact : pulled.facts) {
    const bool deferred = next.full && std::holds_alternative<BarrierFact>(fact);
    (deferred ? next.barriers : now).push_back(std::move(fact));
  }
  if (has_bug(SeededBug::kDropKeepInMerge)) {
    for (IndexFact& fact : now) {
      if (auto* blob = std::get_if<BlobFact>(&fact)) blob->ingress.bits &= ~kKeepBit;
    }
  }
  std::vector<Fact> news = disk_.state().news(now);
  if (!next.full && !news.empty()) {
    news.push_back(SyncPosition{order, next.log, pulled.position});
  }
  CO_TRY_VOID(co_await disk_.log_facts(std::move(news)));
  next.more = pulled.more;
  if (pulled.full) {
    next.cursor = pulled.cursor;
    next.target = pulled.position;
  } else {
    next.position = pulled.position;
    if (next.full && next.position >= next.target) {
      CO_TRY_VOID(co_await finish_full(next, order));
    }
  }
  own = std::move(next);
  co_return Result<void>();
}

// Everything that the neighbour knew when it sent its barriers was pulled: they may take effect.
Task<Result<void>> Syncer::finish_full(Progress& own, std::uint32_t order) {
  std::vector<Fact> facts = disk_.state().news(std::exchange(own.barriers, {}));
  facts.push_back(SyncPosition{order, own.log, own.position});
  own.full = false;
  co_return co_await disk_.log_facts(std::move(facts));
}

}  // namespace moraine::blob
