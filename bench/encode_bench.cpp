// Splitting blobs into parts against ISA-L alone, on the same blobs.

#include <isa-l/erasure_code.h>

#include <array>

#include "bench/blob_bench.h"
#include "bench/raw_disk.h"
#include "blob/group/erasure.h"

namespace moraine::bench {
namespace {

constexpr std::uint32_t kBlob = 1u << 20;
constexpr int kData = 4;
constexpr int kParity = 2;
constexpr std::size_t kBlobs = 8;

// Writes its parity to the same memory repeatedly: the fastest memory there is.
class Peer {
 public:
  Peer() : parity_(kBlob / kData * kParity) {
    std::array<unsigned char, kData*(kData + kParity)> code{};
    gf_gen_rs_matrix(code.data(), kData + kParity, kData);
    ec_init_tables(kData, kParity, code.data() + kData * kData, tables_.data());
  }

  void encode(const Slice& blob) {
    constexpr int kPart = kBlob / kData;
    std::array<unsigned char*, kData> in{};
    std::array<unsigned char*, kParity> out{};
    auto* from = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(blob.data()));
    for (int i = 0; i < kData; ++i) in[i] = from + i * kPart;
    for (int i = 0; i < kParity; ++i) {
      out[i] = reinterpret_cast<unsigned char*>(parity_.data()) + i * kPart;
    }
    ec_encode_data(kPart, kData, kParity, tables_.data(), in.data(), out.data());
  }

 private:
  std::array<unsigned char, 32 * kData * kParity> tables_{};
  Buffer parity_;
};

template <class Encode>
Round measure(const std::vector<Slice>& blobs, std::uint64_t count, Encode encode) {
  Round round;
  const Stopwatch watch;
  for (std::uint64_t i = 0; i < count; ++i) encode(blobs[i % blobs.size()]);
  round.seconds = watch.seconds();
  round.operations = count;
  round.bytes = count * kBlob;
  return round;
}

}  // namespace

Result<void> bench_encode(const Setting& setting) {
  const std::uint64_t count = setting.quick ? 1'000 : 4'000;
  std::vector<Slice> blobs;
  for (std::size_t i = 0; i < kBlobs; ++i) blobs.push_back(random_bytes(kBlob, i));
  Peer peer;
  Rounds ours;
  Rounds alone;
  for (int i = 0; i < 9; ++i) {
    ours.add(measure(blobs, count,
                     [](const Slice& blob) { return blob::split(blob::Species::kBlock42, blob); }));
    alone.add(measure(blobs, count, [&peer](const Slice& blob) { peer.encode(blob); }));
  }
  Line line{"blob", "encode_block42_1m",    ours.megabytes_per_second(),
            "MB/s", "ISA-L ec_encode_data", alone.megabytes_per_second()};
  line.goal = Goal{Goal::Of::kRatioAtLeast, 0.8};
  setting.report.add(std::move(line));
  return {};
}

}  // namespace moraine::bench
