#include <fcntl.h>
#include <liburing.h>
#include <linux/falloc.h>

#include <cstdint>

#include "base/invariant.h"
#include "io/real/disk_engine.h"

namespace moraine {
namespace {

// A device takes so long for this much that a separate system call costs nothing in comparison.
constexpr std::size_t kSubmitAtOnceBytes = 64u << 10;

std::size_t bytes_of(const DiskRequest& request) {
  std::size_t bytes = 0;
  for (unsigned i = 0; i < request.pieces_count; ++i) bytes += request.pieces[i].iov_len;
  return bytes;
}

// Somebody waits for a durable write, and the lane may have much to do before its next turn.
bool worth_a_call(const DiskRequest& request) {
  return request.kind == DiskRequest::Kind::kWriteDurable ||
         bytes_of(request) >= kSubmitAtOnceBytes;
}

void prepare(io_uring_sqe* entry, const DiskRequest& request) {
  using Kind = DiskRequest::Kind;
  switch (request.kind) {
    case Kind::kRead:
      io_uring_prep_read(entry, request.fd, request.pieces->iov_base,
                         static_cast<unsigned>(request.pieces->iov_len), request.offset);
      return;
    case Kind::kWrite:
    case Kind::kWriteDurable:
      if (request.pieces_count == 1 && request.pieces->iov_len <= UINT32_MAX) {
        io_uring_prep_write(entry, request.fd, request.pieces->iov_base,
                            static_cast<unsigned>(request.pieces->iov_len), request.offset);
      } else {
        io_uring_prep_writev(entry, request.fd, request.pieces, request.pieces_count,
                             request.offset);
      }
      if (request.kind == Kind::kWriteDurable) entry->rw_flags = RWF_DSYNC;
      return;
    case Kind::kSync: io_uring_prep_fsync(entry, request.fd, IORING_FSYNC_DATASYNC); return;
    case Kind::kAllocate:
      io_uring_prep_fallocate(entry, request.fd, FALLOC_FL_KEEP_SIZE,
                              static_cast<off_t>(request.offset), static_cast<off_t>(request.size));
      return;
    case Kind::kDiscard:
      io_uring_prep_fallocate(entry, request.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              static_cast<off_t>(request.offset), static_cast<off_t>(request.size));
      return;
  }
}

// Small reads of one loop turn share system calls (io/real/uring.h).
class UringDiskEngine final : public DiskEngine {
 public:
  explicit UringDiskEngine(Lane& lane) : uring_(lane.uring()) {
    INVARIANT(uring_ != nullptr, "this lane has no io_uring");
  }

  void submit(DiskRequest& request) override {
    request.complete = [](UringOperation& operation, int result) {
      auto& done = static_cast<DiskRequest&>(operation);
      done.result = result;
      done.waiter.resume();
    };
    io_uring_sqe* entry = uring_->next_entry();
    prepare(entry, request);
    uring_->commit(entry, request, worth_a_call(request));
  }

 private:
  Uring* const uring_;
};

}  // namespace

std::unique_ptr<DiskEngine> make_uring_disk_engine(Lane& lane) {
  return std::make_unique<UringDiskEngine>(lane);
}

}  // namespace moraine
