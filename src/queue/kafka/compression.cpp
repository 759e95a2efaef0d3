#include "queue/kafka/compression.h"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <lz4frame.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/invariant.h"
#include "queue/kafka/reader.h"

namespace moraine::kafka {
namespace {

constexpr std::size_t kFirstOutputBytes = 16 << 10;
// The first output is this many times as long as the input: mostly it suffices.
constexpr std::size_t kFirstOutputRatio = 6;
constexpr std::size_t kFirstOutputMax = std::size_t{8} << 20;
// A context of more bytes is not kept: a frame may require a window of many megabytes.
constexpr std::size_t kKeptContextBytes = std::size_t{4} << 20;
constexpr int kGzipWindow = 15 + 16;  // The largest window, with a gzip header.
constexpr int kLz4Level = 0;
constexpr int kZstdLevel = 3;

constexpr std::array<std::uint8_t, 8> kXerialMagic{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
constexpr std::size_t kXerialHeaderBytes = 16;
constexpr std::size_t kXerialBlockBytes = 32 << 10;
// A snappy element of 3 bytes decompresses to at most 64.
constexpr std::size_t kSnappyRatioMax = 22;

// Output that doubles as it fills. It has one byte more than the limit, to distinguish the limit
// from more.
class Output {
 public:
  explicit Output(std::size_t size_max, std::size_t packed_bytes = 0)
      : limit_(size_max + 1),
        first_(std::clamp(packed_bytes * kFirstOutputRatio, kFirstOutputBytes, kFirstOutputMax)) {}

  // Free memory after the used part, at least `wanted` bytes unless the limit is near.
  MutableByteSpan room(std::size_t wanted = 1) {
    if (memory_.size() - used_ < wanted && memory_.size() < limit_) {
      const std::size_t target = std::max({first_, 2 * memory_.size(), used_ + wanted});
      Buffer larger(std::min(limit_, target));
      if (used_ > 0) std::memcpy(larger.data(), memory_.data(), used_);
      memory_ = std::move(larger);
    }
    return memory_.span().subspan(used_);
  }
  void take(std::size_t size) { used_ += size; }
  bool over() const { return used_ >= limit_; }

  Checked<Slice> finish() && {
    if (over()) return too_large();
    return std::move(memory_).freeze().sub(0, used_);
  }
  std::unexpected<Refusal> too_large() const {
    return refuse(ErrorCode::kMessageTooLarge,
                  fmt::format("a batch is over {} bytes without compression", limit_ - 1));
  }

 private:
  const std::size_t limit_;
  const std::size_t first_;
  Buffer memory_;
  std::size_t used_ = 0;
};

std::unexpected<Refusal> corrupt(Compression codec, std::string_view why) {
  return refuse(ErrorCode::kCorruptMessage, fmt::format("{}: {}", to_string(codec), why));
}

const char* chars(ByteSpan bytes) {
  return reinterpret_cast<const char*>(bytes.data());
}

// --- gzip ----------------------------------------------------------------------------------------

Bytef* zlib_bytes(const std::byte* bytes) {
  return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes));
}

std::string_view inflate_error(int status) {
  switch (status) {
    case ISAL_INVALID_WRAPPER: return "a header is malformed";
    case ISAL_UNSUPPORTED_METHOD: return "a member is not deflated";
    case ISAL_INCORRECT_CHECKSUM: return "a checksum does not hold";
    default: return "a block is malformed";
  }
}

// ISA-L inflates about three times as fast as zlib. Its state is kept by the thread: it is large.
Checked<Slice> gunzip(ByteSpan packed, std::size_t size_max) {
  thread_local const auto state = std::make_unique<inflate_state>();
  const auto begin_member = [] {
    isal_inflate_reset(state.get());
    state->crc_flag = ISAL_GZIP;
  };
  isal_inflate_init(state.get());
  state->next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(packed.data()));
  state->avail_in = static_cast<std::uint32_t>(packed.size());
  begin_member();
  // ISA-L checks the checksum of a member, but not the size behind it.
  std::size_t bytes_of_member = 0;
  const auto size_holds = [&] {
    const std::byte* const end = packed.data() + (packed.size() - state->avail_in);
    return load<std::uint32_t>(end - sizeof(std::uint32_t)) ==
           static_cast<std::uint32_t>(bytes_of_member);
  };
  Output output(size_max, packed.size());
  while (!output.over()) {
    const MutableByteSpan room = output.room();
    state->next_out = reinterpret_cast<std::uint8_t*>(room.data());
    state->avail_out = static_cast<std::uint32_t>(room.size());
    const int status = isal_inflate(state.get());
    if (status != ISAL_DECOMP_OK) return corrupt(Compression::kGzip, inflate_error(status));
    output.take(room.size() - state->avail_out);
    bytes_of_member += room.size() - state->avail_out;
    if (state->block_state == ISAL_BLOCK_FINISH) {
      if (!size_holds()) return corrupt(Compression::kGzip, "the size of a member does not hold");
      bytes_of_member = 0;
      if (state->avail_in == 0) return std::move(output).finish();
      begin_member();
    } else if (state->avail_out > 0 && state->avail_in == 0) {
      return corrupt(Compression::kGzip, "the end is missing");
    }
  }
  return output.too_large();
}

