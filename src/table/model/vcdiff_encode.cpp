#include "table/model/limits.h"
#include "table/model/vcdiff.h"
#include "table/model/vcdiff_codes.h"

namespace moraine::table {
namespace {

using Piece = VcdiffPieces::Piece;

// Magic, version, and no flags.
constexpr std::string_view kHeader("\xd6\xc3\xc4\0\0", 5);
constexpr char kWindowSource = 1;
constexpr char kWindowChecksum = 4;
constexpr char kNotCompressed = 0;

void append_integer(std::string& out, std::uint32_t value) {
  int shift = 0;
  while (shift < 28 && value >> (shift + 7) != 0) shift += 7;
  for (; shift > 0; shift -= 7) out += static_cast<char>(0x80 | (value >> shift & 0x7f));
  out += static_cast<char>(value & 0x7f);
}

// The range of the source that is copied from.
struct Segment {
  std::uint32_t begin = 0;
  std::uint32_t size = 0;
};

Segment segment_of(const VcdiffPieces& pieces) {
  std::uint32_t begin = ~std::uint32_t{0};
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < pieces.count(); ++i) {
    const Piece piece = pieces[i];
    if (piece.kind != VcdiffKind::kSource) continue;
    begin = std::min(begin, piece.at);
    end = std::max(end, piece.at + piece.size);
  }
  return end == 0 ? Segment{} : Segment{begin, end - begin};
}

class WindowWriter {
 public:
  WindowWriter(const Vcdiff& patch, Segment segment) : patch_(patch), segment_(segment) {}

  void put(const Piece& piece) {
    switch (piece.kind) {
      case VcdiffKind::kLiteral:
        add(std::string_view(patch_.literals).substr(piece.at, piece.size));
        break;
      case VcdiffKind::kRun:
        codes_ += static_cast<char>(kVcdiffRunCode);
        append_integer(codes_, piece.size);
        data_ += static_cast<char>(piece.at);
        break;
      case VcdiffKind::kSource: copy(piece.at - segment_.begin, piece); break;
      case VcdiffKind::kTarget: copy(segment_.size + piece.at, piece); break;
    }
  }
  std::size_t bytes() const { return data_.size() + codes_.size() + addresses_.size(); }

  std::string finish() const {
    std::string delta;
    append_integer(delta, patch_.pieces.size());
    delta += kNotCompressed;
    for (const std::string* part : {&data_, &codes_, &addresses_}) {
      append_integer(delta, static_cast<std::uint32_t>(part->size()));
    }
    if (patch_.checksum) {
      for (int shift = 24; shift >= 0; shift -= 8) {
        delta += static_cast<char>(*patch_.checksum >> shift & 0xff);
      }
    }
    delta.append(data_).append(codes_).append(addresses_);

    std::string out(kHeader);
    out += static_cast<char>((segment_.size != 0 ? kWindowSource : 0) |
                             (patch_.checksum ? kWindowChecksum : 0));
    if (segment_.size != 0) {
      append_integer(out, segment_.size);
      append_integer(out, segment_.begin);
    }
    append_integer(out, static_cast<std::uint32_t>(delta.size()));
    return out + delta;
  }

 private:
  void add(std::string_view text) {
    const auto size = static_cast<std::uint32_t>(text.size());
    if (size <= kVcdiffAddSizeMax) {
      codes_ += static_cast<char>(kVcdiffAddCode + size);
    } else {
      codes_ += static_cast<char>(kVcdiffAddCode);
      append_integer(codes_, size);
    }
    data_ += text;
  }
  void copy(std::uint32_t address, const Piece& piece) {
    const std::uint8_t mode = put_address(address, segment_.size + piece.begin);
    const std::uint32_t code = kVcdiffCopyCode + mode * kVcdiffCopyCodes;
    if (piece.size >= kVcdiffCopySizeMin && piece.size <= kVcdiffCopySizeMax) {
      codes_ += static_cast<char>(code + 1 + piece.size - kVcdiffCopySizeMin);
    } else {
      codes_ += static_cast<char>(code);
      append_integer(codes_, piece.size);
    }
  }
  // Chooses the mode that takes the fewest bytes.
  std::uint8_t put_address(std::uint32_t address, std::uint32_t here) {
    std::uint8_t mode = kVcdiffSelfMode;
    std::uint32_t number = address;
    const auto offer = [&](std::size_t other, std::uint32_t candidate) {
      if (candidate >= number) return;
      number = candidate;
      mode = static_cast<std::uint8_t>(other);
    };
    offer(kVcdiffHereMode, here - address);
    for (std::size_t i = 0; i < kVcdiffNearCount; ++i) {
      if (address >= recent_.near(i)) offer(kVcdiffNearMode + i, address - recent_.near(i));
    }
    const std::uint32_t slot = address % kVcdiffSameSlots;
    if (number > 0x7f && recent_.same(slot) == address) {
      mode = static_cast<std::uint8_t>(kVcdiffSameMode + slot / 256);
      addresses_ += static_cast<char>(slot % 256);
    } else {
      append_integer(addresses_, number);
    }
    recent_.add(address);
    return mode;
  }

  const Vcdiff& patch_;
  const Segment segment_;
  VcdiffAddresses recent_;
  std::string data_;
  std::string codes_;
  std::string addresses_;
};

}  // namespace

Result<std::string> encode_vcdiff(const Vcdiff& patch) {
  WindowWriter writer(patch, segment_of(patch.pieces));
  for (std::size_t i = 0; i < patch.pieces.count(); ++i) {
    writer.put(patch.pieces[i]);
    if (writer.bytes() > kValueBytesMax) break;
  }
  if (writer.bytes() <= kValueBytesMax) {
    std::string out = writer.finish();
    if (out.size() <= kValueBytesMax) return out;
  }
  return fail(Errc::kNoSpace, "VCDIFF patch: too large: the patch");
}

}  // namespace moraine::table
