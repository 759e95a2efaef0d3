#include "table/chunk/codec.h"

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <bzlib.h>
#include <fmt/format.h>
#include <lz4.h>
#include <lz4hc.h>
#include <lzma.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/invariant.h"

namespace moraine::table {
namespace {

constexpr unsigned kZstdLevelMax = 21;
constexpr unsigned kZlibLevelMax = 9;
constexpr unsigned kBrotliLevelMax = 11;
constexpr unsigned kLzmaLevelMax = 9;
constexpr unsigned kBzip2LevelMax = 9;
// More than what unpacking needs of what was packed here: blocks set the size of the dictionary.
constexpr std::uint64_t kLzmaMemoryMax = std::uint64_t{128} << 20;
constexpr std::size_t kBzip2BytesExtra = 600;  // Besides a hundredth of the input.

const char* text(ByteSpan bytes) {
  return reinterpret_cast<const char*>(bytes.data());
}
char* text(MutableByteSpan bytes) {
  return reinterpret_cast<char*>(bytes.data());
}

std::optional<Codec> levelled(CodecKind kind, std::string_view digits, unsigned level_max,
                              unsigned level_min = 1) {
  unsigned level = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  const bool padded = digits.size() > 1 && digits.front() == '0';
  if (level < level_min || level > level_max || padded) return std::nullopt;
  return Codec{kind, static_cast<std::uint8_t>(level)};
}

std::size_t bound(CodecKind kind, std::size_t size) {
  switch (kind) {
    case CodecKind::kNone: return size;
    case CodecKind::kLz4:
    case CodecKind::kLz4High:
      return static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(size)));
    case CodecKind::kZstd: return ZSTD_compressBound(size);
    case CodecKind::kZlib: return compressBound(size);
    case CodecKind::kSnappy: return snappy_max_compressed_length(size);
    case CodecKind::kBrotli: return BrotliEncoderMaxCompressedSize(size);
    case CodecKind::kLzma: return lzma_stream_buffer_bound(size);
    case CodecKind::kBzip2: return size + size / 100 + kBzip2BytesExtra;
  }
  return size;
}

// Contexts are expensive to make; a thread reuses them for its next block.
struct ZstdContexts {
  ZSTD_CCtx* compress = ZSTD_createCCtx();
  ZSTD_DCtx* decompress = ZSTD_createDCtx();
  ~ZstdContexts() {
    ZSTD_freeCCtx(compress);
    ZSTD_freeDCtx(decompress);
  }
};
ZstdContexts& zstd_contexts() {
  thread_local ZstdContexts contexts;
  return contexts;
}

std::size_t compress_lz4(Codec codec, ByteSpan in, MutableByteSpan out) {
  const int in_size = static_cast<int>(in.size());
  const int out_size = static_cast<int>(out.size());
  const int size =
      codec.kind == CodecKind::kLz4
          ? LZ4_compress_default(text(in), text(out), in_size, out_size)
          : LZ4_compress_HC(text(in), text(out), in_size, out_size, LZ4HC_CLEVEL_DEFAULT);
  INVARIANT(size > 0, "lz4 has room for {} bytes", in.size());
  return static_cast<std::size_t>(size);
}

std::size_t compress_brotli(Codec codec, ByteSpan in, MutableByteSpan out) {
  std::size_t size = out.size();
  const auto done =
      BrotliEncoderCompress(codec.level, BROTLI_DEFAULT_WINDOW, BROTLI_DEFAULT_MODE, in.size(),
                            reinterpret_cast<const std::uint8_t*>(in.data()), &size,
                            reinterpret_cast<std::uint8_t*>(out.data()));
  INVARIANT(done == BROTLI_TRUE, "brotli has room for {} bytes", in.size());
  return size;
}

// A dictionary that is larger than the block would only take memory.
std::size_t compress_lzma(Codec codec, ByteSpan in, MutableByteSpan out) {
  lzma_options_lzma options;
  const bool unknown = lzma_lzma_preset(&options, codec.level);
  INVARIANT(!unknown, "lzma level {}", codec.level);
  const auto block = static_cast<std::uint32_t>(in.size());
  options.dict_size = std::clamp<std::uint32_t>(block, LZMA_DICT_SIZE_MIN, options.dict_size);
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  std::size_t size = 0;
  const lzma_ret code = lzma_stream_buffer_encode(
      filters, LZMA_CHECK_NONE, nullptr, reinterpret_cast<const std::uint8_t*>(in.data()),
      in.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size());
  INVARIANT(code == LZMA_OK, "lzma: {}", static_cast<int>(code));
  return size;
}

