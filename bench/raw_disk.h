// RawFiles: the disk without Moraine: prefilled files, then O_DIRECT reads and durable writes
// (O_DIRECT and RWF_DSYNC) as fast as the operating system executes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "bench/measure.h"

namespace moraine::bench {

enum class RawEngine : std::uint8_t { kUring, kThreads };

class RawFiles {
 public:
  // Opens existing files for reading.
  static Result<RawFiles> open(const std::vector<std::string>& paths);
  // Creates files of `bytes` each, with every block written and synced.
  static Result<RawFiles> create(const std::vector<std::string>& paths, std::uint64_t bytes);
  RawFiles(RawFiles&& other) noexcept;
  RawFiles& operator=(RawFiles&&) = delete;
  ~RawFiles();

  struct Plan {
    RawEngine engine = RawEngine::kUring;
    std::uint32_t size = 0;   // Of one operation.
    std::uint32_t depth = 0;  // In flight, over all files.
    std::uint64_t count = 0;
    // Reads only: offsets are drawn from the first `extent` bytes of a file.
    std::uint64_t extent = 0;
  };
  // Sequential in each file, the files in turn; continues where the last call ended and wraps.
  Result<Round> write_durably(const Plan& plan);
  Result<Round> read_randomly(const Plan& plan);

 private:
  struct Operation {
    int fd = -1;
    std::uint64_t offset = 0;
    bool write = false;
  };

  RawFiles() = default;
  Operation next_write(std::uint32_t size);
  Operation next_read(const Plan& plan);
  Result<Round> run(const Plan& plan, const std::vector<Operation>& operations);
  Result<Round> run_uring(const Plan& plan, const std::vector<Operation>& operations);
  Result<Round> run_threads(const Plan& plan, const std::vector<Operation>& operations);

  std::vector<int> fds_;
  std::uint64_t bytes_ = 0;  // Of each file.
  std::uint64_t written_ = 0;
  std::uint64_t random_ = 0x9e3779b97f4a7c15;
};

// Incompressible bytes, different for each seed.
Slice random_bytes(std::size_t size, std::uint64_t seed);

}  // namespace moraine::bench
