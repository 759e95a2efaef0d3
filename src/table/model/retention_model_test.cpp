// Random rows: the rule against a naive implementation, and readers before and after.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "io/random.h"
#include "table/model/merge.h"
#include "table/model/retention.h"

namespace moraine::table {
namespace {

constexpr Timestamp kNowSeconds = 1'000;
constexpr std::size_t kColumns = 4;

TableSchema test_schema() {
  TableSchema schema;
  schema.columns = {{.name = "k", .type = ColumnType::kInt64, .key = true},
                    {.name = "a", .type = ColumnType::kInt64},
                    {.name = "b", .type = ColumnType::kInt64},
                    {.name = "s", .type = ColumnType::kInt64, .aggregate = Aggregate::kSum}};
  return schema;
}

Timestamp second(std::uint64_t n) {
  return timestamp_of_seconds(n);
}

struct Scenario {
  RowBuilder row;
  RowBuilder elsewhere;
  RetentionConfig config;
  RetentionScope scope;
};

void add_version(Random& random, RowBuilder& row, std::uint64_t at) {
  if (random.one_in(4)) {
    row.delete_timestamps.push_back(second(at));
    return;
  }
  row.write_timestamps.push_back(second(at));
  for (ColumnIndex column = 1; column < kColumns; ++column) {
    if (random.one_in(3)) continue;
    const bool null = random.one_in(8);
    const bool delta = column == 3 && !null && !random.one_in(3);
    const Value value = null ? Value() : Value(static_cast<std::int64_t>(random.below(100)));
    row.values.push_back({value, second(at), column, delta, false});
  }
}

// Mostly a random range without versions elsewhere.
void find_range_without_others(Random& random, Scenario& scenario) {
  const Timestamp from = second(random.below(kNowSeconds));
  const Timestamp to = from + second(random.below(kNowSeconds));
  const auto within = [&](Timestamp timestamp) { return timestamp >= from && timestamp <= to; };
  if (std::ranges::any_of(scenario.elsewhere.write_timestamps, within) ||
      std::ranges::any_of(scenario.elsewhere.delete_timestamps, within)) {
    return;
  }
  scenario.scope.alone_from = from;
  scenario.scope.alone_to = to;
}

Scenario make_scenario(Random& random, bool whole) {
  Scenario scenario;
  const std::uint64_t oldest_elsewhere = whole ? kNowSeconds : random.below(kNowSeconds);
  for (std::uint64_t at = 1; at < kNowSeconds; at += 1 + random.below(200)) {
    const bool away = !whole && at >= oldest_elsewhere && random.one_in(3);
    add_version(random, away ? scenario.elsewhere : scenario.row, at);
  }
  order_row(scenario.row);
  order_row(scenario.elsewhere);
  scenario.config = {.min_data_versions = static_cast<std::uint32_t>(random.below(3)),
                     .max_data_versions = static_cast<std::uint32_t>(random.below(4)),
                     .min_data_ttl = std::chrono::seconds(random.below(1'200)),
                     .max_data_ttl = std::chrono::seconds(random.below(1'200))};
  scenario.scope.now = second(kNowSeconds);
  if (!whole) {
    scenario.scope.oldest_elsewhere = second(std::max<std::uint64_t>(1, oldest_elsewhere));
    scenario.scope.horizon = second(random.below(kNowSeconds + 1));
    find_range_without_others(random, scenario);
  }
  return scenario;
}

// The rule, word for word, over timestamps of one column, newest first.
std::vector<Timestamp> naive_kept(std::vector<Timestamp> versions, const RetentionConfig& config) {
  std::ranges::sort(versions, std::greater<>());
  std::vector<Timestamp> kept;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const auto age = std::chrono::seconds(kNowSeconds - unix_seconds(versions[i]));
    const bool forbidden = i < config.min_data_versions || age < config.min_data_ttl;
    const bool permitted = i >= config.max_data_versions || age > config.max_data_ttl;
    if (forbidden || !permitted) kept.push_back(versions[i]);
  }
  return kept;
}

std::vector<Timestamp> versions_of(const RowBuilder& row, ColumnIndex column) {
  std::vector<Timestamp> versions;
  for (const VersionedValue& value : row.values) {
    if (value.column == column) versions.push_back(value.timestamp);
  }
  return versions;
}

std::string seen(const RowBuilder& row, Timestamp at, const TableSchema& schema) {
  const ColumnIndex wanted[] = {1, 2, 3};
  Value out[3];
  TextMemory memory;
  if (!read_visible(row.row(), at, kMinTimestamp, schema, wanted, out, memory)) return "absent";
  std::string text;
  for (const Value& value : out) {
    text += value.is_null() ? "# " : std::to_string(value.as_int64()) + ' ';
  }
  return text;
}

std::string describe(const Scenario& scenario) {
  std::string text = fmt::format(
      "versions {}..{} ttl {}..{} horizon {} elsewhere {}\n", scenario.config.min_data_versions,
      scenario.config.max_data_versions, scenario.config.min_data_ttl.count() / 1'000,
      scenario.config.max_data_ttl.count() / 1'000, unix_seconds(scenario.scope.horizon),
      unix_seconds(scenario.scope.oldest_elsewhere));
  for (const RowBuilder* row : {&scenario.row, &scenario.elsewhere}) {
    for (const VersionedValue& v : row->values) {
      text +=
          fmt::format(" c{}{}@{}", v.column, v.aggregate ? "+" : "=", unix_seconds(v.timestamp));
    }
    for (const Timestamp t : row->write_timestamps) text += fmt::format(" w{}", unix_seconds(t));
    for (const Timestamp t : row->delete_timestamps) text += fmt::format(" x{}", unix_seconds(t));
    text += " |";
  }
  return text;
}

TEST(RetentionModel, WithoutReadsOfThePastTheRuleAloneDecidesOnAWholeRow) {
  const TableSchema schema = test_schema();
  SeededRandom random(11);
  for (int round = 0; round < 20'000; ++round) {
    const Scenario scenario = make_scenario(random, true);
    RowBuilder out;
    TextMemory memory;
    RowRetention(schema, scenario.config, scenario.scope).apply(scenario.row.row(), memory, out);
    for (ColumnIndex column = 1; column < kColumns; ++column) {
      std::vector<Timestamp> versions = versions_of(scenario.row, column);
      const std::vector<Timestamp> values = versions;
      versions.insert(versions.end(), scenario.row.delete_timestamps.begin(),
                      scenario.row.delete_timestamps.end());
      std::vector<Timestamp> expected = naive_kept(versions, scenario.config);
      std::erase_if(expected,
                    [&](Timestamp t) { return std::ranges::find(values, t) == values.end(); });
      ASSERT_EQ(versions_of(out, column), expected) << describe(scenario) << " column " << column;
    }
  }
}

TEST(RetentionModel, ReadersAtOrAboveTheHorizonSeeWhatTheySaw) {
  const TableSchema schema = test_schema();
  SeededRandom random(12);
  for (int round = 0; round < 20'000; ++round) {
    Scenario scenario = make_scenario(random, false);
    scenario.config.min_data_versions = std::max(1U, scenario.config.min_data_versions);
    RowBuilder out;
    TextMemory memory;
    RowRetention(schema, scenario.config, scenario.scope).apply(scenario.row.row(), memory, out);
    const VersionedRow before_parts[] = {scenario.row.row(), scenario.elsewhere.row()};
    const VersionedRow after_parts[] = {out.row(), scenario.elsewhere.row()};
    RowBuilder before;
    RowBuilder after;
    merge_rows(before_parts, before);
    merge_rows(after_parts, after);
    for (std::uint64_t at = unix_seconds(scenario.scope.horizon); at <= kNowSeconds; ++at) {
      ASSERT_EQ(seen(after, second(at), schema), seen(before, second(at), schema))
          << describe(scenario) << " at " << at;
    }
  }
}

// A row whose versions up to some time are dropped before the merge, as if unread.
TEST(RetentionModel, WhatADeletionDropsIsNeitherKeptNorSeen) {
  const TableSchema schema = test_schema();
  SeededRandom random(14);
  int dropped = 0;
  for (int round = 0; round < 40'000; ++round) {
    const bool whole = random.one_in(2);
    const Scenario scenario = make_scenario(random, whole);
    if (scenario.row.delete_timestamps.empty()) continue;
    const Timestamp deleted = scenario.row.delete_timestamps.back();
    const Timestamp written = deleted - 1;
    if (!deletion_drops(scenario.config, scenario.scope, written, deleted)) continue;
    RowBuilder rest = scenario.row;
    std::erase_if(rest.values, [&](const VersionedValue& v) { return v.timestamp <= written; });
    std::erase_if(rest.write_timestamps, [&](Timestamp t) { return t <= written; });
    dropped += rest.write_timestamps.size() < scenario.row.write_timestamps.size() ? 1 : 0;
    RowBuilder out;
    RowBuilder without;
    TextMemory memory;
    RowRetention rule(schema, scenario.config, scenario.scope);
    rule.apply(scenario.row.row(), memory, out);
    rule.apply(rest.row(), memory, without);
    if (whole) {
      for (const VersionedValue& v : out.values) ASSERT_GT(v.timestamp, written);
    }
    const VersionedRow before_parts[] = {out.row(), scenario.elsewhere.row()};
    const VersionedRow after_parts[] = {without.row(), scenario.elsewhere.row()};
    RowBuilder before;
    RowBuilder after;
    merge_rows(before_parts, before);
    merge_rows(after_parts, after);
    for (std::uint64_t at = unix_seconds(scenario.scope.horizon); at <= kNowSeconds; at += 3) {
      ASSERT_EQ(seen(after, second(at), schema), seen(before, second(at), schema))
          << describe(scenario) << " at " << at;
    }
  }
  EXPECT_GT(dropped, 300);
}

TEST(RetentionModel, ExpiryNeverBringsAnOlderVersionBack) {
  const TableSchema schema = test_schema();
  SeededRandom random(13);
  for (int round = 0; round < 20'000; ++round) {
    Scenario scenario = make_scenario(random, false);
    scenario.config.min_data_versions = 0;
    RowBuilder out;
    TextMemory memory;
    RowRetention(schema, scenario.config, scenario.scope).apply(scenario.row.row(), memory, out);
    const VersionedRow before_parts[] = {scenario.row.row(), scenario.elsewhere.row()};
    const VersionedRow after_parts[] = {out.row(), scenario.elsewhere.row()};
    RowBuilder before;
    RowBuilder after;
    merge_rows(before_parts, before);
    merge_rows(after_parts, after);
    const ColumnIndex wanted[] = {1, 2};
    for (std::uint64_t at = unix_seconds(scenario.scope.horizon); at <= kNowSeconds; at += 7) {
      VisibleCell old_cells[2];
      VisibleCell new_cells[2];
      const bool existed =
          read_visible(before.row(), second(at), 1, schema, wanted, old_cells, memory);
      const bool exists =
          read_visible(after.row(), second(at), 1, schema, wanted, new_cells, memory);
      ASSERT_TRUE(existed || !exists) << describe(scenario) << " at " << at;
      for (std::size_t i = 0; exists && i < 2; ++i) {
        if (new_cells[i].timestamp == 0) continue;
        ASSERT_EQ(new_cells[i].timestamp, old_cells[i].timestamp) << describe(scenario);
      }
    }
  }
}

}  // namespace
}  // namespace moraine::table
