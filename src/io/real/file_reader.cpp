#include "io/real/file_reader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/invariant.h"

namespace moraine {
namespace {

// Retries after EINTR or EAGAIN before a read fails.
constexpr int kReadRetriesMax = 100;

}  // namespace

Result<Slice> FileReader::read(std::uint64_t offset, std::size_t size) const {
  INVARIANT(offset % kSectorSize == 0 && size % kSectorSize == 0, "read at {}, {} bytes", offset,
            size);
  if (offset > file_.size() || size > file_.size() - offset) {
    return fail(Errc::kInvalidArgument, fmt::format("read {} at {}, {} bytes: past the end at {}",
                                                    file_.path(), offset, size, file_.size()));
  }
  Buffer buffer(size);
  int retries = 0;
  for (std::size_t done = 0; done < size;) {
    const ssize_t got =
        ::pread(file_.fd(), buffer.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && (errno == EINTR || errno == EAGAIN) && ++retries <= kReadRetriesMax) continue;
    if (got < 0) return std::unexpected(disk_error(errno, "read", file_.path(), offset, size));
    // With O_DIRECT only whole sectors count.
    const std::size_t counted = file_.direct()
                                    ? align_down(static_cast<std::size_t>(got), kSectorSize)
                                    : static_cast<std::size_t>(got);
    if (counted == 0) {
      return fail(Errc::kIo, fmt::format("read {} at {}, {} bytes: the file ends at byte {}",
                                         file_.path(), offset, size, offset + done));
    }
    done += counted;
  }
  return std::move(buffer).freeze();
}

}  // namespace moraine
