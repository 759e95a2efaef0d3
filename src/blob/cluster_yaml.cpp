// The YAML form of ClusterConfig. The only file that uses the YAML library: its exceptions are
// caught here.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <sstream>

#include "blob/cluster_config.h"

namespace moraine::blob {
namespace {

constexpr std::size_t kQuotedTextMax = 80;

// One value of the document and its place in it.
class Reader {
 public:
  Reader(YAML::Node node, std::string place) : node_(std::move(node)), place_(std::move(place)) {}

  std::unexpected<Error> wrong(std::string_view why) const {
    const int line = node_.Mark().line;
    const std::string where = line >= 0 ? fmt::format(" (line {})", line + 1) : std::string();
    return fail(Errc::kInvalidArgument,
                fmt::format("{}{}: {}", place_.empty() ? "document" : place_, where, why));
  }

  // Checks that it is a map with no other fields than these, none of them twice.
  Result<void> expect_fields(std::initializer_list<std::string_view> names) const {
    if (!node_.IsMap()) return wrong("is not a map");
    std::vector<std::string> seen;
    for (const auto& entry : node_) {
      if (!entry.first.IsScalar()) return wrong("has a field whose name is not text");
      const std::string& name = entry.first.Scalar();
      if (std::ranges::find(names, std::string_view(name)) == names.end()) {
        return wrong(fmt::format("field {:?} is unknown; known here are {}",
                                 name.substr(0, kQuotedTextMax), fmt::join(names, ", ")));
      }
      if (std::ranges::find(seen, name) != seen.end()) {
        return wrong(fmt::format("field {:?} is repeated", name));
      }
      seen.push_back(name);
    }
    return {};
  }
  bool has(const char* name) const { return node_[name].IsDefined(); }
  Result<Reader> field(const char* name) const {
    YAML::Node value = node_[name];
    if (!value.IsDefined()) return wrong(fmt::format("field {:?} is missing", name));
    return Reader(value, place_.empty() ? name : fmt::format("{}.{}", place_, name));
  }

  Result<std::vector<Reader>> items(std::size_t count_max) const {
    if (!node_.IsSequence()) return wrong("is not a list");
    if (node_.size() > count_max) {
      return wrong(fmt::format("has {} items, over the maximum {}", node_.size(), count_max));
    }
    std::vector<Reader> items;
    for (const YAML::Node& item : node_) {
      items.emplace_back(item, fmt::format("{}[{}]", place_, items.size()));
    }
    return items;
  }

  Result<std::string> text() const {
    if (!node_.IsScalar()) return wrong("is not text");
    return node_.Scalar();
  }
  // Decimal, or hex after 0x.
  Result<std::uint64_t> number(std::uint64_t min, std::uint64_t max) const {
    if (!node_.IsScalar()) return wrong("is not a number");
    const std::string& scalar = node_.Scalar();
    const std::string quoted = fmt::format("{:?}", scalar.substr(0, kQuotedTextMax));
    std::string_view digits = scalar;
    const bool hex = digits.starts_with("0x");
    if (hex) digits.remove_prefix(2);
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, value, hex ? 16 : 10);
    const bool too_large = error == std::errc::result_out_of_range;
    if (!too_large && (error != std::errc{} || rest != end)) {
      return wrong(fmt::format("{} is not a number", quoted));
    }
    if (too_large || value < min || value > max) {
      return wrong(fmt::format("{} is not in {}..{}", quoted, min, max));
    }
    return value;
  }
  Result<std::uint32_t> number32(std::uint32_t min = 0, std::uint32_t max = ~0u) const {
    TRY(const std::uint64_t value, number(min, max));
    return static_cast<std::uint32_t>(value);
  }
  Result<std::uint64_t> size() const {
    TRY(const std::string written, text());
    auto parsed = parse_size(written);
    if (!parsed) return wrong(parsed.error().context);
    return *parsed;
  }

