// moraine init
#include <fmt/format.h>

#include <algorithm>

#include "app/commands.h"
#include "app/exit_code.h"
#include "base/json.h"
#include "cluster/local/data_folder.h"

namespace moraine::app {
namespace {

Result<NewFolder> folder_of(const InitOptions& options) {
  NewFolder folder;
  // Longer segments make larger devices possible.
  if (!options.size.empty()) {
    TRY(folder.size, options.segment_size.empty() ? parse_device_size(options.size)
                                                  : blob::parse_size(options.size));
  }
  if (!options.segment_size.empty()) {
    TRY(const std::uint64_t bytes, blob::parse_size(options.segment_size));
    folder.segment_bytes = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes, 1, ~0u));
  }
  TRY(folder.species, blob::parse_species(options.erasure));
  folder.prefill_segments = options.prefill;
  return folder;
}

}  // namespace

int run_init(const InitOptions& options) {
  const auto planned = folder_of(options);
  if (!planned) return report(kExitUsage, planned.error());
  const auto folder = create_data_folder(options.data, *planned);
  if (!folder) return report(folder.error());
  const blob::NodeConfig& node = folder->config.nodes.front();
  if (options.json) {
    Json json;
    json.object().field("data", folder->path).field("devices", node.devices.size());
    json.field("device_bytes", node.devices.front().size);
    json.field("segment_bytes", node.devices.front().segment_size);
    json.field("erasure", options.erasure).end();
    fmt::print("{}\n", json.take());
  } else {
    fmt::print("{}: {} device{} of {}, group {:x}, {}\n", folder->path, node.devices.size(),
               node.devices.size() == 1 ? "" : "s", blob::print_size(node.devices.front().size),
               kFolderGroup.value, options.erasure);
  }
  return kExitOk;
}

}  // namespace moraine::app