Slice gzip(ByteSpan plain, int level) {
  z_stream stream{};
  const int opened = deflateInit2(&stream, level, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY);
  INVARIANT(opened == Z_OK, "deflateInit2 gives {}", opened);
  Buffer packed(deflateBound(&stream, plain.size()));
  stream.next_in = zlib_bytes(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = zlib_bytes(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  INVARIANT(status == Z_STREAM_END, "deflate gives {}", status);
  const std::size_t size = packed.size() - stream.avail_out;
  deflateEnd(&stream);
  return std::move(packed).freeze().sub(0, size);
}

// --- snappy --------------------------------------------------------------------------------------

// Appends one raw block; a Refusal or nothing.
Checked<void> unsnap_block(ByteSpan block, Output& output) {
  std::size_t size = 0;
  if (snappy_uncompressed_length(chars(block), block.size(), &size) != SNAPPY_OK ||
      size / kSnappyRatioMax > block.size()) {
    return corrupt(Compression::kSnappy, "a block's length is wrong");
  }
  const MutableByteSpan room = output.room(size);
  if (room.size() < size) return output.too_large();
  if (snappy_uncompress(chars(block), block.size(), reinterpret_cast<char*>(room.data()), &size) !=
      SNAPPY_OK) {
    return corrupt(Compression::kSnappy, "a block is malformed");
  }
  output.take(size);
  return {};
}

Checked<Slice> unsnap(ByteSpan packed, std::size_t size_max) {
  Output output(size_max);
  if (packed.size() < kXerialHeaderBytes ||
      std::memcmp(packed.data(), kXerialMagic.data(), kXerialMagic.size()) != 0) {
    if (auto done = unsnap_block(packed, output); !done) return std::unexpected(done.error());
    return std::move(output).finish();
  }
  Reader reader(packed.subspan(kXerialHeaderBytes));
  while (reader.remaining() > 0) {
    const auto size = reader.fixed<std::int32_t>();
    const ByteSpan block = reader.raw(size < 0 ? packed.size() : static_cast<std::size_t>(size));
    if (reader.failed()) return corrupt(Compression::kSnappy, "a block is short");
    if (auto done = unsnap_block(block, output); !done) return std::unexpected(done.error());
  }
  return std::move(output).finish();
}

Slice snap(ByteSpan plain) {
  const std::size_t blocks = (plain.size() + kXerialBlockBytes - 1) / kXerialBlockBytes;
  Buffer packed(kXerialHeaderBytes +
                blocks * (sizeof(std::int32_t) + snappy_max_compressed_length(kXerialBlockBytes)));
  std::memcpy(packed.data(), kXerialMagic.data(), kXerialMagic.size());
  store_big(packed.data() + 8, std::int32_t{1});
  store_big(packed.data() + 12, std::int32_t{1});
  std::size_t at = kXerialHeaderBytes;
  for (std::size_t from = 0; from < plain.size(); from += kXerialBlockBytes) {
    const ByteSpan block = plain.subspan(from, std::min(kXerialBlockBytes, plain.size() - from));
    std::size_t size = packed.size() - at - sizeof(std::int32_t);
    const auto status =
        snappy_compress(chars(block), block.size(),
                        reinterpret_cast<char*>(packed.data() + at + sizeof(std::int32_t)), &size);
    INVARIANT(status == SNAPPY_OK, "snappy_compress gives {}", static_cast<int>(status));
    store_big(packed.data() + at, static_cast<std::int32_t>(size));
    at += sizeof(std::int32_t) + size;
  }
  return std::move(packed).freeze().sub(0, at);
}

// --- lz4 -----------------------------------------------------------------------------------------

struct Lz4Free {
  void operator()(LZ4F_dctx* context) const { LZ4F_freeDecompressionContext(context); }
};

using Lz4Context = std::unique_ptr<LZ4F_dctx, Lz4Free>;

Lz4Context make_lz4_context() {
  LZ4F_dctx* context = nullptr;
  const std::size_t opened = LZ4F_createDecompressionContext(&context, LZ4F_VERSION);
  INVARIANT(!LZ4F_isError(opened), "no lz4 context: {}", LZ4F_getErrorName(opened));
  return Lz4Context(context);
}

Checked<Slice> unlz4(ByteSpan packed, std::size_t size_max) {
  thread_local const Lz4Context context = make_lz4_context();
  LZ4F_resetDecompressionContext(context.get());
  Output output(size_max, packed.size());
  std::size_t at = 0;
  while (!output.over()) {
    const MutableByteSpan room = output.room();
    std::size_t given = room.size();
    std::size_t taken = packed.size() - at;
    const std::size_t hint =
        LZ4F_decompress(context.get(), room.data(), &given, packed.data() + at, &taken, nullptr);
    if (LZ4F_isError(hint)) return corrupt(Compression::kLz4, LZ4F_getErrorName(hint));
    output.take(given);
    at += taken;
    if (hint == 0 && at == packed.size()) return std::move(output).finish();
    if (given == 0 && taken == 0) return corrupt(Compression::kLz4, "the end is missing");
  }
  return output.too_large();
}

Slice lz4(ByteSpan plain, int level) {
  LZ4F_preferences_t preferences{};
  preferences.compressionLevel = level;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  Buffer packed(LZ4F_compressFrameBound(plain.size(), &preferences));
  const std::size_t size =
      LZ4F_compressFrame(packed.data(), packed.size(), plain.data(), plain.size(), &preferences);
  INVARIANT(!LZ4F_isError(size), "LZ4F_compressFrame: {}", LZ4F_getErrorName(size));
  return std::move(packed).freeze().sub(0, size);
}

// --- zstd ----------------------------------------------------------------------------------------

struct ZstdFree {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

using ZstdContext = std::unique_ptr<ZSTD_DCtx, ZstdFree>;

Checked<Slice> unzstd_with(ZSTD_DCtx& context, ByteSpan packed, std::size_t size_max) {
  Output output(size_max, packed.size());
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  while (!output.over()) {
    const MutableByteSpan room = output.room();
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    const std::size_t before = in.pos;
    const std::size_t hint = ZSTD_decompressStream(&context, &out, &in);
    if (ZSTD_isError(hint)) return corrupt(Compression::kZstd, ZSTD_getErrorName(hint));
    output.take(out.pos);
    if (hint == 0 && in.pos == in.size) return std::move(output).finish();
    if (out.pos == 0 && in.pos == before) return corrupt(Compression::kZstd, "the end is missing");
  }
  return output.too_large();
}

// A new context and its window cost more than a small batch: the thread keeps one.
Checked<Slice> unzstd(ByteSpan packed, std::size_t size_max) {
  thread_local ZstdContext kept;
  if (!kept) kept.reset(ZSTD_createDCtx());
  INVARIANT(kept != nullptr, "no zstd context");
  ZSTD_DCtx_reset(kept.get(), ZSTD_reset_session_only);
  auto plain = unzstd_with(*kept, packed, size_max);
  if (ZSTD_sizeof_DCtx(kept.get()) > kKeptContextBytes) kept.reset();
  return plain;
}

Slice zstd(ByteSpan plain, int level) {
  Buffer packed(ZSTD_compressBound(plain.size()));
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), level);
  INVARIANT(!ZSTD_isError(size), "ZSTD_compress: {}", ZSTD_getErrorName(size));
  return std::move(packed).freeze().sub(0, size);
}

}  // namespace

