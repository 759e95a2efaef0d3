// A folder that is used in turn by a program with Database and by a server with Kafka clients.
#include "app/cli_test_util.h"
#include "moraine/database.h"

namespace moraine::app {
namespace {

class EmbeddedTopics : public Cli {
 protected:
  Outcome topic(std::vector<std::string> arguments, std::string_view input = "") {
    arguments.insert(arguments.begin(), "topic");
    arguments.insert(arguments.end(), {"--data", data()});
    return run(std::move(arguments), input);
  }
  RunningServer serve() {
    return RunningServer({"--data", data(), "--http", "127.0.0.1:0"}, folder / "log");
  }
};

TEST_F(EmbeddedTopics, KafkaClientsAndProgramsReadEachOthersMessages) {
  make_folder("512MiB");
  std::uint32_t partition = 0;
  {
    auto db = Database::open(data());
    ASSERT_TRUE(db) << db.error().message();
    const auto orders = db->run(
        db->create_topic("orders", {.partitions = 4, .config = {{"compression.type", "lz4"}}}));
    ASSERT_TRUE(orders) << orders.error().message();
    partition = orders->partition_of("ann");
    const auto written = db->run(orders->write(
        {{.key = "ann", .value = "tea"}, {.key = "ann", .value = "milk"}}, {.producer = "shop"}));
    ASSERT_TRUE(written) << written.error().message();
    EXPECT_EQ(written->partition, partition);
    ASSERT_TRUE(db->run(orders->commit("billing", partition, 1)));
  }
  {
    RunningServer server = serve();
    EXPECT_EQ(topic({"read", "orders"}).out, "tea\nmilk\n");
    EXPECT_EQ(topic({"read", "orders", "--group", "billing"}).out, "milk\n");
    ASSERT_EQ(topic({"write", "orders", "--key-separator", ":"}, "ann:bread\n").code, 0);
    EXPECT_EQ(server.stop(), 0) << server.log();
  }
  auto db = Database::open(data());
  ASSERT_TRUE(db) << db.error().message();
  const auto orders = db->run(db->topic("orders"));
  ASSERT_TRUE(orders) << orders.error().message();
  const auto found = db->run(orders->read({.partition = partition}));
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->messages.size(), 3u);
  EXPECT_EQ(found->messages[2].key, "ann");
  EXPECT_EQ(found->messages[2].value, "bread");
  const auto committed = db->run(orders->committed("billing", partition));
  ASSERT_TRUE(committed && *committed);
  EXPECT_EQ((*committed)->offset, 2u);
}

}  // namespace
}  // namespace moraine::app
