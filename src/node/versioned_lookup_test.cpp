// Versioned lookups, timestamps of values, and lookups of tables that are partly unmounted.

#include "client/versioned_lookup.h"

#include <gtest/gtest.h>

#include "client/table_changes.h"
#include "client/test_rows.h"
#include "node/test_node.h"
#include "scheme/test_schema.h"
#include "table/model/key.h"

namespace moraine {
namespace {

using Keys = std::vector<std::vector<Value>>;

class VersionedLookup : public testing::Test {
 protected:
  // k; v string; s int64 sum. Two tablets: keys below 10, and the others.
  VersionedLookup() : door_(node_.lane(0), tables(), node_.node().tables()) {
    NewTable table;
    table.schema = small_schema();
    ColumnSchema sum;
    sum.name = "s";
    sum.type = ColumnType::kInt64;
    sum.aggregate = Aggregate::kSum;
    table.schema.columns.push_back(sum);
    const Value pivot(10);
    table.pivots.push_back(table::encode_key(std::span(&pivot, 1)));
    const auto made =
        node_.on_lane<Result<void>>(0, [&] { return tables().create("t", std::move(table)); });
    EXPECT_TRUE(made) << made.error().message();
    table_ = client::open_shared(door_, "/t").value();
  }

  StoredTables& tables() { return node_.node().tables().tables(); }
  template <class T>
  T run(std::function<Task<T>()> body) {
    return node_.on_lane<T>(0, std::move(body));
  }
  Timestamp commit(std::function<Result<void>(client::Transaction&)> fill) {
    const auto done = run<Result<Timestamp>>([&]() -> Task<Result<Timestamp>> {
      CO_TRY(client::Transaction transaction, co_await door_.begin({}, random_));
      CO_TRY_VOID(fill(transaction));
      co_return co_await transaction.commit();
    });
    EXPECT_TRUE(done) << done.error().message();
    return done.value_or(0);
  }
  Timestamp write(std::int64_t key, std::string_view text) {
    return commit([&](client::Transaction& transaction) {
      const NamedValue row[] = {{"k", Value(key)}, {"v", Value(text)}};
      return transaction.insert(*table_, row, {.update = true});
    });
  }
  Timestamp add(std::int64_t key, std::int64_t delta) {
    return commit([&](client::Transaction& transaction) {
      const NamedValue row[] = {{"k", Value(key)}, {"s", Value(delta)}};
      return transaction.insert(*table_, row, {.update = true, .aggregate = true});
    });
  }
  Timestamp remove(std::int64_t key) {
    return commit([&](client::Transaction& transaction) {
      const Value values[] = {Value(key)};
      return transaction.remove(*table_, values);
    });
  }
  std::vector<VersionedResult> versions(std::vector<std::int64_t> keys,
                                        client::VersionedLookupOptions options = {}) {
    using Found = Result<std::vector<VersionedResult>>;
    auto found =
        run<Found>([&] { return client::lookup_versions(table_, keys_of(keys), options); });
    EXPECT_TRUE(found) << found.error().message();
    return found ? std::move(*found) : std::vector<VersionedResult>(keys.size());
  }
  static Keys keys_of(const std::vector<std::int64_t>& keys) {
    Keys all;
    for (const std::int64_t key : keys) all.push_back({Value(key)});
    return all;
  }
  // "v@1=a v@0=b", with the positions of timestamps in `known`.
  static std::string shown(const VersionedResult& row, const std::vector<Timestamp>& known) {
    std::string text;
    for (const RowVersion& version : row.versions) {
      const auto at = std::ranges::find(known, version.timestamp) - known.begin();
      const bool is_text = version.value.has_text();
      text += fmt::format("{}@{}{}{} ", version.column, at, version.aggregate ? "+" : "=",
                          is_text ? std::string(version.value.text())
                                  : fmt::format("{}", version.value.as_int64()));
    }
    return text;
  }

