#include "gateway/yt/coding.h"

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "base/invariant.h"

namespace moraine::yt {
namespace {

constexpr int kZlibLevel = 3;
constexpr int kBrotliQuality = 3;
constexpr int kBrotliWindow = 18;
constexpr int kGzipWindow = 15 + 16;
constexpr int kEitherWindow = 15 + 32;

// zlib does not change what it reads.
Bytef* input_of(const void* bytes) {
  return const_cast<Bytef*>(static_cast<const Bytef*>(bytes));
}

class IdentityDecoder final : public Decoder {
 public:
  void feed(ByteSpan bytes) override { rest_ = as_text(bytes); }
  Result<std::string> pull() override {
    std::string piece(rest_.substr(0, kCodingPieceBytes));
    rest_.remove_prefix(piece.size());
    return piece;
  }
  Result<void> finish() override { return {}; }

 private:
  std::string_view rest_;
};

class ZlibDecoder final : public Decoder {
 public:
  ZlibDecoder() { INVARIANT(inflateInit2(&stream_, kEitherWindow) == Z_OK, "zlib has no memory"); }
  ZlibDecoder(const ZlibDecoder&) = delete;
  ZlibDecoder& operator=(const ZlibDecoder&) = delete;
  ~ZlibDecoder() override { inflateEnd(&stream_); }

  void feed(ByteSpan bytes) override {
    stream_.next_in = input_of(bytes.data());
    stream_.avail_in = static_cast<uInt>(bytes.size());
  }
  Result<std::string> pull() override {
    std::string out;
    while (out.empty() && (stream_.avail_in > 0 || more_)) {
      // Members of gzip may follow each other.
      if (ended_ && inflateReset(&stream_) != Z_OK) return broken();
      ended_ = false;
      const uInt had = stream_.avail_in;
      out.resize(kCodingPieceBytes);
      stream_.next_out = input_of(out.data());
      stream_.avail_out = static_cast<uInt>(out.size());
      const int status = inflate(&stream_, Z_NO_FLUSH);
      out.resize(out.size() - stream_.avail_out);
      if (status != Z_STREAM_END && status != Z_OK && status != Z_BUF_ERROR) return broken();
      begun_ = true;
      ended_ = status == Z_STREAM_END;
      more_ = !ended_ && stream_.avail_out == 0;
      if (stream_.avail_in == had && out.empty()) break;
    }
    return out;
  }
  Result<void> finish() override {
    if (!begun_ || ended_) return {};
    return fail(Errc::kInvalidArgument, "the compressed body ends too early");
  }

 private:
  std::unexpected<Error> broken() const {
    return fail(Errc::kInvalidArgument, "the body is neither gzip nor zlib, or is damaged");
  }

  z_stream stream_{};
  bool begun_ = false;
  bool ended_ = false;
  bool more_ = false;  // Output may be left although all input was taken.
};

class BrotliDecoder final : public Decoder {
 public:
  explicit BrotliDecoder(http::AnswerBudget& budget)
      : room_(budget), state_(BrotliDecoderCreateInstance(allocate, release, this)) {}
  BrotliDecoder(const BrotliDecoder&) = delete;
  BrotliDecoder& operator=(const BrotliDecoder&) = delete;
  ~BrotliDecoder() override {
    if (state_ != nullptr) BrotliDecoderDestroyInstance(state_);
  }

  void feed(ByteSpan bytes) override {
    in_ = reinterpret_cast<const std::uint8_t*>(bytes.data());
    left_ = bytes.size();
    begun_ = begun_ || !bytes.empty();
  }
  Result<std::string> pull() override {
    if (state_ == nullptr) return no_memory();
    std::string out(kCodingPieceBytes, '\0');
    auto* to = reinterpret_cast<std::uint8_t*>(out.data());
    std::size_t room = out.size();
    const BrotliDecoderResult status =
        BrotliDecoderDecompressStream(state_, &left_, &in_, &room, &to, nullptr);
    if (refused_) return no_memory();
    if (status == BROTLI_DECODER_RESULT_ERROR ||
        (status == BROTLI_DECODER_RESULT_SUCCESS && left_ > 0)) {
      return fail(Errc::kInvalidArgument, "the body is not brotli, or is damaged");
    }
    out.resize(out.size() - room);
    return out;
  }
  Result<void> finish() override {
    if (!begun_ || state_ == nullptr || BrotliDecoderIsFinished(state_)) return {};
    return fail(Errc::kInvalidArgument, "the compressed body ends too early");
  }

 private:
  // Before each piece of memory is its size.
  static constexpr std::size_t kSizeBytes = alignof(std::max_align_t);

  static void* allocate(void* decoder, std::size_t size) {
    auto& self = *static_cast<BrotliDecoder*>(decoder);
    if (!self.room_.try_set(self.room_.bytes() + size)) {
      self.refused_ = true;
      return nullptr;
    }
    auto* const memory = static_cast<std::byte*>(::operator new(size + kSizeBytes));
    std::memcpy(memory, &size, sizeof size);
    return memory + kSizeBytes;
  }
  static void release(void* decoder, void* address) {
    if (address == nullptr) return;
    auto* const memory = static_cast<std::byte*>(address) - kSizeBytes;
    std::size_t size = 0;
    std::memcpy(&size, memory, sizeof size);
    ::operator delete(memory);
    http::AnswerRoom& room = static_cast<BrotliDecoder*>(decoder)->room_;
    room.set(room.bytes() - size);
  }
  static std::unexpected<Error> no_memory() {
    return fail(Errc::kOverloaded,
                "Requests of all clients take the memory that there is for them; retry later, or "
                "without Content-Encoding");
  }

