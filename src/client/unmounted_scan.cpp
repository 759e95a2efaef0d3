#include "client/unmounted_scan.h"

#include <fmt/format.h>

#include "io/run_on.h"

namespace moraine::client {

Task<Result<void>> UnmountedScan::load() {
  if (!scan_) {
    CO_TRY(tablet_, co_await tables_.open_unmounted(path_, id_));
    if (*tablet_->settings().schema != *schema_) {
      co_return fail(Errc::kInvalidArgument,
                     fmt::format("/{} was altered while it was read; read it again", path_));
    }
    CO_TRY(scan_, tablet_->reader().scan(request_));
    co_return Result<void>();
  }
  co_return co_await run_there(tablet_->executor(), [this] { return scan_->load(); });
}

}  // namespace moraine::client
