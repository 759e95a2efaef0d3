#include "crash/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/sync.h"

namespace moraine::crash {
namespace {

constexpr std::size_t kQueriesAtOnce = 64;
constexpr std::uint64_t kBytesAtOnce = 16u << 20;
constexpr Duration kAnswerWithin = 10s;
constexpr Duration kRetryPause = 100ms;
constexpr std::size_t kReportsMax = 50;

// The next ids to read together, taken off the end of `ids`.
std::vector<blob::BlobId> take_some(std::vector<blob::BlobId>& ids) {
  std::vector<blob::BlobId> some;
  std::uint64_t bytes = 0;
  while (!ids.empty() && some.size() < kQueriesAtOnce && bytes < kBytesAtOnce) {
    bytes += ids.back().size();
    some.push_back(ids.back());
    ids.pop_back();
  }
  return some;
}

}  // namespace

Task<Verifier::Verdicts> Verifier::read_once(std::vector<blob::BlobId> ids, bool must_restore) {
  blob::GetRequest request;
  for (const blob::BlobId& id : ids) request.queries.push_back({id, 0, 0});
  request.must_restore = must_restore;
  request.deadline = executor_.now() + kAnswerWithin;
  const blob::GetResult result = co_await proxy_.get(std::move(request));
  Verdicts verdicts;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Verdict& verdict = verdicts.emplace_back();
    verdict.id = ids[i];
    verdict.status = i < result.items.size() ? result.items[i].status : result.status;
    verdict.reason = result.reason;
    if (verdict.status == blob::Status::kOk && !equal(result.items[i].data, bytes_of(ids[i]))) {
      verdict.status = blob::Status::kCorrupted;
      verdict.reason = "different bytes were read";
    }
  }
  co_return verdicts;
}

Task<Verifier::Verdicts> Verifier::look(std::vector<blob::BlobId> ids, bool must_restore,
                                        blob::Status wanted) {
  const Instant give_up = executor_.now() + patience_;
  Verdicts done;
  while (!ids.empty()) {
    std::vector<blob::BlobId> again;
    for (std::vector<blob::BlobId> some = take_some(ids); !some.empty(); some = take_some(ids)) {
      const Verdicts verdicts = co_await read_once(std::move(some), must_restore);
      const bool patient = executor_.now() < give_up;
      for (const Verdict& verdict : verdicts) {
        const bool may_change =
            verdict.status == blob::Status::kError || verdict.status == blob::Status::kDeadline ||
            (wanted == blob::Status::kNoData && verdict.status == blob::Status::kOk);
        if (may_change && patient) {
          again.push_back(verdict.id);
        } else {
          done.push_back(verdict);
        }
      }
    }
    ids = std::move(again);
    if (!ids.empty()) co_await sleep_for(executor_, kRetryPause);
  }
  co_return done;
}

void Verifier::lose(const Verdict& verdict, const char* expected) {
  ++counts_.lost;
  if (counts_.reports.size() >= kReportsMax) return;
  counts_.reports.push_back(fmt::format("LOST {}: {} {} ({})", verdict.id.to_string(),
                                        to_string(verdict.status), verdict.reason, expected));
}

Task<void> Verifier::check_stored(TabletTruth& tablet, std::uint32_t since, std::size_t sample,
                                  Random& random) {
  std::vector<blob::BlobId> ids;
  std::vector<blob::BlobId> older;
  for (const auto& [id, blob] : tablet.blobs()) {
    if (blob.fate == Fate::kStored) (blob.round >= since ? ids : older).push_back(id);
  }
  for (std::size_t i = 0; i < sample && !older.empty(); ++i) {
    std::swap(older[random.below(older.size())], older.back());
    ids.push_back(older.back());
    older.pop_back();
  }
  const Verdicts verdicts = co_await look(std::move(ids), false, blob::Status::kOk);
  for (const Verdict& verdict : verdicts) {
    // A collect may have been sent since.
    const auto found = tablet.blobs().find(verdict.id);
    if (found == tablet.blobs().end() || found->second.fate != Fate::kStored) continue;
    if (verdict.status == blob::Status::kOk) {
      ++counts_.verified;
    } else {
      lose(verdict, "it was acknowledged");
    }
  }
}

Task<void> Verifier::settle_doubts(TabletTruth& tablet) {
  std::vector<blob::BlobId> ids;
  for (const auto& [id, blob] : tablet.blobs()) {
    if (blob.fate == Fate::kDoubt) ids.push_back(id);
  }
  const Verdicts verdicts = co_await look(std::move(ids), true, blob::Status::kOk);
  for (const Verdict& verdict : verdicts) {
    if (verdict.status == blob::Status::kOk) {
      ++counts_.doubt_there;
      tablet.found(verdict.id);
    } else if (verdict.status == blob::Status::kNoData) {
      ++counts_.doubt_absent;
      tablet.absent(verdict.id);
    } else {
      lose(verdict, "it was in doubt: absent or whole");
      tablet.absent(verdict.id);
    }
  }
}

Task<void> Verifier::check_gone(TabletTruth& tablet) {
  const Verdicts verdicts = co_await look(tablet.gone(), false, blob::Status::kNoData);
  for (const Verdict& verdict : verdicts) {
    if (verdict.status == blob::Status::kNoData) {
      ++counts_.collected;
    } else {
      lose(verdict, "it was collected and must not be readable");
    }
  }
}

}  // namespace moraine::crash
