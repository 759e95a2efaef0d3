// The stages of one plan, run one after the other: parts of tables beside their readers, over
// lanes, and what is left by the caller. Internal to select.h.
//
//   run_all(), then next()  the query itself: its last stage is computed as it is asked for
//   run(root, sink)         all stages of a plan into one sink: the right side of a join
//
// Promise    Nothing runs between two calls. Without ORDER BY and GROUP BY rows are in key order.
// Threading  One call at a time, on any lane. Parts run on the lanes of the context, at most one on
//            each, and have ended when a call returns.
// Limits     Joins look up at most kLookupKeysMax keys; those of select_stream.h.
// Tests      node/select_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "client/select_stream.h"

namespace moraine::client {

// A join looks up keys if its left side has at most so many distinct ones within so many rows, else
// it reads its right side.
inline constexpr std::size_t kLookupKeysMax = 16'384;
inline constexpr std::uint64_t kLookupRowsMax = 131'072;

class SelectRun {
 public:
  explicit SelectRun(SelectContext& context)
      : context_(context), relation_memory_(context.control, "the result of a step") {}
  SelectRun(const SelectRun&) = delete;
  SelectRun& operator=(const SelectRun&) = delete;

  // `root` outlives the object.
  Task<Result<void>> run_all(const query::PlanNode& root);
  // False: no more rows. They live until the next call.
  Task<Result<bool>> next(query::Batch& rows);
  Task<Result<void>> run(const query::PlanNode& root, query::Sink& sink);
  // Adds the figures of the last stage to those of the query. After the last next().
  void report();

 private:
  Task<Result<std::unique_ptr<ReadyStage>>> ready(const query::Stage& stage,
                                                  const query::Relation& source);
  Task<Result<std::unique_ptr<query::JoinSink>>> join_table(const ReadyStage& before,
                                                            const query::PlanNode& node,
                                                            const query::Relation& source);
  Task<Result<std::optional<query::PlanNode>>> by_lookup(const ReadyStage& before,
                                                         const query::PlanNode& node,
                                                         const query::Relation& source);
  // All stages but the last.
  Task<Result<void>> run_stages(const std::vector<query::Stage>& stages, query::Relation& relation);
  // `sorting`: the stage after it, if that only sorts its groups; it is done as well.
  Task<Result<void>> run_stage(const query::Stage& stage, const query::Stage* sorting,
                               query::Relation& relation);
  Task<Result<void>> read_parts(ReadyStage& ready, const query::Stage* sorting,
                                query::Relation& out);
  // False: it ended early, since more than so many rows were read.
  Task<Result<bool>> feed_all(const ReadyStage& ready, const query::Relation& source,
                              query::Sink& sink, const char* step,
                              std::uint64_t rows_max = ~std::uint64_t{0});
  Result<void> count_relation(const query::Relation& relation);
  // The next rows that the last stage takes. False: there are none.
  Task<Result<bool>> next_source(query::Batch& rows);

  SelectContext& context_;
  std::vector<query::Stage> stages_;
  query::Relation relation_;  // What the last stage takes, if it does not read parts.
  query::MemoryUse relation_memory_;
  std::unique_ptr<ReadyStage> streamed_;
  std::unique_ptr<PartStream> stream_;  // Null: relation_ has all rows.
  query::RowStore streamed_rows_;
  std::unique_ptr<ReadyStage> last_;  // Null: rows are returned as they are.
  std::unique_ptr<query::CollectSink> last_sink_;
  std::unique_ptr<FedSink> last_fed_;
  std::size_t row_ = 0;  // Of relation_, with the totals; or of streamed_rows_.
};

}  // namespace moraine::client
