// TestOwner: the smallest owner of device records, a map from names to data. For tests.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/coding.h"
#include "blob/device/device.h"
#include "io/random.h"

namespace moraine::blob {

// Bytes that depend on the seed.
inline Slice bytes_of(std::uint64_t seed, std::size_t size) {
  SeededRandom random(seed);
  Buffer buffer(size);
  for (std::byte& b : buffer.span()) b = static_cast<std::byte>(random.next());
  return std::move(buffer).freeze();
}

class TestOwner final : public DeviceOwner {
 public:
  static constexpr std::uint8_t kSet = 1;
  static constexpr std::uint8_t kErase = 2;

  TestOwner(Device& device, OwnerSlot slot) : device_(device), slot_(slot) {}

  static Device::OwnerFactory factory() {
    return [](Device& device, OwnerSlot slot) { return std::make_shared<TestOwner>(device, slot); };
  }

  Task<Result<void>> set(std::string name, Slice data) {
    co_return co_await write(std::move(name), std::move(data), AppendClass::kOrdinary);
  }
  Task<Result<void>> erase(std::string name) {
    SmallBytes header(as_bytes(name));
    CO_TRY(const Location location, co_await device_.append(slot_, kErase, header, Slice()));
    (void)location;
    drop(name);
    co_return Result<void>();
  }
  Task<Result<Slice>> get(std::string name) {
    const auto found = names_.find(name);
    if (found == names_.end()) co_return fail(Errc::kNotFound, name);
    const Location location = found->second;
    co_return co_await device_.read(location, 0, location.size);
  }
  Task<Result<Slice>> get_range(std::string name, std::uint32_t shift, std::uint32_t size) {
    co_return co_await device_.read(names_.at(name), shift, size);
  }
  const std::map<std::string, Location>& names() const { return names_; }
  bool lost() const { return lost_; }
  // A fault of this owner: visit_live() leaves out the data of this name.
  void hide(std::string name) { hidden_ = std::move(name); }

  Result<void> restore(ByteSpan chunk) override {
    Decoder decoder(chunk);
    const std::uint32_t count = decoder.count(20);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::string name(as_text(decoder.sized()));
      Location location;
      location.segment = decoder.u32();
      location.offset = decoder.u32();
      location.size = decoder.u32();
      location.crc = decoder.u32();
      take(name, location, false);
    }
    if (!decoder.finished()) return fail(Errc::kCorrupt, "chunk");
    return {};
  }
  Result<void> replay(std::uint8_t kind, ByteSpan inline_bytes, const Location& data) override {
    const std::string name(as_text(inline_bytes));
    if (kind == kSet) take(name, data, false);
    if (kind == kErase) drop(name);
    return {};
  }
  void recovered(bool lost) override { lost_ = lost; }
  void failed(const Error&) override {}

  Task<Result<void>> checkpoint(CheckpointSink& sink) override {
    std::string after;
    bool first = true;
    for (;;) {
      Encoder body;
      std::uint32_t count = 0;
      auto at = first ? names_.begin() : names_.upper_bound(after);
      for (; at != names_.end() && body.size() < 2048; ++at, ++count) {
        const Location& l = at->second;
        body.sized(at->first).u32(l.segment).u32(l.offset).u32(l.size).u32(l.crc);
        after = at->first;
      }
      first = false;
      if (count == 0) co_return Result<void>();
      Encoder chunk;
      chunk.u32(count).raw(body.span());
      CO_TRY_VOID(co_await sink.write(chunk.slice()));
    }
  }
  Task<void> visit_live(LiveMap& map) override {
    std::optional<std::string> after;
    for (;;) {
      auto at = after ? names_.upper_bound(*after) : names_.begin();
      for (int n = 0; at != names_.end() && n < 4; ++at, ++n) {
        if (at->first != hidden_) map.add(at->second);
        after = at->first;
      }
      if (at == names_.end()) co_return;
      co_await yield(device_.world().executor);
    }
  }
  Task<Result<void>> evacuate(const SegmentSet& segments) override {
    std::vector<std::string> moving;
    for (const auto& [name, location] : names_) {
      if (segments[location.segment]) moving.push_back(name);
    }
    // Several at once, so that small records share batches.
    Result<void> outcome;
    for (std::size_t at = 0; at < moving.size() && outcome;) {
      TaskScope moves;
      for (int n = 0; n < kMovesMax && at < moving.size(); ++n) {
        moves.spawn(move(moving[at++], outcome));
      }
      co_await moves.join();
    }
    co_return outcome;
  }

 private:
  static constexpr int kMovesMax = 32;

  Task<void> move(std::string name, Result<void>& outcome) {
    const auto found = names_.find(name);
    if (found == names_.end()) co_return;
    const Location location = found->second;
    auto data = co_await device_.read(location, 0, location.size);
    if (!data) outcome = std::unexpected(data.error());
    const auto again = names_.find(name);
    if (!data || again == names_.end() || !(again->second == location)) co_return;
    SmallBytes header(as_bytes(name));
    const auto moved =
        co_await device_.append(slot_, kSet, header, *data, AppendClass::kMaintenance);
    if (!moved) {
      outcome = std::unexpected(moved.error());
      co_return;
    }
    const auto now = names_.find(name);
    if (now != names_.end() && now->second == location) {
      take(name, *moved, true);
    } else {
      device_.segments().drop_live(*moved);
    }
  }
  Task<Result<void>> write(std::string name, Slice data, AppendClass append_class) {
    SmallBytes header(as_bytes(name));
    CO_TRY(const Location location,
           co_await device_.append(slot_, kSet, header, std::move(data), append_class));
    take(name, location, true);
    co_return Result<void>();
  }
  void take(const std::string& name, const Location& location, bool counted) {
    if (!counted) device_.segments().add_live(location);
    drop(name);
    names_[name] = location;
  }
  void drop(const std::string& name) {
    const auto found = names_.find(name);
    if (found == names_.end()) return;
    device_.segments().drop_live(found->second);
    names_.erase(found);
  }

  Device& device_;
  OwnerSlot slot_;
  std::map<std::string, Location> names_;
  bool lost_ = false;
  std::string hidden_;
};

}  // namespace moraine::blob
