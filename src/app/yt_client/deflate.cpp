#include "app/yt_client/deflate.h"

#include <zlib.h>

#include "base/invariant.h"

namespace moraine::app {
namespace {

constexpr int kGzipWindow = 15 + 16;
constexpr int kAnyWindow = 15 + 32;  // gzip or zlib, as the first bytes say.
constexpr int kMemoryLevel = 8;

Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

}  // namespace

struct GzipBody::State {
  z_stream stream{};
  std::string out;
  bool source_ended = false;
  bool ended = false;
};

GzipBody::GzipBody(BodySource& source) : source_(source) {
  reset();
}

GzipBody::~GzipBody() {
  deflateEnd(&state_->stream);
}

void GzipBody::reset() {
  if (state_) deflateEnd(&state_->stream);
  state_ = std::make_unique<State>();
  const int code = deflateInit2(&state_->stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow,
                                kMemoryLevel, Z_DEFAULT_STRATEGY);
  INVARIANT(code == Z_OK, "zlib cannot be initialised: {}", code);
}

Result<std::string_view> GzipBody::next() {
  State& state = *state_;
  state.out.resize(kBodyPieceBytes);
  state.stream.next_out = bytes_of(state.out);
  state.stream.avail_out = static_cast<uInt>(state.out.size());
  while (!state.ended && state.stream.avail_out > 0) {
    if (state.stream.avail_in == 0 && !state.source_ended) {
      TRY(const std::string_view piece, source_.next());
      state.source_ended = piece.empty();
      state.stream.next_in = bytes_of(piece);
      state.stream.avail_in = static_cast<uInt>(piece.size());
    }
    const int code = deflate(&state.stream, state.source_ended ? Z_FINISH : Z_NO_FLUSH);
    INVARIANT(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR, "zlib: {}", code);
    state.ended = code == Z_STREAM_END;
  }
  return std::string_view(state.out.data(), state.out.size() - state.stream.avail_out);
}

bool GzipBody::rewind() {
  if (!source_.rewind()) return false;
  reset();
  return true;
}

struct Gunzip::State {
  z_stream stream{};
  std::string out;
  bool ended = false;
};

Gunzip::Gunzip() : state_(std::make_unique<State>()) {
  const int code = inflateInit2(&state_->stream, kAnyWindow);
  INVARIANT(code == Z_OK, "zlib cannot be initialised: {}", code);
}

Gunzip::~Gunzip() {
  inflateEnd(&state_->stream);
}

Result<void> Gunzip::feed(std::string_view piece, const BodySink& sink) {
  State& state = *state_;
  state.stream.next_in = bytes_of(piece);
  state.stream.avail_in = static_cast<uInt>(piece.size());
  bool more = true;
  while (more) {
    if (state.ended && state.stream.avail_in > 0) {  // Another member of the stream.
      inflateReset(&state.stream);
      state.ended = false;
    }
    state.out.resize(kBodyPieceBytes);
    state.stream.next_out = bytes_of(state.out);
    state.stream.avail_out = static_cast<uInt>(state.out.size());
    const int code = inflate(&state.stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      return fail(Errc::kCorrupt, "the answer is not what its Content-Encoding says");
    }
    state.ended = code == Z_STREAM_END;
    TRY_VOID(sink(std::string_view(state.out.data(), state.out.size() - state.stream.avail_out)));
    more = state.stream.avail_in > 0 || (state.stream.avail_out == 0 && !state.ended);
  }
  return {};
}

Result<void> Gunzip::finish() const {
  if (!state_->ended) return fail(Errc::kCorrupt, "the compressed answer is cut off");
  return {};
}

}  // namespace moraine::app
