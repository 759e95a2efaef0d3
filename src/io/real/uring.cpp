#include "io/real/uring.h"

#include <liburing.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/invariant.h"

#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#endif

namespace moraine {
namespace {

// The kernel may map a ring where an earlier ring of another thread was. The thread sanitizer sees
// neither mapping nor unmapping, which are system calls inside liburing, and would report accesses
// of the two threads as a race. These annotations order every unmapping before later mappings.
#if __has_feature(thread_sanitizer)
char mappings;
void note_unmapping() {
  __tsan_release(&mappings);
}
void note_mapping() {
  __tsan_acquire(&mappings);
}
#else
void note_unmapping() {}
void note_mapping() {}
#endif

// Best flags first; older kernels refuse the later ones with EINVAL.
constexpr std::array<unsigned, 3> kSetupFlags = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
    0,
};
constexpr unsigned kFeaturesNeeded =
    IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP | IORING_FEAT_RW_CUR_POS;

Result<void> check_support(io_uring& ring) {
  if ((ring.features & kFeaturesNeeded) != kFeaturesNeeded) {
    return fail(Errc::kUnsupported,
                fmt::format("io_uring features {:#x} are too old", ring.features));
  }
  io_uring_probe* probe = io_uring_get_probe_ring(&ring);
  if (probe == nullptr) return fail(Errc::kUnsupported, "io_uring cannot be probed");
  bool all = true;
  for (const int code : {IORING_OP_READ, IORING_OP_WRITE, IORING_OP_WRITEV, IORING_OP_FSYNC,
                         IORING_OP_FALLOCATE, IORING_OP_POLL_ADD}) {
    all = all && io_uring_opcode_supported(probe, code);
  }
  io_uring_free_probe(probe);
  if (!all) return fail(Errc::kUnsupported, "io_uring lacks an operation");
  return {};
}

}  // namespace

Result<std::unique_ptr<Uring>> Uring::create() {
  int status = 0;
  for (const unsigned flags : kSetupFlags) {
    auto ring = std::make_unique<io_uring>();
    io_uring_params params{};
    params.flags = flags | IORING_SETUP_CQSIZE;
    params.cq_entries = kUringCompletions;
    status = io_uring_queue_init_params(kUringEntries, ring.get(), &params);
    if (status == -EINVAL) continue;
    if (status < 0) break;
    note_mapping();
    if (auto supported = check_support(*ring); !supported) {
      note_unmapping();
      io_uring_queue_exit(ring.get());
      return std::unexpected(std::move(supported).error());
    }
    io_uring_register_ring_fd(ring.get());  // Saves a file lookup per call; not needed.
    return std::unique_ptr<Uring>(new Uring(std::move(ring)));
  }
  return fail(Errc::kUnsupported, fmt::format("io_uring_setup: {}", std::strerror(-status)));
}

Uring::Uring(std::unique_ptr<io_uring> ring) : ring_(std::move(ring)) {}

Uring::~Uring() {
  note_unmapping();
  io_uring_queue_exit(ring_.get());
}

io_uring_sqe* Uring::next_entry() {
  io_uring_sqe* entry = io_uring_get_sqe(ring_.get());
  while (entry == nullptr) {
    const int status = io_uring_submit(ring_.get());
    INVARIANT(status >= 0 || status == -EINTR || status == -EAGAIN || status == -EBUSY,
              "io_uring_submit: {}", std::strerror(-status));
    entry = io_uring_get_sqe(ring_.get());
  }
  return entry;
}

void Uring::commit(io_uring_sqe* entry, UringOperation& operation, bool at_once) {
  io_uring_sqe_set_data(entry, &operation);
  // What the kernel refuses now is submitted by the next turn.
  if (at_once || io_uring_sq_ready(ring_.get()) >= kSubmitEarly) {
    (void)io_uring_submit(ring_.get());
  }
}

void Uring::enter(Duration wait) {
  int status = 0;
  if (wait > Duration::zero() && io_uring_cq_ready(ring_.get()) == 0) {
    io_uring_cqe* first = nullptr;
    __kernel_timespec limit{};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
    limit.tv_sec = seconds.count();
    limit.tv_nsec = (wait - seconds).count();
    status = io_uring_submit_and_wait_timeout(ring_.get(), &first, 1,
                                              wait == Duration::max() ? nullptr : &limit, nullptr);
  } else {
    const unsigned raised = IO_URING_READ_ONCE(*ring_->sq.kflags);
    if ((raised & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0) {
      status = io_uring_submit_and_get_events(ring_.get());
    } else if (io_uring_sq_ready(ring_.get()) > 0) {
      status = io_uring_submit(ring_.get());
    }
  }
  INVARIANT(
      status >= 0 || status == -ETIME || status == -EINTR || status == -EAGAIN || status == -EBUSY,
      "io_uring_enter: {}", std::strerror(-status));
}

void Uring::turn(Duration wait) {
  enter(wait);
  struct Done {
    UringOperation* operation;
    int result;
  };
  std::array<Done, kCompletionsPerTurn> batch;
  unsigned count = 0;
  unsigned head = 0;
  io_uring_cqe* entry = nullptr;
  io_uring_for_each_cqe(ring_.get(), head, entry) {
    if (count == kCompletionsPerTurn) break;
    batch[count++] = {static_cast<UringOperation*>(io_uring_cqe_get_data(entry)), entry->res};
  }
  io_uring_cq_advance(ring_.get(), count);
  for (unsigned i = 0; i < count; ++i)
    batch[i].operation->complete(*batch[i].operation, batch[i].result);
}

}  // namespace moraine