 private:
  YAML::Node node_;
  std::string place_;
};

Result<DeviceConfig> read_device(const Reader& from) {
  TRY_VOID(from.expect_fields({"id", "path", "size", "segment_size"}));
  DeviceConfig device;
  TRY(const Reader id, from.field("id"));
  TRY(device.id, id.number32());
  TRY(const Reader path, from.field("path"));
  TRY(device.path, path.text());
  TRY(const Reader size, from.field("size"));
  TRY(device.size, size.size());
  if (from.has("segment_size")) {
    TRY(const Reader segment_size, from.field("segment_size"));
    TRY(device.segment_size, segment_size.size());
  }
  return device;
}

Result<NodeConfig> read_node(const Reader& from) {
  TRY_VOID(from.expect_fields({"id", "host", "port", "devices"}));
  NodeConfig node;
  TRY(const Reader id, from.field("id"));
  TRY(node.id.value, id.number32(1));
  TRY(const Reader host, from.field("host"));
  TRY(node.host, host.text());
  TRY(const Reader port, from.field("port"));
  TRY(const std::uint32_t number, port.number32(1, 65'535));
  node.port = static_cast<std::uint16_t>(number);
  TRY(const Reader devices, from.field("devices"));
  TRY(const std::vector<Reader> items, devices.items(kNodeDevicesMax));
  for (const Reader& item : items) {
    TRY(DeviceConfig device, read_device(item));
    node.devices.push_back(std::move(device));
  }
  return node;
}

Result<Geometry> read_geometry(const Reader& group) {
  TRY(const Reader erasure, group.field("erasure"));
  TRY(const std::string name, erasure.text());
  const Result<Species> species = parse_species(name);
  if (!species) return erasure.wrong(species.error().context);
  if (!group.has("shape")) return Geometry::standard(*species);
  TRY(const Reader shape, group.field("shape"));
  TRY_VOID(shape.expect_fields({"realms", "domains", "vdisks"}));
  TRY(const Reader realms, shape.field("realms"));
  TRY(const std::uint32_t realm_count, realms.number32(1, kGroupDisksMax));
  TRY(const Reader domains, shape.field("domains"));
  TRY(const std::uint32_t domain_count, domains.number32(1, kGroupDisksMax));
  TRY(const Reader vdisks, shape.field("vdisks"));
  TRY(const std::uint32_t vdisk_count, vdisks.number32(1, kGroupDisksMax));
  auto geometry = Geometry::make(*species, realm_count, domain_count, vdisk_count);
  if (!geometry) return shape.wrong(geometry.error().context);
  return *geometry;
}

Result<DiskAddress> read_disk(const Reader& from) {
  TRY_VOID(from.expect_fields({"node", "device", "slot"}));
  DiskAddress disk;
  TRY(const Reader node, from.field("node"));
  TRY(disk.node.value, node.number32());
  TRY(const Reader device, from.field("device"));
  TRY(disk.device, device.number32());
  TRY(const Reader slot, from.field("slot"));
  TRY(disk.slot, slot.number32());
  return disk;
}

Result<GroupConfig> read_group(const Reader& from) {
  TRY_VOID(from.expect_fields({"id", "generation", "erasure", "shape", "disks"}));
  GroupConfig group;
  TRY(const Reader id, from.field("id"));
  TRY(group.id.value, id.number32());
  TRY(const Reader generation, from.field("generation"));
  TRY(group.generation, generation.number32(1));
  TRY(group.geometry, read_geometry(from));
  TRY(const Reader disks, from.field("disks"));
  TRY(const std::vector<Reader> items, disks.items(kGroupDisksMax));
  if (items.size() != group.geometry.disks()) {
    return disks.wrong(
        fmt::format("has {} disks, but its shape has {}", items.size(), group.geometry.disks()));
  }
  for (const Reader& item : items) {
    TRY(const DiskAddress disk, read_disk(item));
    group.disks.push_back(disk);
  }
  return group;
}

Result<ClusterConfig> read_cluster(const Reader& document) {
  TRY_VOID(document.expect_fields({"cluster", "nodes", "groups"}));
  ClusterConfig config;
  TRY(const Reader cluster, document.field("cluster"));
  TRY_VOID(cluster.expect_fields({"name", "id"}));
  TRY(const Reader name, cluster.field("name"));
  TRY(config.name, name.text());
  if (cluster.has("id")) {
    TRY(const Reader id, cluster.field("id"));
    TRY(config.id, id.number(0, ~std::uint64_t{0}));
  }
  TRY(const Reader nodes, document.field("nodes"));
  TRY(const std::vector<Reader> node_items, nodes.items(kClusterNodesMax));
  for (const Reader& item : node_items) {
    TRY(NodeConfig node, read_node(item));
    config.nodes.push_back(std::move(node));
  }
  TRY(const Reader groups, document.field("groups"));
  TRY(const std::vector<Reader> group_items, groups.items(kStaticGroupsMax));
  for (const Reader& item : group_items) {
    TRY(GroupConfig group, read_group(item));
    config.groups.push_back(std::move(group));
  }
  TRY_VOID(check(config));
  return config;
}

class Ignore final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// YAML::LoadAll does not terminate on some texts that are not YAML; reading two documents does.
bool holds_several_documents(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Ignore ignore;
  return parser.HandleNextDocument(ignore) && parser.HandleNextDocument(ignore);
}

void write_node(YAML::Emitter& to, const NodeConfig& node) {
  to << YAML::BeginMap;
  to << YAML::Key << "id" << YAML::Value << node.id.value;
  to << YAML::Key << "host" << YAML::Value << YAML::DoubleQuoted << node.host;
  to << YAML::Key << "port" << YAML::Value << node.port;
  to << YAML::Key << "devices" << YAML::Value << YAML::BeginSeq;
  for (const DeviceConfig& device : node.devices) {
    to << YAML::BeginMap;
    to << YAML::Key << "id" << YAML::Value << device.id;
    to << YAML::Key << "path" << YAML::Value << YAML::DoubleQuoted << device.path;
    to << YAML::Key << "size" << YAML::Value << print_size(device.size);
    if (device.segment_size != 0) {
      to << YAML::Key << "segment_size" << YAML::Value << print_size(device.segment_size);
    }
    to << YAML::EndMap;
  }
  to << YAML::EndSeq << YAML::EndMap;
}

void write_group(YAML::Emitter& to, const GroupConfig& group) {
  to << YAML::BeginMap;
  to << YAML::Key << "id" << YAML::Value << fmt::format("{:#x}", group.id.value);
  to << YAML::Key << "generation" << YAML::Value << group.generation;
  to << YAML::Key << "erasure" << YAML::Value << std::string(to_string(group.geometry.species()));
  to << YAML::Key << "shape" << YAML::Value << YAML::Flow << YAML::BeginMap;
  to << YAML::Key << "realms" << YAML::Value << group.geometry.realms();
  to << YAML::Key << "domains" << YAML::Value << group.geometry.domains();
  to << YAML::Key << "vdisks" << YAML::Value << group.geometry.vdisks();
  to << YAML::EndMap;
  to << YAML::Key << "disks" << YAML::Value << YAML::BeginSeq;
  for (const DiskAddress& disk : group.disks) {
    to << YAML::Flow << YAML::BeginMap;
    to << YAML::Key << "node" << YAML::Value << disk.node.value;
    to << YAML::Key << "device" << YAML::Value << disk.device;
    to << YAML::Key << "slot" << YAML::Value << disk.slot;
    to << YAML::EndMap;
  }
  to << YAML::EndSeq << YAML::EndMap;
}

}  // namespace

Result<ClusterConfig> parse_cluster_config(std::string_view yaml) {
  if (yaml.size() > kClusterYamlBytesMax) {
    return fail(Errc::kInvalidArgument, fmt::format("document: {} bytes, over the maximum {}",
                                                    yaml.size(), kClusterYamlBytesMax));
  }
  try {
    const std::string text(yaml);
    if (holds_several_documents(text)) {
      return fail(Errc::kInvalidArgument, "document: the file holds more than one");
    }
    return read_cluster(Reader(YAML::Load(text), ""));
  } catch (const YAML::Exception& error) {
    return fail(Errc::kInvalidArgument,
                fmt::format("document (line {}): {}", error.mark.line + 1, error.msg));
  }
}

std::string to_yaml(const ClusterConfig& config) {
  YAML::Emitter to;
  to << YAML::BeginMap;
  to << YAML::Key << "cluster" << YAML::Value << YAML::BeginMap;
  to << YAML::Key << "name" << YAML::Value << YAML::DoubleQuoted << config.name;
  if (config.id != 0) to << YAML::Key << "id" << YAML::Value << fmt::format("{:#x}", config.id);
  to << YAML::EndMap;
  to << YAML::Key << "nodes" << YAML::Value << YAML::BeginSeq;
  for (const NodeConfig& node : config.nodes) write_node(to, node);
  to << YAML::EndSeq;
  to << YAML::Key << "groups" << YAML::Value << YAML::BeginSeq;
  for (const GroupConfig& group : config.groups) write_group(to, group);
  to << YAML::EndSeq << YAML::EndMap;
  return std::string(to.c_str()) + "\n";
}

}  // namespace moraine::blob
