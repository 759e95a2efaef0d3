#include "table/tablet/lookup_blocks.h"

#include <algorithm>

#include "io/sync.h"

namespace moraine::table {
namespace {

// Ordered by chunk id: ordering by address would differ from run to run.
void drop_repeated(std::vector<MissingBlock>& missing) {
  const auto order = [](const MissingBlock& block) {
    return std::pair(block.chunk->record().id, block.block);
  };
  std::ranges::sort(missing, {}, order);
  const auto repeated = std::ranges::unique(missing, {}, order);
  missing.erase(repeated.begin(), repeated.end());
}

Task<void> load_block(MissingBlock wanted, BlockPins& pins, Semaphore& permits,
                      Result<void>& outcome) {
  co_await permits.acquire();
  if (outcome) {
    Result<Slice> bytes = co_await wanted.chunk->load(wanted.block);
    if (bytes) {
      pins.add(wanted.chunk, wanted.block, *std::move(bytes));
    } else if (outcome) {
      outcome = std::unexpected(std::move(bytes).error());
    }
  }
  permits.release();
}

}  // namespace

Task<Result<void>> load_blocks(std::vector<MissingBlock> missing, BlockPins& pins) {
  drop_repeated(missing);
  Result<void> outcome;
  Semaphore permits(kBlockLoadsInFlight);
  TaskScope scope;
  for (MissingBlock& block : missing) {
    scope.spawn(load_block(std::move(block), pins, permits, outcome));
  }
  co_await scope.join();
  co_return outcome;
}

bool load_blocks_inline(std::vector<MissingBlock> missing, BlockPins& pins) {
  drop_repeated(missing);
  if (missing.size() > kBlocksInlineMax) return false;
  for (const MissingBlock& block : missing) {
    std::optional<Slice> bytes = block.chunk->load_blocking(block.block);
    if (!bytes) return false;
    pins.add(block.chunk, block.block, *std::move(bytes));
  }
  return true;
}

}  // namespace moraine::table
