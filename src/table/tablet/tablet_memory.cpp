#include "table/tablet/tablet_memory.h"

namespace moraine::table {

TabletMemory::TabletMemory(MemoryBudget* store_budget, MemoryBudget* history_budget,
                           Executor& executor, StoreSet& stores, LockHistory& history,
                           std::function<bool()> flush)
    : stores_(stores),
      history_(history),
      flush_(std::move(flush)),
      store_share_(store_budget, executor, [this] { shrink_stores(); }),
      history_share_(history_budget, executor, [this] { shrink_history(); }) {
  count();
}

MemoryBudget::Usage TabletMemory::store_usage() const {
  const std::uint64_t bytes = stores_.memory_bytes();
  const bool flushable =
      stores_.memory_stores().size() > 1 || stores_.memory_stores().back().store->rows() > 0;
  return {bytes, flushable ? bytes : 0, bytes};
}

void TabletMemory::count() {
  store_share_.set(store_usage());
  // The oldest history has the highest rank.
  history_share_.set({history_.bytes(), history_.oldest_bytes(), ~history_.oldest()});
}

void TabletMemory::flushed() {
  count();
  store_share_.answer();
}

void TabletMemory::shrink_stores() {
  if (store_usage().freeable == 0) return flushed();
  if (!flush_()) store_share_.decline();
}

void TabletMemory::shrink_history() {
  if (history_.size() > 0) history_.drop_oldest();
  count();
  history_share_.answer();
}

}  // namespace moraine::table
