// Verifier: reads back what must exist by the truth, and compares every byte.
//
// Promise    A reply that may improve later (ERROR, DEADLINE) is retried until `patience` has
//            passed; then the blob counts as lost.
// Threading  One executor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "blob/proxy/proxy.h"
#include "crash/truth.h"
#include "io/executor.h"

namespace moraine::crash {

struct VerifyCounts {
  std::uint64_t verified = 0;  // Stored blobs read back byte for byte.
  std::uint64_t lost = 0;
  std::uint64_t doubt_there = 0;
  std::uint64_t doubt_absent = 0;
  std::uint64_t collected = 0;  // Checked to be removed.
  std::vector<std::string> reports;
};

class Verifier {
 public:
  Verifier(Executor& executor, blob::Proxy& proxy, Duration patience)
      : executor_(executor), proxy_(proxy), patience_(patience) {}

  // Checks the blobs of the tablet that were put in round `since` and later, and `sample` older
  // ones.
  Task<void> check_stored(TabletTruth& tablet, std::uint32_t since, std::size_t sample,
                          Random& random);
  Task<void> settle_doubts(TabletTruth& tablet);
  Task<void> check_gone(TabletTruth& tablet);

  VerifyCounts& counts() { return counts_; }

 private:
  // The result for one id: kOk with the right bytes, kNoData, kCorrupted (other bytes), or the last
  // failure.
  struct Verdict {
    blob::BlobId id;
    blob::Status status = blob::Status::kError;
    std::string reason;
  };
  using Verdicts = std::vector<Verdict>;

  Task<Verdicts> look(std::vector<blob::BlobId> ids, bool must_restore, blob::Status wanted);
  Task<Verdicts> read_once(std::vector<blob::BlobId> ids, bool must_restore);
  void lose(const Verdict& verdict, const char* expected);

  Executor& executor_;
  blob::Proxy& proxy_;
  const Duration patience_;
  VerifyCounts counts_;
};

}  // namespace moraine::crash