std::size_t compress_bzip2(Codec codec, ByteSpan in, MutableByteSpan out) {
  auto size = static_cast<unsigned>(out.size());
  const int code = BZ2_bzBuffToBuffCompress(text(out), &size, const_cast<char*>(text(in)),
                                            static_cast<unsigned>(in.size()), codec.level, 0, 0);
  INVARIANT(code == BZ_OK, "bzip2: {}", code);
  return size;
}

std::size_t compress_to(Codec codec, ByteSpan in, MutableByteSpan out) {
  switch (codec.kind) {
    case CodecKind::kNone: std::memcpy(out.data(), in.data(), in.size()); return in.size();
    case CodecKind::kLz4:
    case CodecKind::kLz4High: return compress_lz4(codec, in, out);
    case CodecKind::kZstd: {
      const std::size_t size = ZSTD_compressCCtx(zstd_contexts().compress, out.data(), out.size(),
                                                 in.data(), in.size(), codec.level);
      INVARIANT(ZSTD_isError(size) == 0, "zstd: {}", ZSTD_getErrorName(size));
      return size;
    }
    case CodecKind::kZlib: {
      uLongf size = out.size();
      const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                                 reinterpret_cast<const Bytef*>(in.data()), in.size(), codec.level);
      INVARIANT(code == Z_OK, "zlib: {}", code);
      return size;
    }
    case CodecKind::kSnappy: {
      std::size_t size = out.size();
      const snappy_status status = snappy_compress(text(in), in.size(), text(out), &size);
      INVARIANT(status == SNAPPY_OK, "snappy: {}", static_cast<int>(status));
      return size;
    }
    case CodecKind::kBrotli: return compress_brotli(codec, in, out);
    case CodecKind::kLzma: return compress_lzma(codec, in, out);
    case CodecKind::kBzip2: return compress_bzip2(codec, in, out);
  }
  INVARIANT(false, "codec {}", static_cast<int>(codec.kind));
}

std::size_t decompress_snappy(ByteSpan in, MutableByteSpan out) {
  std::size_t size = 0;
  if (snappy_uncompressed_length(text(in), in.size(), &size) != SNAPPY_OK) return ~std::size_t{0};
  if (size != out.size()) return ~std::size_t{0};
  if (snappy_uncompress(text(in), in.size(), text(out), &size) != SNAPPY_OK) return ~std::size_t{0};
  return size;
}

std::size_t decompress_brotli(ByteSpan in, MutableByteSpan out) {
  std::size_t size = out.size();
  const auto result =
      BrotliDecoderDecompress(in.size(), reinterpret_cast<const std::uint8_t*>(in.data()), &size,
                              reinterpret_cast<std::uint8_t*>(out.data()));
  return result == BROTLI_DECODER_RESULT_SUCCESS ? size : ~std::size_t{0};
}

std::size_t decompress_lzma(ByteSpan in, MutableByteSpan out) {
  std::uint64_t memory = kLzmaMemoryMax;
  std::size_t read = 0;
  std::size_t size = 0;
  const lzma_ret code = lzma_stream_buffer_decode(
      &memory, 0, nullptr, reinterpret_cast<const std::uint8_t*>(in.data()), &read, in.size(),
      reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size());
  return code == LZMA_OK && read == in.size() ? size : ~std::size_t{0};
}

std::size_t decompress_bzip2(ByteSpan in, MutableByteSpan out) {
  auto size = static_cast<unsigned>(out.size());
  const int code = BZ2_bzBuffToBuffDecompress(text(out), &size, const_cast<char*>(text(in)),
                                              static_cast<unsigned>(in.size()), 0, 0);
  return code == BZ_OK ? size : ~std::size_t{0};
}

