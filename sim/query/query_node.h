// A node in a simulated world, filled with tables in one of many physical layouts.
//
//   layout: lanes, tablets of each table, chunk format, codec, block size, row cache, key filter,
//           older versions and deleted rows, flushes, compaction, rows left in memory, a restart
//
// Promise    After load() the tables hold the rows that were given, whatever was written before.
//            The same random numbers give the same layout.
// Threading  One thread: the calls run the simulated world.
// Errors     Those of tables and transactions.
// Tests      query_campaign_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/lane_tables.h"
#include "client/table_client.h"
#include "io/sim/sim_world.h"
#include "node/node.h"
#include "sim/query/random_tables.h"

namespace moraine::sim {

class QueryNode {
 public:
  QueryNode(std::uint64_t seed, std::size_t lanes);
  QueryNode(const QueryNode&) = delete;
  QueryNode& operator=(const QueryNode&) = delete;
  ~QueryNode();

  Result<void> load(const QueryTables& tables);
  // Flushes, compacts or restarts, or nothing.
  Result<void> change_layout();
  // What was chosen, for messages.
  const std::string& layout() const { return layout_; }

  client::TableClient& client() { return *client_; }
  std::size_t lanes() const { return lanes_; }
  // Runs `body` on a lane and returns its result.
  template <class T>
  T run(std::size_t lane, std::function<Task<T>()> body) {
    return world_.run(hop(node_->lane(lane).executor, std::move(body)));
  }

 private:
  template <class T>
  Task<T> hop(Executor& lane, std::function<Task<T>()> body) {
    co_await yield(lane);
    T result = co_await body();
    co_await yield(world_.executor());
    co_return result;
  }

  void start();
  void stop();
  Task<Result<void>> begin();
  Result<void> create(const QueryTable& table);
  TableOptions random_options();
  std::vector<std::vector<Value>> random_pivots(const QueryTable& table);
  Result<void> write(const QueryTable& table, std::span<const query::Row> rows);
  Task<Result<void>> write_rows(const QueryTable& table, std::span<const query::Row> rows);
  Task<Result<void>> remove_rows(const QueryTable& table, std::span<const query::Row> rows);
  Result<void> flush(const std::string& path);
  Result<void> compact(const std::string& path);

  SeededRandom random_;
  SimWorld world_;
  SimNode& machine_;
  const std::size_t lanes_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<LaneTables> tables_;
  std::unique_ptr<client::TableClient> client_;
  std::vector<std::string> paths_;
  std::string layout_;
};

}  // namespace moraine::sim
