#include "queue/retention.h"

namespace moraine::queue {

bool removable(const BlobAge& oldest, const RetentionView& view, const PartitionConfig& config) {
  // Readers cannot reach it any more, so important consumers do not need it either.
  if (oldest.end <= view.start) return true;
  if (view.unread_from && oldest.end > *view.unread_from) return false;
  const bool too_old = config.retention_ms && oldest.written_ms <= view.now_ms &&
                       view.now_ms - oldest.written_ms >= *config.retention_ms;
  const bool too_many =
      config.retention_bytes && view.total_bytes - oldest.bytes >= *config.retention_bytes;
  return too_old || too_many;
}

}  // namespace moraine::queue
