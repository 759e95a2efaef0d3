// Parts of a scan, fed through the steps of a stage on several lanes. Internal to select.h.
//
// Promise    PartStream gives the rows of all parts in the order of their keys, a few parts ahead,
//            within the limit of the stage. feed_parts() gives each lane a sink of its own.
// Threading  As SelectRun.
// Limits     A part that runs ahead keeps about kAheadRows rows, or kAheadBytes.
// Tests      node/select_test.cpp.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "client/select_scan.h"
#include "query/execute/stage.h"

namespace moraine::client {

inline constexpr std::size_t kAheadRows = 65'536;
inline constexpr std::size_t kAheadBytes = std::size_t{16} << 20;
// A lane serves others after so many batches.
inline constexpr std::size_t kBatchesPerTurn = 8;

// A stage with what its flows need.
struct ReadyStage {
  const query::Stage* stage = nullptr;
  std::vector<query::FlowStep> steps;
  std::vector<std::unique_ptr<query::JoinSink>> joins;
  std::vector<std::unique_ptr<query::MemoryUse>> memory;
  ScanInput input;  // Of a scan.
};

// A sink with the steps before it.
class FedSink {
 public:
  // All outlive it. `step`: for errors.
  FedSink(SelectContext& context, const ReadyStage& ready, query::Sink& sink, const char* step);

  // Pushes the rows of a part, to its end or until `pause` says so. True: it has ended.
  Task<Result<bool>> feed(PartReader& reader, std::uint64_t& position, std::function<bool()> pause);
  Result<void> push(const query::Batch& batch, const query::Selection& rows,
                    std::uint64_t position);
  query::Sink& sink() { return sink_; }
  // Adds its figures to those of the query. On the lane of the caller.
  void report();

 private:
  Task<Result<bool>> feed_rows(PartReader& reader, std::uint64_t& position,
                               std::function<bool()> pause);

  SelectContext& context_;
  const ReadyStage& ready_;
  query::Sink& sink_;
  query::Flow flow_;
  query::MemoryUse memory_;
  query::StepFigures read_;
  table::ScanStatistics scanned_;
};

// The position of the first row of a part.
inline std::uint64_t first_position(std::size_t part) {
  constexpr unsigned kRowBits = 40;
  return std::uint64_t{part} << kRowBits;
}

// One body on each lane; returns the first error when all have ended.
using LaneBody = std::function<Task<Result<void>>()>;
Task<Result<void>> run_on_lanes(SelectContext& context, std::vector<LaneBody> bodies);

// All parts, into the sinks; sink i runs on one lane.
Task<Result<void>> feed_parts(SelectContext& context, const ReadyStage& ready,
                              const std::vector<std::unique_ptr<FedSink>>& sinks);

class PartStream {
 public:
  PartStream(SelectContext& context, const ReadyStage& ready);
  ~PartStream();

  // Appends some rows, maybe none. False: there are no more.
  Task<Result<bool>> next(query::RowStore& out);

 private:
  struct Part;
  void open_parts();
  void take_rows(query::RowStore rows, query::RowStore& out);
  bool is_full() const { return rows_taken_ >= ready_.stage->limit.limit; }

  SelectContext& context_;
  const ReadyStage& ready_;
  std::vector<ValueType> types_;
  std::size_t next_part_ = 0;
  std::deque<std::unique_ptr<Part>> parts_;
  std::uint64_t rows_skipped_ = 0;
  std::uint64_t rows_taken_ = 0;
};

}  // namespace moraine::client
