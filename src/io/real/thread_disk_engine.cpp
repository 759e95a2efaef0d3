#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/invariant.h"
#include "io/real/disk_engine.h"

namespace moraine {
namespace {

constexpr std::size_t kDiskThreads = 8;

ssize_t write_durable(const DiskRequest& request) {
  const auto offset = static_cast<off_t>(request.offset);
  const auto count = static_cast<int>(request.pieces_count);
  ssize_t done = pwritev2(request.fd, request.pieces, count, offset, RWF_DSYNC);
  if (done >= 0 || errno != EOPNOTSUPP) return done;
  done = pwritev(request.fd, request.pieces, count, offset);
  if (done >= 0 && fdatasync(request.fd) != 0) return -1;
  return done;
}

ssize_t call_system(const DiskRequest& request) {
  using Kind = DiskRequest::Kind;
  const auto offset = static_cast<off_t>(request.offset);
  switch (request.kind) {
    case Kind::kRead:
      return pread(request.fd, request.pieces->iov_base, request.pieces->iov_len, offset);
    case Kind::kWrite:
      return pwritev(request.fd, request.pieces, static_cast<int>(request.pieces_count), offset);
    case Kind::kWriteDurable: return write_durable(request);
    case Kind::kSync: return fdatasync(request.fd);
    case Kind::kAllocate:
      return fallocate(request.fd, FALLOC_FL_KEEP_SIZE, offset, static_cast<off_t>(request.size));
    case Kind::kDiscard:
      return fallocate(request.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                       static_cast<off_t>(request.size));
  }
  return 0;
}

// Threading  The queue is shared under the mutex; a request belongs to one worker from when it is
//            dequeued until its completion is posted.
class ThreadDiskEngine final : public DiskEngine {
 public:
  explicit ThreadDiskEngine(Lane& lane) : lane_(lane) {
    for (std::thread& worker : workers_) worker = std::thread([this] { work(); });
  }

  ~ThreadDiskEngine() override {
    {
      const std::lock_guard lock(mutex_);
      INVARIANT(queue_.empty(), "disk threads end with {} requests waiting", queue_.size());
      stopping_ = true;
    }
    filled_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void submit(DiskRequest& request) override {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(&request);
    }
    filled_.notify_one();
  }

 private:
  void work() {
    pthread_setname_np(pthread_self(), "disk");
    std::unique_lock lock(mutex_);
    while (true) {
      filled_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      DiskRequest* request = queue_.front();
      queue_.pop_front();
      lock.unlock();
      const ssize_t done = call_system(*request);
      request->result = done < 0 ? -errno : static_cast<int>(done);
      lane_.post([request] { request->waiter.resume(); });
      lock.lock();
    }
  }

  Lane& lane_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<DiskRequest*> queue_;  // Guarded by mutex_; bounded by the disks' queue depths.
  bool stopping_ = false;           // Guarded by mutex_.
  std::array<std::thread, kDiskThreads> workers_;
};

}  // namespace

std::unique_ptr<DiskEngine> make_thread_disk_engine(Lane& lane) {
  return std::make_unique<ThreadDiskEngine>(lane);
}

}  // namespace moraine