std::string_view to_string(Compression codec) {
  switch (codec) {
    case Compression::kNone: return "none";
    case Compression::kGzip: return "gzip";
    case Compression::kSnappy: return "snappy";
    case Compression::kLz4: return "lz4";
    case Compression::kZstd: return "zstd";
  }
  return "unknown";
}

Checked<Slice> decompress(Compression codec, const Slice& packed, std::size_t size_max) {
  switch (codec) {
    case Compression::kNone:
      if (packed.size() > size_max) return Output(size_max).too_large();
      return packed;
    case Compression::kGzip: return gunzip(packed, size_max);
    case Compression::kSnappy: return unsnap(packed, size_max);
    case Compression::kLz4: return unlz4(packed, size_max);
    case Compression::kZstd: return unzstd(packed, size_max);
  }
  return refuse(ErrorCode::kUnsupportedCompressionType,
                fmt::format("codec {}", static_cast<int>(codec)));
}

Slice compress(Compression codec, ByteSpan plain, std::optional<int> level) {
  switch (codec) {
    case Compression::kNone: break;
    case Compression::kGzip: return gzip(plain, level.value_or(Z_DEFAULT_COMPRESSION));
    case Compression::kSnappy: return snap(plain);
    case Compression::kLz4: return lz4(plain, level.value_or(kLz4Level));
    case Compression::kZstd: return zstd(plain, level.value_or(kZstdLevel));
  }
  return Slice::copy_of(plain);
}

}  // namespace moraine::kafka
