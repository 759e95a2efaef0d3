#include "table/model/vcdiff.h"

#include "table/model/adler32.h"

namespace moraine::table {
namespace {

using Piece = VcdiffPieces::Piece;

std::unexpected<Error> too_large() {
  return fail(Errc::kNoSpace, "VCDIFF patches: too large: the number of their pieces");
}

// A copy that overlaps its own output repeats it.
void copy_within(std::string& text, std::uint32_t at, std::uint32_t size) {
  while (size > 0) {
    const auto there = static_cast<std::uint32_t>(text.size() - at);
    const std::uint32_t take = std::min(size, there);
    text.append(text, at, take);
    size -= take;
  }
}

// The source position of a piece's bytes after the first `skip`.
std::uint32_t at_of(const Piece& piece, std::uint32_t skip) {
  return piece.kind == VcdiffKind::kRun ? piece.at : piece.at + skip;
}

class Composer {
 public:
  Composer(const Vcdiff& earlier, const Vcdiff& later) : earlier_(earlier), later_(later) {}

  Result<Vcdiff> run() {
    for (std::size_t i = 0; i < later_.pieces.count(); ++i) {
      const Piece piece = later_.pieces[i];
      if (piece.kind == VcdiffKind::kSource) {
        if (piece.at + piece.size > earlier_.pieces.size()) {
          return fail(Errc::kCorrupt,
                      "VCDIFF patches: the later one copies bytes beyond its source");
        }
        if (!put_middle(piece)) return too_large();
      } else if (!put(piece, later_.literals, 0, piece.size)) {
        return too_large();
      }
    }
    out_.checksum = later_.checksum;
    return std::move(out_);
  }

 private:
  // Part of a piece that needs no translation.
  bool put(const Piece& piece, const std::string& literals, std::uint32_t skip,
           std::uint32_t size) {
    std::uint32_t at = at_of(piece, skip);
    if (piece.kind == VcdiffKind::kLiteral) {
      const auto literal = static_cast<std::uint32_t>(out_.literals.size());
      out_.literals.append(literals, at, size);
      at = literal;
    }
    return out_.pieces.append(piece.kind, at, size);
  }

  // Translates what the later patch copies from the middle text (the earlier patch's target) with
  // the earlier patch.
  bool put_middle(const Piece& copy) {
    const std::uint32_t end = copy.at + copy.size;
    std::uint32_t at = copy.at;
    for (std::size_t i = earlier_.pieces.find(at); at < end; ++i) {
      const Piece piece = earlier_.pieces[i];
      const std::uint32_t skip = at - piece.begin;
      const std::uint32_t size = std::min(piece.size - skip, end - at);
      const bool done = piece.kind == VcdiffKind::kTarget
                            ? put_repeat(copy, piece, skip, size)
                            : put(piece, earlier_.literals, skip, size);
      if (!done) return false;
      at += size;
    }
    return true;
  }

  // Bytes of a middle piece that repeats others. Those of them within the same copy are already in
  // the new target.
  bool put_repeat(const Piece& copy, const Piece& piece, std::uint32_t skip, std::uint32_t size) {
    std::uint32_t origin = piece.at + skip;
    if (origin < copy.at) {
      const std::uint32_t before = std::min(size, copy.at - origin);
      const std::uint32_t period = piece.begin - piece.at;
      if (!put_plain(piece.at + skip % period, before)) return false;
      origin += before;
      size -= before;
    }
    if (size == 0) return true;
    return out_.pieces.append(VcdiffKind::kTarget, copy.begin + (origin - copy.at), size);
  }

  // Bytes of the middle without references into it.
  bool put_plain(std::uint32_t at, std::uint32_t size) {
    if (!make_plain(at + size)) return false;
    for (std::size_t i = plain_.find(at); size > 0; ++i) {
      const Piece piece = plain_[i];
      const std::uint32_t skip = at - piece.begin;
      const std::uint32_t take = std::min(size, piece.size - skip);
      if (!put(piece, earlier_.literals, skip, take)) return false;
      at += take;
      size -= take;
    }
    return true;
  }

  // Resolves pieces of the earlier patch up to `end`: repeats are replaced by what they repeat.
  bool make_plain(std::uint32_t end) {
    while (plain_.size() < end) {
      const Piece piece = earlier_.pieces[plain_next_];
      const std::uint32_t skip = plain_.size() - piece.begin;
      const std::uint32_t size = std::min(piece.size - skip, end - plain_.size());
      const std::uint32_t at = at_of(piece, skip);
      const bool done = piece.kind == VcdiffKind::kTarget ? repeat_plain(at, size)
                                                          : plain_.append(piece.kind, at, size);
      if (!done) return false;
      if (skip + size == piece.size) ++plain_next_;
    }
    return true;
  }
  bool repeat_plain(std::uint32_t at, std::uint32_t size) {
    std::size_t i = plain_.find(at);
    while (size > 0) {
      // A copy, since the last piece may grow while it is repeated.
      const Piece piece = plain_[i];
      const std::uint32_t skip = at - piece.begin;
      if (skip == piece.size) {
        ++i;
        continue;
      }
      const std::uint32_t take = std::min(size, piece.size - skip);
      if (!plain_.append(piece.kind, at_of(piece, skip), take)) return false;
      at += take;
      size -= take;
    }
    return true;
  }

  const Vcdiff& earlier_;
  const Vcdiff& later_;
  VcdiffPieces plain_;          // Built as far as needed.
  std::size_t plain_next_ = 0;  // The first piece that is not completely in plain_.
  Vcdiff out_;
};

}  // namespace

Result<std::string> apply_vcdiff(const Vcdiff& patch, std::string_view source) {
  std::string out;
  out.reserve(patch.pieces.size());
  for (std::size_t i = 0; i < patch.pieces.count(); ++i) {
    const Piece piece = patch.pieces[i];
    switch (piece.kind) {
      case VcdiffKind::kLiteral: out.append(patch.literals, piece.at, piece.size); break;
      case VcdiffKind::kRun: out.append(piece.size, static_cast<char>(piece.at)); break;
      case VcdiffKind::kSource:
        if (piece.at + piece.size > source.size()) {
          return fail(Errc::kCorrupt, "VCDIFF patch: copies bytes beyond the source");
        }
        out.append(source.substr(piece.at, piece.size));
        break;
      case VcdiffKind::kTarget: copy_within(out, piece.at, piece.size); break;
    }
  }
  if (patch.checksum && adler32(out) != *patch.checksum) {
    return fail(Errc::kCorrupt, "VCDIFF patch: the target does not match its checksum");
  }
  return out;
}

Result<Vcdiff> compose_vcdiff(const Vcdiff& earlier, const Vcdiff& later) {
  return Composer(earlier, later).run();
}

}  // namespace moraine::table
