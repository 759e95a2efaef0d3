#include "blob/cluster_config.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace moraine::blob {
namespace {

// Nodes 1..nodes on port 7500, each with devices 1..devices of 1 GiB; one group over the first
// disks, each on the next node.
ClusterConfig sample(Species species, std::uint32_t nodes, std::uint32_t devices) {
  ClusterConfig config;
  config.name = "example";
  for (std::uint32_t node = 1; node <= nodes; ++node) {
    NodeConfig entry{NodeId{node}, fmt::format("host{}", node), 7500, {}};
    for (std::uint32_t device = 1; device <= devices; ++device) {
      entry.devices.push_back({device, fmt::format("/data/{}", device), 1u << 30, 0});
    }
    config.nodes.push_back(std::move(entry));
  }
  GroupConfig group;
  group.id = GroupId{0x82000000};
  group.geometry = Geometry::standard(species);
  for (std::uint32_t i = 0; i < group.geometry.disks(); ++i) {
    group.disks.push_back({NodeId{i % nodes + 1}, i / nodes + 1, 0});
  }
  config.groups.push_back(std::move(group));
  return config;
}

constexpr std::string_view kYaml = R"(cluster:
  name: example
  id: 0xabc
nodes:
  - id: 1
    host: 127.0.0.1
    port: 7501
    devices:
      - id: 4
        path: /data/a
        size: 10GiB
        segment_size: 64MiB
      - {id: 5, path: /data/b, size: 1073741824}
groups:
  - id: 0x82000000
    generation: 3
    erasure: none
    disks:
      - {node: 1, device: 4, slot: 0}
  - id: 7
    generation: 1
    erasure: none
    shape: {realms: 1, domains: 2, vdisks: 1}
    disks:
      - {node: 1, device: 4, slot: 1}
      - {node: 1, device: 5, slot: 0}
)";

std::string replaced(std::string_view from, std::string_view to) {
  std::string text(kYaml);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string problem(std::string_view yaml) {
  const auto config = parse_cluster_config(yaml);
  if (config) return "it is sound";
  EXPECT_EQ(config.error().code, Errc::kInvalidArgument);
  return config.error().context;
}

template <class Change>
std::string contradiction(ClusterConfig config, Change change) {
  change(config);
  const auto sound = check(config);
  return sound ? "none" : sound.error().context;
}

TEST(ClusterConfig, ReadsEveryField) {
  const auto config = parse_cluster_config(kYaml);
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->name, "example");
  EXPECT_EQ(config->id, 0xabcu);
  ASSERT_EQ(config->nodes.size(), 1u);
  const NodeConfig& node = config->nodes[0];
  EXPECT_EQ(node.id, NodeId{1});
  EXPECT_EQ(node.host, "127.0.0.1");
  EXPECT_EQ(node.port, 7501);
  ASSERT_EQ(node.devices.size(), 2u);
  EXPECT_EQ(node.devices[0], (DeviceConfig{4, "/data/a", std::uint64_t{10} << 30, 64u << 20}));
  EXPECT_EQ(node.devices[1], (DeviceConfig{5, "/data/b", 1u << 30, 0}));
  ASSERT_EQ(config->groups.size(), 2u);
  EXPECT_EQ(config->groups[0].id, GroupId{0x82000000});
  EXPECT_EQ(config->groups[0].generation, 3u);
  EXPECT_EQ(config->groups[0].geometry.species(), Species::kNone);
  EXPECT_EQ(config->groups[1].geometry.domains(), 2u);
  EXPECT_EQ(config->groups[1].disks[1], (DiskAddress{NodeId{1}, 5, 0}));
}

TEST(ClusterConfig, FindsNodesAndGroupsById) {
  const ClusterConfig config = sample(Species::kNone, 2, 1);
  EXPECT_EQ(config.node(NodeId{2}), &config.nodes[1]);
  EXPECT_EQ(config.node(NodeId{3}), nullptr);
  EXPECT_EQ(config.group(GroupId{0x82000000}), &config.groups[0]);
  EXPECT_EQ(config.group(GroupId{1}), nullptr);
}

