#include "table/model/adler32.h"
#include "table/model/limits.h"
#include "table/model/vcdiff.h"
#include "table/model/vcdiff_codes.h"

namespace moraine::table {
namespace {

constexpr std::string_view kMagic("\xd6\xc3\xc4\0", 4);  // And the version.
constexpr std::uint8_t kHeaderCompressor = 1;
constexpr std::uint8_t kHeaderCodeTable = 2;
constexpr std::uint8_t kHeaderApplication = 4;
constexpr std::uint8_t kWindowSource = 1;
constexpr std::uint8_t kWindowTarget = 2;
constexpr std::uint8_t kWindowChecksum = 4;
constexpr std::uint64_t kIntegerMax = 0xffff'ffff;

std::unexpected<Error> corrupt(std::string_view why) {
  return fail(Errc::kCorrupt, "VCDIFF patch: " + std::string(why));
}
std::unexpected<Error> too_large(std::string_view what) {
  return fail(Errc::kNoSpace, "VCDIFF patch: too large: " + std::string(what));
}

// After the first short read it stays failed and returns zeros.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
  std::uint8_t byte() {
    if (bytes_.empty()) return set_failed();
    const auto value = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  std::uint32_t integer() {
    std::uint64_t value = 0;
    for (;;) {
      const std::uint8_t next = byte();
      value = value << 7 | (next & 0x7f);
      if (value > kIntegerMax) return set_failed();
      if ((next & 0x80) == 0) return static_cast<std::uint32_t>(value);
    }
  }
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) {
      set_failed();
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::size_t left() const { return bytes_.size(); }
  bool failed() const { return failed_; }
  bool finished() const { return !failed_ && bytes_.empty(); }

 private:
  std::uint8_t set_failed() {
    failed_ = true;
    bytes_ = {};
    return 0;
  }

  std::string_view bytes_;
  bool failed_ = false;
};

struct Window {
  bool from_target = false;  // What the segment is of.
  std::uint32_t segment_begin = 0;
  std::uint32_t segment_size = 0;
  std::uint32_t target_size = 0;
  std::optional<std::uint32_t> checksum;
  std::string_view data;
  std::string_view codes;
  std::string_view addresses;
};

Result<void> read_header(Cursor& in) {
  if (in.take(kMagic.size()) != kMagic) return corrupt("not a VCDIFF patch, or of another version");
  const std::uint8_t flags = in.byte();
  if ((flags & ~(kHeaderCompressor | kHeaderCodeTable | kHeaderApplication)) != 0) {
    return corrupt("unknown flags");
  }
  if ((flags & kHeaderCodeTable) != 0) {
    return fail(Errc::kUnsupported, "VCDIFF patch: own code tables are not supported");
  }
  // Each window states whether it is compressed.
  if ((flags & kHeaderCompressor) != 0) in.byte();
  if ((flags & kHeaderApplication) != 0) in.take(in.integer());
  if (in.failed()) return corrupt("ends in its header");
  return {};
}

Result<void> read_segment(Cursor& in, std::uint8_t flags, std::uint32_t target_so_far,
                          Window& window) {
  window.from_target = (flags & kWindowTarget) != 0;
  window.segment_size = in.integer();
  window.segment_begin = in.integer();
  const std::uint64_t end = std::uint64_t{window.segment_begin} + window.segment_size;
  if (window.from_target && end > target_so_far) return corrupt("a segment outside of the target");
  if (end > kValueBytesMax) return too_large("the source");
  return {};
}

Result<void> read_delta(Cursor in, bool has_checksum, Window& window) {
  window.target_size = in.integer();
  if (in.byte() != 0) {
    return fail(Errc::kUnsupported, "VCDIFF patch: secondary compression is not supported");
  }
  const std::uint32_t data_size = in.integer();
  const std::uint32_t codes_size = in.integer();
  const std::uint32_t addresses_size = in.integer();
  if (has_checksum) {
    std::uint32_t checksum = 0;
    for (int i = 0; i < 4; ++i) checksum = checksum << 8 | in.byte();
    window.checksum = checksum;
  }
  window.data = in.take(data_size);
  window.codes = in.take(codes_size);
  window.addresses = in.take(addresses_size);
  if (!in.finished()) return corrupt("sizes of a window do not fit");
  return {};
}

Result<Window> read_window(Cursor& in, std::uint32_t target_so_far) {
  Window window;
  const std::uint8_t flags = in.byte();
  if ((flags & ~(kWindowSource | kWindowTarget | kWindowChecksum)) != 0 ||
      (flags & (kWindowSource | kWindowTarget)) == (kWindowSource | kWindowTarget)) {
    return corrupt("unknown flags of a window");
  }
  if ((flags & (kWindowSource | kWindowTarget)) != 0) {
    TRY_VOID(read_segment(in, flags, target_so_far, window));
  }
  const std::string_view delta = in.take(in.integer());
  if (in.failed()) return corrupt("ends in a window");
  TRY_VOID(read_delta(Cursor(delta), (flags & kWindowChecksum) != 0, window));
  if (window.target_size > kValueBytesMax - target_so_far) return too_large("the target");
  return window;
}

class WindowReader {
 public:
  WindowReader(const Window& window, Vcdiff& out)
      : window_(window),
        begin_(out.pieces.size()),
        data_(window.data),
        codes_(window.codes),
        addresses_(window.addresses),
        out_(out) {}