  TestNode node_{2};
  SeededRandom random_{3};
  client::TableClient door_;
  client::TablePtr table_;
};

TEST_F(VersionedLookup, ManyKeysOfSeveralTablets) {
  const Timestamp one = write(1, "a");
  const Timestamp two = write(1, "b");
  const Timestamp three = write(20, "c");
  const Timestamp four = remove(20);
  const Timestamp five = add(1, 5);
  const std::vector<Timestamp> known{one, two, three, four, five};
  for (const bool flushed : {false, true}) {
    if (flushed) {
      const auto done = run<Result<void>>([&] { return client::flush_table(tables(), "t"); });
      ASSERT_TRUE(done) << done.error().message();
    }
    const auto rows = versions({20, 1, 7, 1});
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_TRUE(rows[0].found) << "a deleted row has timestamps";
    EXPECT_EQ(rows[0].delete_timestamps, std::vector{four});
    EXPECT_EQ(rows[0].write_timestamps, std::vector{three});
    EXPECT_EQ(shown(rows[0], known), "v@2=c ");
    EXPECT_EQ(shown(rows[1], known), "v@1=b v@0=a s@4+5 ");
    EXPECT_EQ(rows[1].write_timestamps, (std::vector{five, two, one}));
    EXPECT_FALSE(rows[2].found);
    EXPECT_EQ(shown(rows[3], known), shown(rows[1], known)) << "keys may repeat";
  }
}

TEST_F(VersionedLookup, ColumnsAndTimestampsLimitWhatIsReturned) {
  const Timestamp one = write(1, "a");
  const Timestamp two = write(1, "b");
  const Timestamp three = add(1, 5);
  const std::vector<Timestamp> known{one, two, three};
  client::VersionedLookupOptions options;
  const std::string sum[] = {"s"};
  options.columns = table_->columns(sum).value();
  EXPECT_EQ(shown(versions({1}, options)[0], known), "s@2+5 ");
  const std::string key[] = {"k"};
  options.columns = table_->columns(key).value();
  const auto only_key = versions({1}, options)[0];
  EXPECT_TRUE(only_key.found);
  EXPECT_EQ(only_key.versions.size(), 0u);
  EXPECT_EQ(only_key.write_timestamps.size(), 3u);
  options = {};
  options.timestamp = two;
  EXPECT_EQ(shown(versions({1}, options)[0], known), "v@1=b v@0=a ");
  options.retention_timestamp = two;
  EXPECT_EQ(shown(versions({1}, options)[0], known), "v@1=b ");
  options.retention_timestamp = three;
  const auto wrong = run<Result<std::vector<VersionedResult>>>(
      [&] { return client::lookup_versions(table_, keys_of({1}), options); });
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().context.starts_with("Retention timestamp"));
}

TEST_F(VersionedLookup, ARetentionConfigKeepsWhatCompactionWould) {
  const Timestamp one = write(1, "a");
  const Timestamp two = write(1, "b");
  const Timestamp three = write(1, "c");
  const std::vector<Timestamp> known{one, two, three};
  client::VersionedLookupOptions options;
  options.retention =
      RetentionConfig{1, 2, std::chrono::milliseconds(0), std::chrono::milliseconds(0)};
  node_.world().run_for(10s);
  EXPECT_EQ(shown(versions({1}, options)[0], known), "v@2=c ");
  options.retention->min_data_versions = 2;
  EXPECT_EQ(shown(versions({1}, options)[0], known), "v@2=c v@1=b ");
  options.retention->min_data_versions = 0;
  EXPECT_FALSE(versions({1}, options)[0].found) << "all of it has expired";
}

TEST_F(VersionedLookup, TimestampsOfValues) {
  const Timestamp one = write(1, "a");
  const Timestamp two = add(1, 5);
  const Timestamp three = add(1, 6);
  remove(2);
  write(3, "x");
  remove(3);
  const Timestamp four = add(3, 7);
  Rowset rows;
  const auto found = run<Result<std::vector<Timestamp>>>(
      [&] { return client::lookup_timestamps(table_, keys_of({1, 2, 3}), {}, false, rows); });
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(*found, (std::vector<Timestamp>{0, one, three, 0, 0, 0, 0, 0, four}));
  EXPECT_EQ(rows.at(0, 2).as_int64(), 11);
  EXPECT_FALSE(rows.exists(1));
  EXPECT_TRUE(rows.at(2, 1).is_null()) << "the earlier value was deleted";
  ReadOptions options;
  options.timestamp = two;
  const std::string sum[] = {"s"};
  options.columns = table_->columns(sum).value();
  const auto past = run<Result<std::vector<Timestamp>>>(
      [&] { return client::lookup_timestamps(table_, keys_of({1}), options, false, rows); });
  EXPECT_EQ(past.value(), std::vector<Timestamp>{two});
}

TEST_F(VersionedLookup, WhatIsMountedIsReadAndTheRestIsNamed) {
  write(1, "a");
  write(20, "b");
  write(21, "c");
  const auto unmounted =
      run<Result<void>>([&] { return tables().unmount("t", TabletRange{0, 0}); });
  ASSERT_TRUE(unmounted) << unmounted.error().message();
  Rowset rows;
  using Missing = Result<std::vector<std::uint32_t>>;
  const auto missing = run<Missing>([&] {
    return client::lookup_available(table_, keys_of({20, 1, 22, 2, 21}), {}, false, rows);
  });
  ASSERT_TRUE(missing) << missing.error().message();
  EXPECT_EQ(*missing, (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(rows.at(0, 1).text(), "b");
  EXPECT_FALSE(rows.exists(1));
  EXPECT_FALSE(rows.exists(2));
  EXPECT_EQ(rows.at(4, 1).text(), "c");
  const auto wrong = run<Missing>(
      [&] { return client::lookup_available(table_, {{Value("text")}}, {}, false, rows); });
  EXPECT_EQ(wrong.error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace moraine