// Returns the number of bytes written; differs from out.size() when the input is wrong.
std::size_t decompress_to(CodecKind kind, ByteSpan in, MutableByteSpan out) {
  switch (kind) {
    case CodecKind::kNone:
      if (in.size() == out.size()) std::memcpy(out.data(), in.data(), in.size());
      return in.size();
    case CodecKind::kLz4:
    case CodecKind::kLz4High: {
      const int size = LZ4_decompress_safe(text(in), text(out), static_cast<int>(in.size()),
                                           static_cast<int>(out.size()));
      return size < 0 ? ~std::size_t{0} : static_cast<std::size_t>(size);
    }
    case CodecKind::kZstd:
      return ZSTD_decompressDCtx(zstd_contexts().decompress, out.data(), out.size(), in.data(),
                                 in.size());
    case CodecKind::kZlib: {
      uLongf size = out.size();
      const int code = uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                                  reinterpret_cast<const Bytef*>(in.data()), in.size());
      return code == Z_OK ? size : ~std::size_t{0};
    }
    case CodecKind::kSnappy: return decompress_snappy(in, out);
    case CodecKind::kBrotli: return decompress_brotli(in, out);
    case CodecKind::kLzma: return decompress_lzma(in, out);
    case CodecKind::kBzip2: return decompress_bzip2(in, out);
  }
  return ~std::size_t{0};
}

}  // namespace

std::optional<Codec> parse_codec(std::string_view name) {
  if (name == "none") return Codec{CodecKind::kNone, 0};
  if (name == "lz4") return Codec{CodecKind::kLz4, 0};
  if (name == "lz4_high_compression") return Codec{CodecKind::kLz4High, 0};
  if (name == "snappy") return Codec{CodecKind::kSnappy, 0};
  if (name.starts_with("zstd_")) return levelled(CodecKind::kZstd, name.substr(5), kZstdLevelMax);
  if (name.starts_with("zlib_")) return levelled(CodecKind::kZlib, name.substr(5), kZlibLevelMax);
  if (name.starts_with("brotli_")) {
    return levelled(CodecKind::kBrotli, name.substr(7), kBrotliLevelMax);
  }
  if (name.starts_with("lzma_")) {
    return levelled(CodecKind::kLzma, name.substr(5), kLzmaLevelMax, 0);
  }
  if (name.starts_with("bzip2_")) {
    return levelled(CodecKind::kBzip2, name.substr(6), kBzip2LevelMax);
  }
  return std::nullopt;
}

std::string to_string(Codec codec) {
  switch (codec.kind) {
    case CodecKind::kNone: return "none";
    case CodecKind::kLz4: return "lz4";
    case CodecKind::kLz4High: return "lz4_high_compression";
    case CodecKind::kZstd: return fmt::format("zstd_{}", codec.level);
    case CodecKind::kZlib: return fmt::format("zlib_{}", codec.level);
    case CodecKind::kSnappy: return "snappy";
    case CodecKind::kBrotli: return fmt::format("brotli_{}", codec.level);
    case CodecKind::kLzma: return fmt::format("lzma_{}", codec.level);
    case CodecKind::kBzip2: return fmt::format("bzip2_{}", codec.level);
  }
  return "unknown";
}

Slice compress(Codec codec, ByteSpan bytes) {
  INVARIANT(bytes.size() <= kCodecBytesMax, "{} bytes at once", bytes.size());
  if (bytes.empty()) return {};
  Buffer out(bound(codec.kind, bytes.size()));
  const std::size_t size = compress_to(codec, bytes, out.span());
  return std::move(out).freeze().sub(0, size);
}

Result<Slice> decompress(CodecKind kind, ByteSpan bytes, std::size_t size) {
  if (size > kCodecBytesMax || (kind == CodecKind::kNone && size != bytes.size())) {
    return fail(Errc::kCorrupt, fmt::format("a block of {} bytes", size));
  }
  Buffer out(size);
  if (auto done = decompress_into(kind, bytes, out.span()); !done) {
    return std::unexpected(std::move(done.error()));
  }
  return std::move(out).freeze();
}

Result<void> decompress_into(CodecKind kind, ByteSpan bytes, MutableByteSpan out) {
  if (kind > CodecKind::kBzip2) {
    return fail(Errc::kUnsupported, fmt::format("codec {}", static_cast<int>(kind)));
  }
  if (bytes.size() > kCodecBytesMax || out.size() > kCodecBytesMax) {
    return fail(Errc::kCorrupt, fmt::format("a block of {} bytes", out.size()));
  }
  const std::size_t size = bytes.empty() && out.empty()   ? 0
                           : bytes.empty() || out.empty() ? ~std::size_t{0}
                                                          : decompress_to(kind, bytes, out);
  if (size == out.size()) return {};
  return fail(Errc::kCorrupt, fmt::format("{} bytes of {} do not unpack to {}", bytes.size(),
                                          to_string(Codec{kind, 0}), out.size()));
}

}  // namespace moraine::table
