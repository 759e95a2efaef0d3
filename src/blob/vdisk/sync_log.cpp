#include "blob/vdisk/sync_log.h"

#include <algorithm>

#include "base/invariant.h"

namespace moraine::blob {

void SyncLog::push(std::uint64_t lsn, IndexFact fact) {
  if (lsn <= start_) return;
  INVARIANT(lsn >= last_, "lsn {} after {}", lsn, last_);
  items_.push_back({lsn, std::move(fact)});
  last_ = lsn;
  while (items_.size() > kSyncLogFactsMax) {
    start_ = items_.front().lsn;
    items_.pop_front();
  }
}

SyncLog::Portion SyncLog::read(std::uint64_t after, std::size_t most,
                               const std::function<bool(const IndexFact&)>& wanted) const {
  Portion portion;
  portion.position = after;
  auto at = std::ranges::upper_bound(items_, after, {}, &Item::lsn);
  while (at != items_.end()) {
    if (portion.facts.size() >= most && at->lsn != portion.position) {
      portion.more = true;
      return portion;
    }
    if (wanted(at->fact)) portion.facts.push_back(at->fact);
    portion.position = at->lsn;
    ++at;
  }
  portion.position = std::max(portion.position, last_);
  return portion;
}

}  // namespace moraine::blob
