#include "io/real/real_disk.h"

#include <limits.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/invariant.h"
#include "io/real/file_reader.h"

namespace moraine {
namespace {

constexpr std::size_t kOperationBytesMax = std::size_t{1} << 30;

bool worth_repeating(int result, int& retries) {
  return (result == -EINTR || result == -EAGAIN) && ++retries <= kDiskRetriesMax;
}

// The part of a write that is not done yet.
struct Remainder {
  iovec* first;
  std::size_t count;

  void advance(std::size_t bytes) {
    while (count > 0 && bytes >= first->iov_len) {
      bytes -= first->iov_len;
      ++first;
      --count;
    }
    if (bytes == 0) return;
    first->iov_base = static_cast<std::byte*>(first->iov_base) + bytes;
    first->iov_len -= bytes;
  }
};

}  // namespace

RealDisk::RealDisk(Lane& lane, std::shared_ptr<DiskEngine> engine, DiskFile file)
    : lane_(lane), engine_(std::move(engine)), file_(std::move(file)) {}

RealDisk::~RealDisk() {
  INVARIANT(in_flight_ == 0, "{} closed with {} operations in flight", file_.path(), in_flight_);
}

RealDisk::Place::Place(RealDisk& disk) : disk_(disk) {
  ++disk_.in_flight_;
  disk_.lane_.begin_io();
}

RealDisk::Place::~Place() {
  --disk_.in_flight_;
  disk_.lane_.end_io();
  disk_.depth_.release();
}

bool RealDisk::in_range(std::uint64_t offset, std::uint64_t size) const {
  return offset <= file_.size() && size <= file_.size() - offset;
}

std::unexpected<Error> RealDisk::out_of_range(const char* operation, std::uint64_t offset,
                                              std::uint64_t size) const {
  return fail(Errc::kInvalidArgument,
              fmt::format("{} {} at {}, {} bytes: past the end at {}", operation, file_.path(),
                          offset, size, file_.size()));
}

DiskRequest RealDisk::request(DiskRequest::Kind kind) const {
  DiskRequest request;
  request.kind = kind;
  request.fd = file_.fd();
  return request;
}

std::size_t RealDisk::progress(int result) const {
  if (result <= 0) return 0;
  const auto bytes = static_cast<std::size_t>(result);
  return file_.direct() ? align_down(bytes, kSectorSize) : bytes;
}

Task<Result<Slice>> RealDisk::read(std::uint64_t offset, std::size_t size) {
  INVARIANT(offset % kSectorSize == 0 && size % kSectorSize == 0, "read at {}, {} bytes", offset,
            size);
  if (!in_range(offset, size)) co_return out_of_range("read", offset, size);
  if (size == 0) co_return Slice();
  co_await depth_.acquire();
  const Place place(*this);
  Buffer buffer(size);
  iovec piece{};
  DiskRequest read = request(DiskRequest::Kind::kRead);
  read.pieces = &piece;
  read.pieces_count = 1;
  int retries = 0;
  for (std::size_t done = 0; done < size;) {
    piece = {buffer.data() + done, std::min(size - done, kOperationBytesMax)};
    read.offset = offset + done;
    const int result = co_await perform(*engine_, read);
    done += progress(result);
    if (progress(result) > 0 || worth_repeating(result, retries)) continue;
    if (result < 0) {
      co_return std::unexpected(disk_error(-result, "read", file_.path(), offset, size));
    }
    co_return fail(Errc::kIo, fmt::format("read {} at {}, {} bytes: the file ends at byte {}",
                                          file_.path(), offset, size, offset + done));
  }
  co_return std::move(buffer).freeze();
}

Task<Result<void>> RealDisk::write(std::uint64_t offset, std::vector<Slice> pieces,
                                   Durability durability) {
  INVARIANT(offset % kSectorSize == 0, "write at {}", offset);
  std::vector<iovec> parts;
  parts.reserve(pieces.size());
  std::uint64_t size = 0;
  for (const Slice& piece : pieces) {
    INVARIANT(piece.aligned(kSectorSize) && piece.size() % kSectorSize == 0,
              "write at {}: a piece of {} bytes at {}", offset, piece.size(),
              static_cast<const void*>(piece.data()));
    size += piece.size();
    if (!piece.empty()) parts.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
  }
  if (file_.read_only())
    co_return fail(Errc::kReadOnly, "write " + file_.path() + ": opened read-only");
  if (!in_range(offset, size)) co_return out_of_range("write", offset, size);
  co_await depth_.acquire();
  const Place place(*this);
  DiskRequest write = request(durability == Durability::kDurable ? DiskRequest::Kind::kWriteDurable
                                                                 : DiskRequest::Kind::kWrite);
  write.offset = offset;
  Remainder left{parts.data(), parts.size()};
  int retries = 0;
  while (left.count > 0) {
    write.pieces = left.first;
    write.pieces_count = static_cast<unsigned>(std::min<std::size_t>(left.count, IOV_MAX));
    const int result = co_await perform(*engine_, write);
    write.offset += progress(result);
    left.advance(progress(result));
    if (progress(result) > 0 || worth_repeating(result, retries)) continue;
    const int error_number = result < 0 ? -result : EIO;
    co_return std::unexpected(disk_error(error_number, "write", file_.path(), offset, size));
  }
  co_return Result<void>();
}

Task<Result<void>> RealDisk::sync() {
  if (file_.read_only()) co_return Result<void>();
  const Result<void> done = co_await finish(request(DiskRequest::Kind::kSync), "fdatasync");
  co_return done;
}

Task<Result<void>> RealDisk::allocate(std::uint64_t offset, std::uint64_t size) {
  if (file_.read_only())
    co_return fail(Errc::kReadOnly, "allocate " + file_.path() + ": opened read-only");
  if (!in_range(offset, size)) co_return out_of_range("allocate", offset, size);
  // On a block device fallocate would zero the range, and every block is allocated already.
  if (file_.is_block_device() || size == 0) co_return Result<void>();
  DiskRequest reserve = request(DiskRequest::Kind::kAllocate);
  reserve.offset = offset;
  reserve.size = size;
  const Result<void> done = co_await finish(reserve, "fallocate");
  co_return done;
}

Task<Result<void>> RealDisk::discard(std::uint64_t offset, std::uint64_t size) {
  INVARIANT(offset % kSectorSize == 0 && size % kSectorSize == 0, "discard at {}, {} bytes", offset,
            size);
  if (file_.read_only())
    co_return fail(Errc::kReadOnly, "discard " + file_.path() + ": opened read-only");
  if (!in_range(offset, size)) co_return out_of_range("discard", offset, size);
  if (file_.is_block_device()) co_return fail(Errc::kUnsupported, "discard " + file_.path());
  if (size == 0) co_return Result<void>();
  DiskRequest punch = request(DiskRequest::Kind::kDiscard);
  punch.offset = offset;
  punch.size = size;
  const Result<void> done = co_await finish(punch, "punch a hole in");
  co_return done;
}

std::shared_ptr<const DiskReader> RealDisk::reader() {
  auto again = file_.reopen();
  return again ? std::make_shared<FileReader>(std::move(*again)) : nullptr;
}

Task<Result<void>> RealDisk::finish(DiskRequest request, const char* operation) {
  co_await depth_.acquire();
  const Place place(*this);
  int retries = 0;
  int result = 0;
  do {
    result = co_await perform(*engine_, request);
  } while (worth_repeating(result, retries));
  const bool optional = request.kind == DiskRequest::Kind::kAllocate;
  if (result >= 0 || (optional && result == -EOPNOTSUPP)) co_return Result<void>();
  if (request.kind == DiskRequest::Kind::kDiscard && result == -EOPNOTSUPP) {
    co_return fail(Errc::kUnsupported, fmt::format("{} {}", operation, file_.path()));
  }
  co_return std::unexpected(
      disk_error(-result, operation, file_.path(), request.offset, request.size));
}

Task<Result<std::unique_ptr<Disk>>> RealDiskStore::open(std::string path, DiskOptions options) {
  INVARIANT(lane_.on_this_thread(), "{} is opened from another thread than its lane's", path);
  CO_TRY(DiskFile file, DiskFile::open(path, options));
  if (!engine_) {
    engine_ =
        lane_.uring() != nullptr ? make_uring_disk_engine(lane_) : make_thread_disk_engine(lane_);
  }
  co_return std::make_unique<RealDisk>(lane_, engine_, std::move(file));
}

}  // namespace moraine
