#include "bench/raw_disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "io/random.h"

namespace moraine::bench {
namespace {

constexpr std::size_t kFillBytes = 1u << 20;
constexpr std::size_t kWriteBuffers = 16;  // Different contents, used in turn.

std::unexpected<Error> system_error(const std::string& what, int number) {
  return fail(Errc::kIo, fmt::format("{}: {}", what, std::strerror(number)));
}

Result<void> fill(int fd, const std::string& path, std::uint64_t bytes) {
  const Slice piece = random_bytes(kFillBytes, 1);
  for (std::uint64_t at = 0; at < bytes; at += kFillBytes) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kFillBytes, bytes - at));
    if (pwrite(fd, piece.data(), size, static_cast<off_t>(at)) != static_cast<ssize_t>(size)) {
      return system_error(path, errno);
    }
  }
  if (fsync(fd) != 0) return system_error(path, errno);
  return {};
}

std::vector<Slice> write_buffers(std::uint32_t size) {
  std::vector<Slice> buffers;
  for (std::size_t i = 0; i < kWriteBuffers; ++i) buffers.push_back(random_bytes(size, i + 1));
  return buffers;
}

}  // namespace

Slice random_bytes(std::size_t size, std::uint64_t seed) {
  Buffer buffer(size);
  SeededRandom random(seed);
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(buffer.data() + at, &word, std::min(sizeof(word), size - at));
  }
  return std::move(buffer).freeze();
}

Result<RawFiles> RawFiles::open(const std::vector<std::string>& paths) {
  RawFiles files;
  for (const std::string& path : paths) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (fd < 0) return system_error(path, errno);
    files.fds_.push_back(fd);
    struct stat info{};
    fstat(fd, &info);
    files.bytes_ = static_cast<std::uint64_t>(info.st_size);
  }
  return files;
}

Result<RawFiles> RawFiles::create(const std::vector<std::string>& paths, std::uint64_t bytes) {
  RawFiles files;
  files.bytes_ = bytes;
  for (const std::string& path : paths) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0640);
    if (fd < 0) return system_error(path, errno);
    files.fds_.push_back(fd);
    TRY_VOID(fill(fd, path, bytes));
  }
  return files;
}

RawFiles::RawFiles(RawFiles&& other) noexcept
    : fds_(std::exchange(other.fds_, {})),
      bytes_(other.bytes_),
      written_(other.written_),
      random_(other.random_) {}

RawFiles::~RawFiles() {
  for (const int fd : fds_) close(fd);
}

RawFiles::Operation RawFiles::next_write(std::uint32_t size) {
  const std::uint64_t number = written_++;
  const std::uint64_t in_file = number / fds_.size();
  return {fds_[number % fds_.size()], in_file % (bytes_ / size) * size, true};
}

RawFiles::Operation RawFiles::next_read(const Plan& plan) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  const std::uint64_t places = std::min(plan.extent, bytes_) / plan.size;
  return {fds_[(random_ >> 48) % fds_.size()], random_ % places * plan.size, false};
}

Result<Round> RawFiles::write_durably(const Plan& plan) {
  std::vector<Operation> operations;
  operations.reserve(plan.count);
  for (std::uint64_t i = 0; i < plan.count; ++i) operations.push_back(next_write(plan.size));
  return run(plan, operations);
}

Result<Round> RawFiles::read_randomly(const Plan& plan) {
  std::vector<Operation> operations;
  operations.reserve(plan.count);
  for (std::uint64_t i = 0; i < plan.count; ++i) operations.push_back(next_read(plan));
  return run(plan, operations);
}

Result<Round> RawFiles::run(const Plan& plan, const std::vector<Operation>& operations) {
  const double cpu_before = cpu_seconds();
  auto round = plan.engine == RawEngine::kUring ? run_uring(plan, operations)
                                                : run_threads(plan, operations);
  if (!round) return round;
  round->operations = operations.size();
  round->bytes = operations.size() * plan.size;
  round->cpu_seconds = cpu_seconds() - cpu_before;
  return round;
}

Result<Round> RawFiles::run_uring(const Plan& plan, const std::vector<Operation>& operations) {
  io_uring ring{};
  const unsigned flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  if (const int status = io_uring_queue_init(plan.depth, &ring, flags); status < 0) {
    return system_error("io_uring", -status);
  }
  const std::vector<Slice> sources = write_buffers(plan.size);
  std::vector<Buffer> targets;
  for (std::uint32_t i = 0; i < plan.depth; ++i) targets.emplace_back(plan.size);
  std::vector<std::uint64_t> started(plan.depth);
  std::vector<std::uint32_t> idle;
  for (std::uint32_t i = 0; i < plan.depth; ++i) idle.push_back(i);

  Round round;
  round.latencies.reserve(operations.size());
  int problem = 0;
  std::size_t next = 0;
  std::size_t done = 0;
  const Stopwatch watch;
  while (done < operations.size() && problem == 0) {
    for (; !idle.empty() && next < operations.size(); ++next) {
      const std::uint32_t place = idle.back();
      idle.pop_back();
      const Operation& operation = operations[next];
      io_uring_sqe* entry = io_uring_get_sqe(&ring);
      if (operation.write) {
        io_uring_prep_write(entry, operation.fd, sources[next % sources.size()].data(), plan.size,
                            operation.offset);
        entry->rw_flags = RWF_DSYNC;
      } else {
        io_uring_prep_read(entry, operation.fd, targets[place].data(), plan.size, operation.offset);
      }
      io_uring_sqe_set_data64(entry, place);
      started[place] = watch.nanoseconds();
    }
    io_uring_submit_and_wait(&ring, 1);
    unsigned head = 0;
    unsigned seen = 0;
    io_uring_cqe* entry = nullptr;
    io_uring_for_each_cqe(&ring, head, entry) {
      const auto place = static_cast<std::uint32_t>(io_uring_cqe_get_data64(entry));
      if (entry->res != static_cast<int>(plan.size)) problem = entry->res < 0 ? -entry->res : EIO;
      round.latencies.push_back(watch.nanoseconds() - started[place]);
      idle.push_back(place);
      ++seen;
    }
    io_uring_cq_advance(&ring, seen);
    done += seen;
  }
  round.seconds = watch.seconds();
  io_uring_queue_exit(&ring);
  if (problem != 0) return system_error("raw I/O", problem);
  return round;
}

Result<Round> RawFiles::run_threads(const Plan& plan, const std::vector<Operation>& operations) {
  const std::vector<Slice> sources = write_buffers(plan.size);
  std::atomic<std::size_t> next{0};
  std::atomic<int> problem{0};
  Round round;
  round.latencies.resize(operations.size());
  const Stopwatch watch;
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < plan.depth; ++i) {
    threads.emplace_back([&] {
      Buffer target(plan.size);
      for (std::size_t at = next++; at < operations.size() && problem == 0; at = next++) {
        const Operation& operation = operations[at];
        const auto offset = static_cast<off_t>(operation.offset);
        const std::uint64_t started = watch.nanoseconds();
        ssize_t done = 0;
        if (operation.write) {
          const iovec piece{const_cast<std::byte*>(sources[at % sources.size()].data()), plan.size};
          done = pwritev2(operation.fd, &piece, 1, offset, RWF_DSYNC);
        } else {
          done = pread(operation.fd, target.data(), plan.size, offset);
        }
        if (done != static_cast<ssize_t>(plan.size)) problem = done < 0 ? errno : EIO;
        round.latencies[at] = watch.nanoseconds() - started;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  round.seconds = watch.seconds();
  if (problem != 0) return system_error("raw I/O", problem);
  return round;
}

}  // namespace moraine::bench
