// VCDIFF patches and xdelta states for tests, written independently of the tested code.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "io/random.h"
#include "table/model/xdelta.h"

namespace moraine::table {

// Writes windows with explicit sizes and addresses.
class PatchWriter {
 public:
  PatchWriter() : patch_("\xd6\xc3\xc4\0\0", 5) {}

  void add(std::string_view text) {
    codes_ += '\x01' + integer(text.size());
    data_ += text;
    made_ += text.size();
  }
  void run(char byte, std::size_t size) {
    codes_ += '\0' + integer(size);
    data_ += byte;
    made_ += size;
  }
  void copy(std::size_t address, std::size_t size) {
    codes_ += '\x13' + integer(size);
    addresses_ += integer(address);
    made_ += size;
  }
  // Ends a window. flags: 1 = with a segment of the source, 2 = of the target.
  void finish_window(char flags, std::size_t segment_begin, std::size_t segment_size) {
    patch_ += flags;
    if (flags != 0) patch_ += integer(segment_size) + integer(segment_begin);
    const std::string delta = integer(made_) + '\0' + integer(data_.size()) +
                              integer(codes_.size()) + integer(addresses_.size()) + data_ + codes_ +
                              addresses_;
    patch_ += integer(delta.size()) + delta;
    data_.clear();
    codes_.clear();
    addresses_.clear();
    made_ = 0;
  }
  const std::string& patch() const { return patch_; }

  static std::string integer(std::size_t value) {
    std::string out(1, static_cast<char>(value & 0x7f));
    for (value >>= 7; value != 0; value >>= 7) {
      out.insert(out.begin(), static_cast<char>(0x80 | (value & 0x7f)));
    }
    return out;
  }

 private:
  std::string patch_;
  std::string data_;
  std::string codes_;
  std::string addresses_;
  std::size_t made_ = 0;
};

// Keeps the common prefix and suffix of the two.
inline std::string patch_between(std::string_view from, std::string_view to) {
  const std::size_t least = std::min(from.size(), to.size());
  std::size_t head = 0;
  while (head < least && from[head] == to[head]) ++head;
  std::size_t tail = 0;
  while (tail < least - head && from[from.size() - 1 - tail] == to[to.size() - 1 - tail]) ++tail;
  PatchWriter writer;
  if (head != 0) writer.copy(0, head);
  if (to.size() != head + tail) writer.add(to.substr(head, to.size() - head - tail));
  if (tail != 0) writer.copy(from.size() - tail, tail);
  writer.finish_window(from.empty() ? '\0' : '\x01', 0, from.size());
  return writer.patch();
}

inline std::string base_state(std::string_view text) {
  return write_xdelta({.type = XdeltaType::kBase, .data = text});
}
inline std::string patch_state(std::string_view from, std::string_view to, std::string_view patch) {
  return write_xdelta({.type = XdeltaType::kPatch,
                       .base_hash = xdelta_hash(from),
                       .state_hash = xdelta_hash(to),
                       .state_size = static_cast<std::uint32_t>(to.size()),
                       .data = patch});
}
inline std::string patch_state(std::string_view from, std::string_view to) {
  return patch_state(from, to, patch_between(from, to));
}

struct RandomPatch {
  std::string patch;
  std::string target;
};

// Some windows of random instructions; the target is built byte by byte.
inline RandomPatch random_patch(Random& random, std::string_view source) {
  PatchWriter writer;
  std::string target;
  for (std::uint64_t windows = random.below(4); windows > 0; --windows) {
    const std::size_t begin = target.size();
    const auto flags = static_cast<char>(random.below(3));
    const std::string whole = flags == 1 ? std::string(source) : flags == 2 ? target : "";
    const std::size_t from = random.below(whole.size() + 1);
    std::string known = whole.substr(from, random.below(whole.size() - from + 1));
    const std::size_t segment = known.size();
    for (std::uint64_t steps = random.below(12); steps > 0; --steps) {
      const std::uint64_t size = 1 + random.below(random.one_in(4) ? 40 : 8);
      const std::uint64_t choice = random.below(8);
      if (choice >= 2 && !known.empty()) {
        const std::size_t at = random.below(known.size());
        writer.copy(at, size);
        for (std::size_t i = 0; i < size; ++i) known += known[at + i];
      } else if (choice == 1) {
        const auto byte = static_cast<char>(random.below(256));
        writer.run(byte, size);
        known.append(size, byte);
      } else {
        std::string text(size, '\0');
        for (char& c : text) c = static_cast<char>('a' + random.below(26));
        writer.add(text);
        known += text;
      }
    }
    writer.finish_window(flags, from, segment);
    target.resize(begin);
    target += known.substr(segment);
  }
  return {writer.patch(), std::move(target)};
}

}  // namespace moraine::table