TEST(ClusterConfig, ComesBackFromItsYaml) {
  ClusterConfig odd = sample(Species::kNone, 1, 1);
  odd.name = "a: \"b\" # \n \xd0\xb6 'c'";
  odd.id = ~std::uint64_t{0};
  odd.nodes[0].devices[0] = {1, "/data/with spaces: and {braces}", 12'288, 4'096};
  for (const ClusterConfig& config :
       {sample(Species::kNone, 1, 1), sample(Species::kBlock42, 8, 1),
        sample(Species::kBlock42, 1, 8), sample(Species::kMirror3dc, 9, 2),
        single_node_config("/data/device", std::uint64_t{10} << 30), odd}) {
    const auto again = parse_cluster_config(to_yaml(config));
    ASSERT_TRUE(again) << again.error().message() << "\n" << to_yaml(config);
    EXPECT_EQ(*again, config);
  }
}

TEST(ClusterConfig, TheSingleNodeConfigHasOneDeviceAndOneGroupWithoutErasure) {
  const ClusterConfig config = single_node_config("/data/device", 1u << 30);
  EXPECT_TRUE(check(config));
  EXPECT_TRUE(warnings(config).empty());
  ASSERT_EQ(config.groups.size(), 1u);
  EXPECT_EQ(config.groups[0].geometry.species(), Species::kNone);
  EXPECT_EQ(config.nodes[0].devices[0].path, "/data/device");
}

TEST(ClusterConfig, NamesTheFieldThatIsMissingUnknownOrRepeated) {
  EXPECT_EQ(problem(replaced("    port: 7501\n", "")),
            "nodes[0] (line 5): field \"port\" is missing");
  EXPECT_EQ(problem(replaced("erasure", "eraser")),
            "groups[0] (line 15): field \"eraser\" is unknown; known here are id, generation, "
            "erasure, shape, disks");
  EXPECT_EQ(problem(replaced("    generation: 3\n", "")),
            "groups[0] (line 15): field \"generation\" is missing");
  EXPECT_EQ(problem(replaced("    host: 127.0.0.1\n", "    host: a\n    host: b\n")),
            "nodes[0] (line 5): field \"host\" is repeated");
  EXPECT_EQ(problem("nodes: []\ngroups: []\n"), "document (line 1): field \"cluster\" is missing");
}

TEST(ClusterConfig, NamesTheValueOfAWrongTypeOrRange) {
  EXPECT_EQ(problem(replaced("7501", "70000")),
            "nodes[0].port (line 7): \"70000\" is not in 1..65535");
  EXPECT_EQ(problem(replaced("7501", "http")), "nodes[0].port (line 7): \"http\" is not a number");
  EXPECT_EQ(problem(replaced("7501", "-1")), "nodes[0].port (line 7): \"-1\" is not a number");
  EXPECT_EQ(problem(replaced("7501", "[7501]")), "nodes[0].port (line 7): is not a number");
  EXPECT_EQ(problem(replaced("127.0.0.1", "~")), "nodes[0].host (line 6): is not text");
  EXPECT_EQ(problem(replaced("0x82000000", "0x182000000")),
            "groups[0].id (line 15): \"0x182000000\" is not in 0..4294967295");
  EXPECT_EQ(problem(replaced("generation: 3", "generation: 0")),
            "groups[0].generation (line 16): \"0\" is not in 1..4294967295");
  EXPECT_EQ(problem(replaced("slot: 0", "slot: 99999999999999999999")),
            "groups[0].disks[0].slot (line 19): \"99999999999999999999\" is not in 0..4294967295");
  EXPECT_EQ(problem("[]"), "document (line 1): is not a map");
  EXPECT_EQ(problem("cluster: 1\nnodes: []\ngroups: []\n"), "cluster (line 1): is not a map");
  EXPECT_EQ(problem("cluster: {name: x}\nnodes: 1\ngroups: []\n"), "nodes (line 2): is not a list");
}

