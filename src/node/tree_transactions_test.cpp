// Transactions of the tree, and nodes that expire, on a simulated node.

#include <gtest/gtest.h>

#include "node/test_tree.h"

namespace moraine {
namespace {

constexpr const char* kTable =
    "{dynamic=%true;schema=[{name=k;type=int64;sort_order=ascending};{name=v;type=string}]}";

class TreeTransactionsTest : public TreeTest {
 protected:
  static client::TreeLock mode(client::TreeLockMode mode, bool waitable = false) {
    client::TreeLock made;
    made.mode = mode;
    made.waitable = waitable;
    return made;
  }
  static client::TreeTransactionOptions timeout(std::chrono::milliseconds time) {
    client::TreeTransactionOptions options;
    options.timeout = time;
    return options;
  }
  std::string id(const PathId& transaction) { return to_text(transaction); }
};

// C-20.
TEST_F(TreeTransactionsTest, ChangesAreSeenAfterTheCommit) {
  EXPECT_EQ(set("//tmp/t", "1"), "");
  const PathId first = begin();
  EXPECT_EQ(in(first).set("//tmp/t", "2"), "");
  EXPECT_EQ(in(first).set("//tmp/made", "3"), "");
  EXPECT_EQ(in(first).get("//tmp"), R"({"made"=3;"t"=2;})");
  EXPECT_EQ(in().get("//tmp"), R"({"t"=1;})");
  EXPECT_NE(in().set("//tmp/t", "4").find("\"exclusive\" lock is taken by concurrent transaction"),
            std::string::npos);
  EXPECT_EQ(get("//tmp/t/@locks/0/transaction_id"), "\"" + id(first) + "\"");
  EXPECT_TRUE(exists("//sys/transactions/" + id(first)));
  restart();
  EXPECT_EQ(in(first).get("//tmp"), R"({"made"=3;"t"=2;})");
  EXPECT_EQ(in().get("//tmp"), R"({"t"=1;})");
  EXPECT_EQ(commit(first), "");
  EXPECT_EQ(get("//tmp"), R"({"made"=3;"t"=2;})");
  EXPECT_NE(commit(first).find("No such transaction"), std::string::npos);
  EXPECT_NE(in(first).get("//tmp").find("No such transaction"), std::string::npos);

  const PathId second = begin();
  EXPECT_EQ(in(second).remove("//tmp/t"), "");
  EXPECT_FALSE(in(second).exists("//tmp/t"));
  EXPECT_EQ(abort(second), "");
  EXPECT_EQ(in().get("//tmp"), R"({"made"=3;"t"=2;})");
  EXPECT_EQ(get("//tmp/t/@lock_count"), "0");
}

TEST_F(TreeTransactionsTest, TransactionsWithoutPingsEnd) {
  const PathId pinged = begin(timeout(2s));
  const PathId left = begin(timeout(2s));
  EXPECT_EQ(in(left).set("//tmp/t", "1"), "");
  for (int i = 0; i < 4; ++i) {
    sleep(1s);
    EXPECT_EQ(in().outcome(run<void>([&] { return tree().ping({}, pinged); })), "") << i;
  }
  EXPECT_TRUE(exists("#" + id(pinged)));
  EXPECT_FALSE(exists("#" + id(left)));
  EXPECT_EQ(set("//tmp/t", "2"), "");
  // A whole lease after a restart.
  restart();
  sleep(1s);
  EXPECT_TRUE(exists("#" + id(pinged)));
  sleep(2s);
  EXPECT_FALSE(exists("#" + id(pinged)));
}

TEST_F(TreeTransactionsTest, AParentPassesItsDeadline) {
  client::TreeTransactionOptions options = timeout(60s);
  const auto now = node_.node().lane(0).clock.since_epoch().count();
  options.deadline_ms = static_cast<std::uint64_t>(now) + 3'000;
  const PathId parent = begin(options);
  const PathId child = nested(parent);
  sleep(2s);
  EXPECT_TRUE(exists("#" + id(child)));
  sleep(2s);
  EXPECT_FALSE(exists("#" + id(parent)));
  EXPECT_FALSE(exists("#" + id(child)));
}

// C-21.
TEST_F(TreeTransactionsTest, NestedOnesEndWithTheirParent) {
  for (const char* path : {"//tmp/t", "//tmp/t1", "//tmp/t2"}) EXPECT_EQ(set(path, "0"), "");
  const PathId outer = begin();
  const PathId first = nested(outer);
  const PathId second = nested(outer);
  EXPECT_EQ(in(outer).set("//tmp/t", "1"), "");
  EXPECT_EQ(in(first).set("//tmp/t1", "1"), "");
  EXPECT_EQ(in(second).set("//tmp/t2", "1"), "");
  EXPECT_EQ(in(first).get("//tmp/t"), "1");
  EXPECT_EQ(in(outer).get("//tmp/t1"), "0");
  EXPECT_EQ(commit(outer), "");
  EXPECT_EQ(in().get("//tmp"), R"({"t"=1;"t1"=0;"t2"=0;})");
  for (const PathId& one : {outer, first, second}) EXPECT_FALSE(exists("#" + id(one)));

  const PathId again = begin();
  const PathId inner = nested(again);
  EXPECT_EQ(in(inner).set("//tmp/t1", "5"), "");
  EXPECT_EQ(commit(inner), "");
  EXPECT_EQ(in(again).get("//tmp/t1"), "5");
  EXPECT_EQ(in().get("//tmp/t1"), "0");
  EXPECT_NE(in().set("//tmp/t1", "7").find("concurrent"), std::string::npos);
  EXPECT_EQ(commit(again), "");
  EXPECT_EQ(get("//tmp/t1"), "5");
}

// C-19.
TEST_F(TreeTransactionsTest, ASnapshotStaysAsItWas) {
  EXPECT_EQ(set("//tmp/node", "42"), "");
  const std::string node = get("//tmp/node/@id");
  const std::string path = "#" + node.substr(1, node.size() - 2);
  const PathId reader = begin();
  EXPECT_EQ(in(reader).lock("//tmp/node", mode(client::TreeLockMode::kSnapshot)), "");
  EXPECT_EQ(in().set("//tmp/node", "100"), "");
  EXPECT_EQ(in(reader).get("//tmp/node"), "42");
  EXPECT_NE(
      in(reader)
          .set("//tmp/node", "1")
          .find("Cannot take \"exclusive\" lock for node //tmp/node since \"snapshot\" lock is "
                "already taken by same transaction"),
      std::string::npos);
  EXPECT_EQ(in().remove("//tmp/node"), "");
  restart();
  EXPECT_EQ(in(reader).get(path), "42");
  EXPECT_FALSE(in().exists(path));
  EXPECT_EQ(commit(reader), "");
}

TEST_F(TreeTransactionsTest, WaitingLocksAreGrantedInTurn) {
  EXPECT_EQ(set("//tmp/t", "1"), "");
  const PathId first = begin();
  const PathId second = begin();
  EXPECT_EQ(in(first).lock("//tmp/t", mode(client::TreeLockMode::kExclusive)), "");
  EXPECT_NE(in(second).lock("//tmp/t", mode(client::TreeLockMode::kExclusive)).find("concurrent"),
            std::string::npos);
  EXPECT_EQ(in(second).lock("//tmp/t", mode(client::TreeLockMode::kExclusive, true)), "");
  const auto locks = [&](const PathId& transaction) {
    return in().get("#" + id(transaction) + "/@lock_ids/0");
  };
  const std::string waiting = locks(second);
  const std::string lock_path = "#" + waiting.substr(1, waiting.size() - 2) + "/@state";
  EXPECT_EQ(get(lock_path), R"("pending")");
  EXPECT_EQ(abort(first), "");
  EXPECT_EQ(get(lock_path), R"("acquired")");
  EXPECT_EQ(in(second).set("//tmp/t", "2"), "");
}

TEST_F(TreeTransactionsTest, SharedLocksOfDifferentKeysGoTogether) {
  EXPECT_EQ(create("map_node", "//tmp/m"), "");
  const PathId first = begin();
  const PathId second = begin();
  EXPECT_EQ(in(first).set("//tmp/m/a", "1"), "");
  EXPECT_EQ(in(second).set("//tmp/m/b", "1"), "");
  EXPECT_NE(in(second).set("//tmp/m/a", "2").find("Cannot take lock for child \"a\""),
            std::string::npos);
  EXPECT_EQ(in(first).set("//tmp/m/@x", "1"), "");
  EXPECT_EQ(in(second).set("//tmp/m/@y", "1"), "");
  EXPECT_NE(in(second).set("//tmp/m/@x", "2").find("Cannot take lock for attribute \"x\""),
            std::string::npos);
  EXPECT_NE(in().remove("//tmp/m").find("lock conflict"), std::string::npos);
  EXPECT_EQ(commit(first), "");
  EXPECT_EQ(commit(second), "");
  EXPECT_EQ(in().get("//tmp/m", {"x", "y"}), R"(<"x"=1;"y"=1;>{"a"=1;"b"=1;})");
}

TEST_F(TreeTransactionsTest, TablesOfATransactionAreThereWhenItCommits) {
  const PathId first = begin();
  EXPECT_EQ(in(first).create("table", "//tmp/t", kTable), "");
  EXPECT_EQ(in(first).get("//tmp/t/@dynamic"), "%true");
  EXPECT_FALSE(in().exists("//tmp/t"));
  EXPECT_EQ(tables(), "");
  restart();
  EXPECT_EQ(in(first).get("//tmp/t/@dynamic"), "%true");
  EXPECT_EQ(commit(first), "");
  EXPECT_EQ(tables(), "tmp/t ");
  EXPECT_EQ(mount("tmp/t"), "");
  EXPECT_EQ(in().get("//tmp/t/@tablet_state"), R"("mounted")");

  const PathId second = begin();
  EXPECT_EQ(in(second).create("table", "//tmp/u", kTable), "");
  EXPECT_EQ(in(second).remove("//tmp/t"), "");
  EXPECT_EQ(abort(second), "");
  EXPECT_EQ(tables(), "tmp/t ");
  EXPECT_EQ(in().get("//tmp/t/@tablet_state"), R"("mounted")");
  // Only the tablet of the table that is there.
  sleep(5s);
  restart();
  EXPECT_EQ(in().list("//tmp"), R"(["t";])");
}

TEST_F(TreeTransactionsTest, ARemovedTableStaysForASnapshot) {
  EXPECT_EQ(create("table", "//tmp/t", kTable), "");
  const std::string text = get("//tmp/t/@id");
  const std::string path = "#" + text.substr(1, text.size() - 2);
  const PathId reader = begin();
  EXPECT_EQ(in(reader).lock("//tmp/t", mode(client::TreeLockMode::kSnapshot)), "");
  EXPECT_EQ(in().remove("//tmp/t"), "");
  EXPECT_EQ(in(reader).get(path + "/@dynamic"), "%true");
  EXPECT_EQ(tables(), "");
  EXPECT_EQ(abort(reader), "");
  EXPECT_FALSE(in().exists(path));
}

TEST_F(TreeTransactionsTest, TablesOfOtherDoorsAreSeenAndKeepTheLocks) {
  EXPECT_EQ(create("map_node", "//tmp/m"), "");
  const PathId first = begin();
  EXPECT_EQ(in(first).lock("//tmp/m", mode(client::TreeLockMode::kExclusive)), "");
  const auto by_path = [&](const std::string& path) {
    return in().outcome(node_.on_lane<Result<void>>(
        0, [&] { return node_.node().tables().tables().remove_directory(path); }));
  };
  EXPECT_NE(by_path("tmp/m").find("lock conflict"), std::string::npos);
  EXPECT_EQ(abort(first), "");
  EXPECT_EQ(by_path("tmp/m"), "");
  EXPECT_FALSE(exists("//tmp/m"));
}

TEST_F(TreeTransactionsTest, ExpiredNodesAreRemoved) {
  const auto now = [&] {
    return static_cast<std::uint64_t>(node_.node().lane(0).clock.since_epoch().count());
  };
  const std::string at = std::to_string(now() + 3'000);
  EXPECT_EQ(create("map_node", "//tmp/m", "{expiration_time=" + at + "}"), "");
  EXPECT_EQ(create("table", "//tmp/m/t", kTable), "");
  EXPECT_EQ(create("map_node", "//tmp/used", "{expiration_timeout=3000}"), "");
  EXPECT_EQ(create("map_node", "//tmp/kept", "{expiration_timeout=3000}"), "");
  EXPECT_EQ(remove("//tmp/kept/@expiration_timeout"), "");
  EXPECT_EQ(mount("tmp/m/t"), "");
  for (int i = 0; i < 2; ++i) {
    sleep(1s);
    EXPECT_TRUE(exists("//tmp/used"));
  }
  EXPECT_EQ(list("//tmp"), R"(["kept";"m";"used";])");
  sleep(1500ms);
  EXPECT_EQ(list("//tmp"), R"(["kept";"used";])");
  EXPECT_EQ(tables(), "");
  sleep(3s);
  EXPECT_EQ(list("//tmp"), R"(["kept";])");
  const auto figures = node_.node().tree_figures();
  EXPECT_EQ(figures.expired, 2u);
  EXPECT_LE(figures.lag_ms_max, 500u);
}

TEST_F(TreeTransactionsTest, LocksPutExpiryOff) {
  EXPECT_EQ(create("map_node", "//tmp/m", "{expiration_timeout=1000}"), "");
  const PathId first = begin();
  EXPECT_EQ(in(first).lock("//tmp/m", mode(client::TreeLockMode::kShared)), "");
  sleep(5s);
  EXPECT_TRUE(in().exists("//tmp/m"));
  EXPECT_GT(node_.node().tree_figures().postponed, 0u);
  restart();
  EXPECT_EQ(abort(first), "");
  sleep(5s);
  EXPECT_FALSE(exists("//tmp/m"));
}

TEST_F(TreeTransactionsTest, AccessesOfANodeInATransactionAreNotThoseOfTheOneThatItReplaces) {
  EXPECT_EQ(create("map_node", "//tmp/m", "{expiration_timeout=4000}"), "");
  sleep(2500ms);
  EXPECT_TRUE(exists("//tmp/m"));  // Stored: it lives until 6.5 s.
  restart();
  const PathId first = begin();
  EXPECT_EQ(in(first).remove("//tmp/m"), "");
  EXPECT_EQ(in(first).create("map_node", "//tmp/m", "{expiration_timeout=4000}"), "");
  sleep(1500ms);
  EXPECT_TRUE(in(first).exists("//tmp/m"));
  EXPECT_EQ(abort(first), "");
  sleep(2s);
  EXPECT_EQ(in().list("//tmp"), R"(["m";])");
}

}  // namespace
}  // namespace moraine
