#include "node/key_value_host.h"

#include <fmt/format.h>

namespace moraine {

KeyValueHost::KeyValueHost(World world, BlobGroups& groups, TabletInfo info, LeaderOptions options,
                           Placement* placement)
    : world_(world),
      groups_(groups),
      info_(std::move(info)),
      options_(options),
      host_(world.executor, fmt::format("key-value {}", info_.id.value),
            {[this] { return boot(); }, nullptr, nullptr, still_here(placement, info_.id)}) {}

Task<Result<std::unique_ptr<KeyValue>>> KeyValueHost::boot() {
  return KeyValue::boot(world_, groups_, info_, options_);
}

}  // namespace moraine
