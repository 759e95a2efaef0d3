#include "queue/head_plan.h"

#include <algorithm>

namespace moraine::queue {

HeadPlan plan_whole_head(const std::vector<HeadBlob>& head) {
  HeadPlan plan;
  plan.to_body = true;
  while (plan.rewritten_from < head.size() && head[plan.rewritten_from].level == 0) {
    ++plan.rewritten_from;
  }
  return plan;
}

HeadPlan plan_head(const std::vector<HeadBlob>& head, std::uint64_t new_bytes,
                   std::uint64_t low_watermark) {
  HeadPlan plan;
  std::uint64_t total = new_bytes;
  for (const HeadBlob& blob : head) total += blob.bytes;
  if (total >= std::min(low_watermark, kLevelBorders[0])) return plan_whole_head(head);
  plan.rewritten_from = head.size();
  std::uint64_t bytes = new_bytes;  // Of the new blob so far.
  for (std::size_t level = kHeadLevels - 1; level > 0; --level) {
    std::uint64_t sum = bytes;
    std::size_t from = plan.rewritten_from;
    while (from > 0 && head[from - 1].level == level) sum += head[--from].bytes;
    if (sum < kLevelBorders[level] &&
        plan.rewritten_from - from + 1 < kHeadBlobsMax / kHeadLevels) {
      plan.level = static_cast<std::uint8_t>(level);
      return plan;
    }
    plan.rewritten_from = from;
    bytes = sum;
  }
  plan.to_body = plan.rewritten_from + 1 >= kHeadBlobsMax / 2;
  return plan;
}

std::vector<HeadBlob> levels_of(const std::vector<std::uint64_t>& sizes) {
  std::vector<HeadBlob> head;
  std::uint8_t coarsest = kHeadLevels - 1;
  // From the newest back: a blob's level is at least as coarse as that of those after it.
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    while (coarsest > 0 && *size >= kLevelBorders[coarsest]) --coarsest;
    head.push_back({*size, coarsest});
  }
  std::ranges::reverse(head);
  return head;
}

}  // namespace moraine::queue