  http::AnswerRoom room_;
  bool refused_ = false;
  BrotliDecoderState* const state_;
  const std::uint8_t* in_ = nullptr;
  std::size_t left_ = 0;
  bool begun_ = false;
};

class ZlibEncoder final : public Encoder {
 public:
  explicit ZlibEncoder(int window) {
    INVARIANT(deflateInit2(&stream_, kZlibLevel, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK,
              "zlib has no memory");
  }
  ZlibEncoder(const ZlibEncoder&) = delete;
  ZlibEncoder& operator=(const ZlibEncoder&) = delete;
  ~ZlibEncoder() override { deflateEnd(&stream_); }

  std::string encode(std::string_view bytes, bool last) override {
    std::string out;
    stream_.next_in = input_of(bytes.data());
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      const std::size_t begun = out.size();
      out.resize(begun + kCodingPieceBytes);
      stream_.next_out = input_of(out.data() + begun);
      stream_.avail_out = kCodingPieceBytes;
      deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      out.resize(out.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
    return out;
  }

 private:
  z_stream stream_{};
};

class BrotliEncoder final : public Encoder {
 public:
  BrotliEncoder() : state_(BrotliEncoderCreateInstance(nullptr, nullptr, nullptr)) {
    INVARIANT(state_ != nullptr, "brotli has no memory");
    BrotliEncoderSetParameter(state_, BROTLI_PARAM_QUALITY, kBrotliQuality);
    BrotliEncoderSetParameter(state_, BROTLI_PARAM_LGWIN, kBrotliWindow);
  }
  BrotliEncoder(const BrotliEncoder&) = delete;
  BrotliEncoder& operator=(const BrotliEncoder&) = delete;
  ~BrotliEncoder() override { BrotliEncoderDestroyInstance(state_); }

  std::string encode(std::string_view bytes, bool last) override {
    std::string out;
    const auto* in = reinterpret_cast<const std::uint8_t*>(bytes.data());
    std::size_t left = bytes.size();
    std::string piece(kCodingPieceBytes, '\0');
    do {
      auto* to = reinterpret_cast<std::uint8_t*>(piece.data());
      std::size_t room = piece.size();
      BrotliEncoderCompressStream(state_, last ? BROTLI_OPERATION_FINISH : BROTLI_OPERATION_PROCESS,
                                  &left, &in, &room, &to, nullptr);
      out.append(piece.data(), piece.size() - room);
    } while (left > 0 || BrotliEncoderHasMoreOutput(state_));
    return out;
  }

 private:
  BrotliEncoderState* const state_;
};

class IdentityEncoder final : public Encoder {
 public:
  std::string encode(std::string_view bytes, bool) override { return std::string(bytes); }
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view to_string(Coding coding) {
  switch (coding) {
    case Coding::kIdentity: return "identity";
    case Coding::kGzip: return "gzip";
    case Coding::kDeflate: return "deflate";
    case Coding::kBrotli: return "br";
  }
  return "identity";
}

std::optional<Coding> parse_coding(std::string_view name) {
  name = trimmed(name);
  if (name.empty()) return Coding::kIdentity;
  for (const Coding coding :
       {Coding::kIdentity, Coding::kGzip, Coding::kDeflate, Coding::kBrotli}) {
    if (name == to_string(coding)) return coding;
  }
  return std::nullopt;
}

std::optional<Coding> choose_coding(std::string_view accepted) {
  if (trimmed(accepted).empty()) return Coding::kIdentity;
  while (!accepted.empty()) {
    const std::size_t end = std::min(accepted.find(','), accepted.size());
    std::string_view word = accepted.substr(0, end);
    accepted.remove_prefix(std::min(end + 1, accepted.size()));
    const std::size_t weight = std::min(word.find(';'), word.size());
    const std::string_view quality = trimmed(word.substr(std::min(weight + 1, word.size())));
    const std::string_view name = trimmed(word.substr(0, weight));
    if (name.empty() || quality == "q=0" || quality == "q=0.0") continue;
    if (name == "*") return Coding::kIdentity;
    if (const auto coding = parse_coding(name)) return coding;
  }
  return std::nullopt;
}

std::unique_ptr<Decoder> make_decoder(Coding coding, http::AnswerBudget& budget) {
  switch (coding) {
    case Coding::kIdentity: break;
    case Coding::kGzip:
    case Coding::kDeflate: return std::make_unique<ZlibDecoder>();
    case Coding::kBrotli: return std::make_unique<BrotliDecoder>(budget);
  }
  return std::make_unique<IdentityDecoder>();
}

std::unique_ptr<Encoder> make_encoder(Coding coding) {
  switch (coding) {
    case Coding::kIdentity: break;
    case Coding::kGzip: return std::make_unique<ZlibEncoder>(kGzipWindow);
    case Coding::kDeflate: return std::make_unique<ZlibEncoder>(15);
    case Coding::kBrotli: return std::make_unique<BrotliEncoder>();
  }
  return std::make_unique<IdentityEncoder>();
}

std::size_t encoder_bytes(Coding coding) {
  switch (coding) {
    case Coding::kIdentity: return 0;
    case Coding::kGzip:
    case Coding::kDeflate: return std::size_t{300} << 10;
    case Coding::kBrotli: return std::size_t{2} << 20;
  }
  return 0;
}

}  // namespace moraine::yt
