#include "blob/group/config.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <map>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/invariant.h"
#include "blob/group/quorum.h"

namespace moraine::blob {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kQuotedTextMax = 80;

std::unexpected<Error> corrupt(std::string why) {
  return fail(Errc::kCorrupt, "group config: " + std::move(why));
}

std::string printed(const DiskAddress& address) {
  return fmt::format("node {} device {} slot {}", address.node.value, address.device, address.slot);
}

struct Field {
  std::string_view name;
  int base;
  std::uint32_t max;
};
// In the order of the string form.
constexpr std::array<Field, 5> kFields{{
    {"group", 16, ~std::uint32_t{0}},
    {"generation", 10, ~std::uint32_t{0}},
    {"realm", 10, 255},
    {"domain", 10, 255},
    {"vdisk", 10, 255},
}};

Result<std::uint32_t> parse_field(std::string_view text, const Field& field) {
  const auto refuse = [&](std::string_view why) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} {:?} {}", field.name, text.substr(0, kQuotedTextMax), why));
  };
  if (text.size() > 1 && text.front() == '0') return refuse("has a leading zero");
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, field.base);
  if (error == std::errc::result_out_of_range) return refuse("is too large");
  if (error != std::errc{} || rest != end) {
    return refuse(field.base == 16 ? "is not a hex number" : "is not a decimal number");
  }
  if (value > field.max) return refuse("is too large");
  return value;
}

Result<Species> species_of(std::uint8_t code) {
  switch (static_cast<Species>(code)) {
    case Species::kNone:
    case Species::kBlock42:
    case Species::kMirror3dc: return static_cast<Species>(code);
  }
  return corrupt(fmt::format("species {} is unknown", code));
}

}  // namespace

std::string VDiskId::to_string() const {
  return fmt::format("[{:x}:{}:{}:{}:{}]", group.value, generation, at.realm, at.domain, at.vdisk);
}

Result<VDiskId> VDiskId::parse(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return fail(Errc::kInvalidArgument,
                fmt::format("vdisk id {:?}: {}", text.substr(0, kQuotedTextMax), why));
  };
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    return refuse("is not in brackets");
  }
  std::array<std::uint32_t, kFields.size()> values{};
  std::string_view rest = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    const std::size_t colon = rest.find(':');
    const bool last = i + 1 == kFields.size();
    if (last != (colon == std::string_view::npos)) return refuse("does not have five fields");
    auto value = parse_field(rest.substr(0, colon), kFields[i]);
    if (!value) return refuse(value.error().context);
    values[i] = *value;
    if (!last) rest.remove_prefix(colon + 1);
  }
  const Coordinates at{static_cast<std::uint8_t>(values[2]), static_cast<std::uint8_t>(values[3]),
                       static_cast<std::uint8_t>(values[4])};
  return VDiskId{GroupId{values[0]}, values[1], at};
}

VDiskId GroupConfig::vdisk(std::uint32_t order) const {
  return {id, generation, geometry.coordinates(order)};
}

bool GroupConfig::operator==(const GroupConfig& other) const {
  return id == other.id && generation == other.generation &&
         geometry.species() == other.geometry.species() &&
         geometry.realms() == other.geometry.realms() &&
         geometry.domains() == other.geometry.domains() &&
         geometry.vdisks() == other.geometry.vdisks() && disks == other.disks;
}

std::uint32_t GroupConfig::digest() const {
  // The last bytes are the checksum of the others.
  const Slice bytes = encode();
  const auto sum = load<std::uint32_t>(bytes.span().data() + bytes.size() - sizeof(std::uint32_t));
  return sum == 0 ? 1 : sum;
}

bool contradict(const GroupConfig& a, const GroupConfig& b) {
  return a.id == b.id && a.generation == b.generation && !(a == b);
}

std::string contradiction(const GroupConfig& ours, const GroupConfig& theirs) {
  std::string differs = "its shape";
  for (std::size_t order = 0; order < std::min(ours.disks.size(), theirs.disks.size()); ++order) {
    if (ours.disks[order] == theirs.disks[order]) continue;
    differs = fmt::format("disk {} at {} here and at {} there", order, printed(ours.disks[order]),
                          printed(theirs.disks[order]));
    break;
  }
  return fmt::format(
      "group {:x} has two configs of generation {} that differ ({}): give all nodes the same "
      "config; the move of one disk makes the next generation",
      ours.id.value, ours.generation, differs);
}