TEST(ClusterConfig, NamesTheSizeThatIsBad) {
  EXPECT_EQ(problem(replaced("10GiB", "10GiBB")),
            "nodes[0].devices[0].size (line 11): size \"10GiBB\" has none of the units B, KiB, "
            "MiB, GiB, TiB");
  EXPECT_EQ(problem(replaced("10GiB", "10000")),
            "nodes[0]: devices[0]: size 10000 is not a multiple of 4096; 8192 is");
  EXPECT_EQ(problem(replaced("64MiB", "64GiB")),
            "nodes[0]: devices[0]: segment_size 64GiB is more than size 10GiB");
}

TEST(ClusterConfig, NamesTheErasureOrShapeThatIsBad) {
  EXPECT_EQ(problem(replaced("erasure: none", "erasure: raid")),
            "groups[0].erasure (line 17): species \"raid\" is not one of none, block-4-2, "
            "mirror-3-dc");
  EXPECT_EQ(problem(replaced("erasure: none", "erasure: block-4-2")),
            "groups[0].disks (line 19): has 1 disks, but its shape has 8");
  EXPECT_NE(problem(replaced("realms: 1", "realms: 2")).find("groups[1].shape (line 23): "),
            std::string::npos);
}

TEST(ClusterConfig, TextThatIsNotOneYamlDocumentIsRefused) {
  EXPECT_EQ(problem(""), "document: is not a map");
  EXPECT_EQ(problem(", \x03"), "document: the file holds more than one");
  EXPECT_EQ(problem(std::string(kYaml) + "---\nb: 2\n"), "document: the file holds more than one");
  EXPECT_NE(problem("cluster: [1, 2\n").find("document (line "), std::string::npos);
  EXPECT_NE(problem("\xff\xfe\x00").find("document"), std::string::npos);
  EXPECT_NE(problem(std::string(100'000, '[')).find("document"), std::string::npos);
  EXPECT_NE(problem(std::string(kClusterYamlBytesMax + 1, ' ')).find("over the maximum"),
            std::string::npos);
}

TEST(CheckOfAClusterConfig, NamesContradictionsBetweenNodes) {
  const ClusterConfig config = sample(Species::kBlock42, 8, 2);
  EXPECT_EQ(contradiction(config, [](ClusterConfig& c) { c.nodes[3].id = NodeId{2}; }),
            "nodes[3]: there is a node 2 already");
  EXPECT_EQ(contradiction(config, [](ClusterConfig& c) { c.nodes[3].host = "host1"; }),
            "nodes[3]: node 1 is at host1:7500 already");
  EXPECT_EQ(contradiction(config,
                          [](ClusterConfig& c) {
                            c.nodes[3].host = "host1";
                            c.nodes[3].port = 7501;
                          }),
            "none");
  EXPECT_EQ(contradiction(config, [](ClusterConfig& c) { c.nodes[3].devices[1].id = 1; }),
            "nodes[3]: devices[1]: the node has a device 1 already");
  EXPECT_EQ(contradiction(config, [](ClusterConfig& c) { c.nodes[3].devices[1].path = "/data/1"; }),
            "nodes[3]: devices[1]: the node has a device at /data/1 already");
  EXPECT_EQ(contradiction(config, [](ClusterConfig& c) { c.nodes.clear(); }),
            "nodes: at least one node is needed");
  EXPECT_EQ(contradiction(config, [](ClusterConfig& c) { c.name.clear(); }),
            "cluster.name is empty");
}

TEST(CheckOfAClusterConfig, NamesContradictionsBetweenGroups) {
  const ClusterConfig config = sample(Species::kBlock42, 8, 2);
  EXPECT_EQ(contradiction(config, [](ClusterConfig& c) { c.groups.push_back(c.groups[0]); }),
            "groups[1]: there is a group 0x82000000 already");
  EXPECT_EQ(contradiction(config,
                          [](ClusterConfig& c) {
                            c.groups.push_back(c.groups[0]);
                            c.groups[1].id = GroupId{5};
                          }),
            "groups[1]: disks[0]: slot 0 of device 1 of node 1 is taken by group 0x82000000");
  EXPECT_EQ(contradiction(config,
                          [](ClusterConfig& c) {
                            c.groups.push_back(c.groups[0]);
                            c.groups[1].id = GroupId{5};
                            for (DiskAddress& disk : c.groups[1].disks) disk.slot = 1;
                          }),
            "none");
}

TEST(CheckOfAClusterConfig, NamesContradictionsWithinAGroup) {
  const ClusterConfig config = sample(Species::kBlock42, 8, 2);
  const auto with_disk = [&](DiskAddress disk) {
    return contradiction(config, [&](ClusterConfig& c) { c.groups[0].disks[6] = disk; });
  };
  EXPECT_EQ(with_disk({NodeId{9}, 1, 0}), "groups[0]: disks[6]: there is no node 9");
  EXPECT_EQ(with_disk({NodeId{7}, 3, 0}), "groups[0]: disks[6]: node 7 has no device 3");
  EXPECT_EQ(with_disk({NodeId{2}, 1, 5}),
            "groups[0]: disks[6]: device 1 of node 2 has disks[1] of this group already");
  EXPECT_EQ(with_disk({NodeId{2}, 2, 0}), "none");
  EXPECT_EQ(contradiction(config, [](ClusterConfig& c) { c.groups[0].disks.pop_back(); }),
            "groups[0]: group 82000000: 7 disks, but its shape has 8");
}

TEST(WarningsOfAClusterConfig, ReportANodeWithTwoFailDomainsOfAGroupOverSeveralNodes) {
  EXPECT_TRUE(warnings(sample(Species::kBlock42, 8, 1)).empty());
  EXPECT_TRUE(warnings(sample(Species::kBlock42, 1, 8)).empty());
  const std::vector<std::string> found = warnings(sample(Species::kMirror3dc, 8, 2));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], "group 0x82000000: node 1 has disks of 2 fail domains");
}

TEST(Size, ReadsWholeNumbersWithAndWithoutUnits) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("4096"), 4096u);
  EXPECT_EQ(parse_size("17B"), 17u);
  EXPECT_EQ(parse_size("3KiB"), 3072u);
  EXPECT_EQ(parse_size("512MiB"), 512u << 20);
  EXPECT_EQ(parse_size("10GiB"), std::uint64_t{10} << 30);
  EXPECT_EQ(parse_size("2TiB"), std::uint64_t{2} << 40);
  EXPECT_EQ(parse_size("18446744073709551615"), ~std::uint64_t{0});
}

TEST(Size, RefusesEverythingElse) {
  for (const std::string_view text :
       {"", "GiB", "10GiBB", "10gib", "10GB", "10 GiB", " 10", "10 ", "-1", "+1", "1.5GiB", "1e9",
        "0x10", "18446744073709551616", "16777216TiB"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(Size, PrintsTheLargestUnitThatDivides) {
  EXPECT_EQ(print_size(0), "0");
  EXPECT_EQ(print_size(4095), "4095");
  EXPECT_EQ(print_size(4096), "4KiB");
  EXPECT_EQ(print_size(std::uint64_t{10} << 30), "10GiB");
  EXPECT_EQ(print_size((std::uint64_t{10} << 30) + (1 << 20)), "10241MiB");
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    EXPECT_EQ(parse_size(print_size(size)), size);
  }
}

}  // namespace
}  // namespace moraine::blob
