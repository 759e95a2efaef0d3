#include "table/chunk/codec.h"

#include <fmt/format.h>
#include <lz4.h>
#include <lz4hc.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <charconv>
#include <cstring>

#include "base/invariant.h"

namespace moraine::table {
namespace {

constexpr unsigned kZstdLevelMax = 21;
constexpr unsigned kZlibLevelMax = 9;

const char* text(ByteSpan bytes) {
  return reinterpret_cast<const char*>(bytes.data());
}
char* text(MutableByteSpan bytes) {
  return reinterpret_cast<char*>(bytes.data());
}

std::optional<Codec> levelled(CodecKind kind, std::string_view digits, unsigned level_max) {
  unsigned level = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (level == 0 || level > level_max || digits.front() == '0') return std::nullopt;
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
  if (kind > CodecKind::kSnappy) {
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