  Result<void> run() {
    const VcdiffCodeTable& table = vcdiff_code_table();
    while (codes_.left() != 0) {
      for (const VcdiffCode::Half& half : table[codes_.byte()].halves) {
        if (half.op == VcdiffOp::kNone) continue;
        TRY_VOID(step(half));
      }
    }
    if (made() != window_.target_size || !codes_.finished() || !data_.finished() ||
        !addresses_.finished()) {
      return corrupt("instructions do not fit their window");
    }
    return {};
  }

 private:
  std::uint32_t made() const { return out_.pieces.size() - begin_; }

  Result<void> step(const VcdiffCode::Half& half) {
    const std::uint32_t size = half.size != 0 ? half.size : codes_.integer();
    if (size > window_.target_size - made()) return corrupt("an instruction leaves its window");
    bool fits = false;
    if (half.op == VcdiffOp::kAdd) {
      const std::string_view text = data_.take(size);
      fits = out_.pieces.append(VcdiffKind::kLiteral,
                                static_cast<std::uint32_t>(out_.literals.size()), size);
      out_.literals += text;
    } else if (half.op == VcdiffOp::kRun) {
      fits = out_.pieces.append(VcdiffKind::kRun, data_.byte(), size);
    } else {
      const std::uint32_t here = window_.segment_size + made();
      const std::uint32_t address = read_address(half.mode, here);
      if (address >= here) return corrupt("an address beyond the current position");
      recent_.add(address);
      fits = copy(address, size);
    }
    if (!fits) return too_large("the number of its pieces");
    if (data_.failed()) return corrupt("its data is short");
    return {};
  }

  // At or beyond `here` when the address is invalid.
  std::uint32_t read_address(std::uint8_t mode, std::uint32_t here) {
    if (mode >= kVcdiffSameMode) {
      const std::size_t slot = (mode - kVcdiffSameMode) * std::size_t{256} + addresses_.byte();
      return addresses_.failed() ? here : recent_.same(slot);
    }
    const std::uint64_t number = addresses_.integer();
    if (addresses_.failed()) return here;
    if (mode == kVcdiffHereMode) {
      return static_cast<std::uint32_t>(number <= here ? here - number : here);
    }
    const std::uint32_t from = mode == kVcdiffSelfMode ? 0 : recent_.near(mode - kVcdiffNearMode);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(from + number, here));
  }

  bool copy(std::uint32_t address, std::uint32_t size) {
    std::uint32_t of_segment = 0;
    if (address < window_.segment_size) {
      of_segment = std::min(size, window_.segment_size - address);
      const VcdiffKind kind = window_.from_target ? VcdiffKind::kTarget : VcdiffKind::kSource;
      if (!out_.pieces.append(kind, window_.segment_begin + address, of_segment)) return false;
      address = window_.segment_size;
    }
    return out_.pieces.append(VcdiffKind::kTarget, begin_ + address - window_.segment_size,
                              size - of_segment);
  }

  const Window& window_;
  const std::uint32_t begin_;  // Of the window in the target.
  Cursor data_;
  Cursor codes_;
  Cursor addresses_;
  VcdiffAddresses recent_;
  Vcdiff& out_;
};

}  // namespace

Result<Vcdiff> decode_vcdiff(std::string_view patch) {
  if (patch.size() > kValueBytesMax) return too_large("the patch");
  Cursor in(patch);
  TRY_VOID(read_header(in));
  Vcdiff out;
  std::uint32_t checksum = kAdler32Empty;
  bool has_checksums = in.left() != 0;
  for (std::size_t windows = 0; in.left() != 0; ++windows) {
    if (windows == kVcdiffWindowsMax) return too_large("the number of its windows");
    TRY(const Window window, read_window(in, out.pieces.size()));
    TRY_VOID(WindowReader(window, out).run());
    has_checksums = has_checksums && window.checksum.has_value();
    if (has_checksums) checksum = join_adler32(checksum, *window.checksum, window.target_size);
  }
  if (has_checksums) out.checksum = checksum;
  return out;
}

}  // namespace moraine::table