Result<void> check_change(const GroupConfig& known, const GroupConfig& newer) {
  const auto refuse = [&](std::string why) {
    return fail(Errc::kConflict,
                fmt::format("group {:x} cannot change from generation {} to {}: {}", newer.id.value,
                            known.generation, newer.generation, std::move(why)));
  };
  if (known.disks.size() != newer.disks.size()) return refuse("its shape would change");
  DiskSet changed = 0;
  std::string where;
  for (std::uint32_t order = 0; order < known.disks.size(); ++order) {
    const DiskAddress& before = known.disks[order];
    const DiskAddress& after = newer.disks[order];
    if (before == after) continue;
    if (changed == 0) {
      where = fmt::format("disk {} from {} to {}", order, printed(before), printed(after));
    }
    changed |= disk_bit(order);
  }
  if (changed == 0) return {};
  if (known.disks.size() == 1) {
    return refuse(fmt::format("it would move {}, and there is no other copy of its data", where));
  }
  const bool next = newer.generation == known.generation + 1;
  const int count = std::popcount(changed);
  if (next ? count == 1 : tolerated(known.geometry, changed)) return {};
  return refuse(
      fmt::format("it would move {} disks at once (first {}): undo the moves, then move one disk "
                  "per generation and wait until it is replicated",
                  count, where));
}

Slice GroupConfig::encode() const {
  INVARIANT(disks.size() == geometry.disks(), "group {:x} has {} disks in a shape of {}", id.value,
            disks.size(), geometry.disks());
  Encoder to;
  to.u8(kVersion).u32(id.value).u32(generation);
  to.u8(static_cast<std::uint8_t>(geometry.species()));
  to.u8(static_cast<std::uint8_t>(geometry.realms()));
  to.u8(static_cast<std::uint8_t>(geometry.domains()));
  to.u8(static_cast<std::uint8_t>(geometry.vdisks()));
  for (const DiskAddress& disk : disks) to.u32(disk.node.value).u32(disk.device).u32(disk.slot);
  to.u32(crc32c(to.span()));
  return to.slice();
}

Result<GroupConfig> GroupConfig::decode(ByteSpan bytes) {
  constexpr std::size_t kCrcBytes = sizeof(std::uint32_t);
  if (bytes.size() <= kCrcBytes) return corrupt(fmt::format("only {} bytes", bytes.size()));
  const ByteSpan body = bytes.first(bytes.size() - kCrcBytes);
  Decoder from(body);
  const std::uint8_t version = from.u8();
  if (version != kVersion) return corrupt(fmt::format("version {} is unknown", version));
  if (crc32c(body) != load<std::uint32_t>(body.data() + body.size())) {
    return corrupt("the checksum does not match");
  }
  GroupConfig config;
  config.id.value = from.u32();
  config.generation = from.u32();
  TRY(const Species species, species_of(from.u8()));
  const std::uint8_t realms = from.u8();
  const std::uint8_t domains = from.u8();
  const std::uint8_t vdisks = from.u8();
  if (from.failed()) return corrupt("its header is truncated");
  auto geometry = Geometry::make(species, realms, domains, vdisks);
  if (!geometry) return corrupt(geometry.error().context);
  config.geometry = *geometry;
  config.disks.resize(config.geometry.disks());
  for (DiskAddress& disk : config.disks) {
    disk.node.value = from.u32();
    disk.device = from.u32();
    disk.slot = from.u32();
  }
  if (!from.finished()) {
    return corrupt(fmt::format("{} bytes do not fit {} disks", bytes.size(), config.disks.size()));
  }
  if (auto sound = check(config); !sound) return corrupt(sound.error().context);
  return config;
}

Result<void> check(const GroupConfig& config) {
  const auto refuse = [&](std::string why) {
    return fail(Errc::kInvalidArgument, fmt::format("group {:x}: {}", config.id.value, why));
  };
  if (config.generation == 0) return refuse("generation is 0; the first generation is 1");
  if (config.disks.size() != config.geometry.disks()) {
    return refuse(fmt::format("{} disks, but its shape has {}", config.disks.size(),
                              config.geometry.disks()));
  }
  std::map<DiskAddress, std::size_t> seen;
  for (std::size_t order = 0; order < config.disks.size(); ++order) {
    const auto [known, fresh] = seen.emplace(config.disks[order], order);
    if (!fresh) {
      return refuse(fmt::format("disks {} and {} are both at {}", known->second, order,
                                printed(config.disks[order])));
    }
  }
  return {};
}

}  // namespace moraine::blob
