#include "client/select_stream.h"

#include <algorithm>
#include <numeric>

#include "io/run_on.h"
#include "io/sync.h"

namespace moraine::client {
namespace {

Task<void> run_body(Executor& lane, Executor& back, LaneBody& body, Result<void>& result) {
  const auto call = [&body] { return body(); };
  result = co_await run_on(lane, back, call);
}

}  // namespace

FedSink::FedSink(SelectContext& context, const ReadyStage& ready, query::Sink& sink,
                 const char* step)
    : context_(context),
      ready_(ready),
      sink_(sink),
      flow_(ready.steps, sink, context.options.analyze ? &context.client.executor() : nullptr),
      memory_(context.control, step) {
  flow_.set_guard([this]() -> Result<void> {
    TRY_VOID(context_.control.check(*Executor::current()));
    return memory_.set(sink_.bytes());
  });
}

Result<void> FedSink::push(const query::Batch& batch, const query::Selection& rows,
                           std::uint64_t position) {
  return flow_.push(batch, rows, position);
}

Task<Result<bool>> FedSink::feed(PartReader& reader, std::uint64_t& position,
                                 std::function<bool()> pause) {
  const table::ScanStatistics before = reader.statistics();
  const Result<bool> ended = co_await feed_rows(reader, position, std::move(pause));
  const table::ScanStatistics& now = reader.statistics();
  scanned_.blocks_read += now.blocks_read - before.blocks_read;
  scanned_.blocks_skipped += now.blocks_skipped - before.blocks_skipped;
  scanned_.rows_merged += now.rows_merged - before.rows_merged;
  co_return ended;
}

Task<Result<bool>> FedSink::feed_rows(PartReader& reader, std::uint64_t& position,
                                      std::function<bool()> pause) {
  Executor& lane = *Executor::current();
  query::Batch batch;
  for (std::size_t turn = 1; sink_.needs_rows() && !pause(); ++turn) {
    CO_TRY_VOID(context_.control.check(lane));
    const Instant begun = context_.options.analyze ? lane.now() : Instant();
    CO_TRY(const bool more, co_await reader.next(batch));
    if (context_.options.analyze) read_.time += lane.now() - begun;
    if (!more) co_return true;
    read_.rows += batch.rows;
    ++read_.batches;
    CO_TRY(const std::uint64_t usable,
           context_.control.take_input(reader.rows_visited(), reader.batch_bytes()));
    // Rows that are merged are visited before the call that returns them.
    const bool limited = usable < reader.rows_visited();
    const std::uint64_t rows = limited ? std::min<std::uint64_t>(usable, batch.rows) : batch.rows;
    CO_TRY_VOID(push(batch, query::Selection::all(rows), position));
    if (limited) co_return true;
    position += batch.rows;
    if (turn % kBatchesPerTurn == 0) co_await yield(lane);
  }
  co_return !sink_.needs_rows();
}

void FedSink::report() {
  SelectStatistics& statistics = context_.statistics;
  const table::ScanStatistics scanned = std::exchange(scanned_, {});
  statistics.blocks_read += scanned.blocks_read;
  statistics.blocks_skipped += scanned.blocks_skipped;
  statistics.rows_merged += scanned.rows_merged;
  const auto add = [this](const query::PlanNode* node, const query::StepFigures& figures) {
    query::StepFigures& all = context_.figures[node];
    all.rows += figures.rows;
    all.batches += figures.batches;
    all.time += figures.time;
  };
  if (ready_.stage->scan != nullptr) add(ready_.stage->source, std::exchange(read_, {}));
  const std::vector<query::StepFigures>& figures = flow_.figures();
  for (std::size_t i = 0; i < ready_.steps.size(); ++i) add(ready_.steps[i].node, figures[i]);
  if (ready_.stage->end != nullptr) add(ready_.stage->end, figures.back());
}

Task<Result<void>> run_on_lanes(SelectContext& context, std::vector<LaneBody> bodies) {
  if (bodies.size() == 1) co_return co_await bodies[0]();
  Executor& back = *Executor::current();
  std::vector<Result<void>> results(bodies.size());
  TaskScope scope;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    Executor& lane = *context.lanes[i % context.lanes.size()];
    scope.spawn(run_body(lane, back, bodies[i], results[i]));
  }
  co_await scope.join();
  for (const Result<void>& result : results) {
    if (!result && !query::QueryControl::is_stop(result.error())) co_return result;
  }
  for (const Result<void>& result : results) {
    CO_TRY_VOID(result);
  }
  co_return Result<void>();
}

namespace {

Task<Result<void>> feed_some(SelectContext& context, const ReadyStage& ready, FedSink& sink,
                             std::atomic<std::size_t>& next_part) {
  const auto never = [] { return false; };
  for (;;) {
    const std::size_t part = next_part.fetch_add(1);
    if (part >= ready.input.parts.size()) break;
    PartReader reader(context, ready.input, ready.input.parts[part]);
    std::uint64_t position = first_position(part);
    const Result<bool> fed = co_await sink.feed(reader, position, never);
    if (!fed) {
      context.control.stop();
      co_return std::unexpected(fed.error());
    }
    if (context.control.incomplete_input()) break;
  }
  co_return Result<void>();
}

}  // namespace

Task<Result<void>> feed_parts(SelectContext& context, const ReadyStage& ready,
                              const std::vector<std::unique_ptr<FedSink>>& sinks) {
  std::atomic<std::size_t> next_part{0};
  std::vector<LaneBody> bodies;
  for (const auto& sink : sinks) {
    bodies.emplace_back([&context, &ready, &sink = *sink, &next_part] {
      return feed_some(context, ready, sink, next_part);
    });
  }
  context.statistics.parts += ready.input.parts.size();
  CO_TRY_VOID(co_await run_on_lanes(context, std::move(bodies)));
  for (const auto& sink : sinks) sink->report();
  co_return Result<void>();
}

struct PartStream::Part {
  Part(SelectContext& context, const ReadyStage& ready, std::size_t number,
       std::span<const ValueType> types)
      : reader(context, ready.input, ready.input.parts[number]),
        sink(types, ready.stage->rows_max()),
        fed(context, ready, sink, "the result of the query"),
        position(first_position(number)) {}
  bool is_full() const { return sink.store.rows() >= kAheadRows || sink.bytes() >= kAheadBytes; }

  PartReader reader;
  query::CollectSink sink;
  FedSink fed;
  std::uint64_t position;
  bool ended = false;
};

PartStream::PartStream(SelectContext& context, const ReadyStage& ready)
    : context_(context), ready_(ready), types_(query::types_of(ready.stage->before_end().columns)) {
  context.statistics.parts += ready.input.parts.size();
}

PartStream::~PartStream() = default;

void PartStream::open_parts() {
  if (is_full() || context_.control.incomplete_input()) {
    parts_.clear();
    next_part_ = ready_.input.parts.size();
  }
  while (parts_.size() < context_.lanes.size() && next_part_ < ready_.input.parts.size()) {
    parts_.push_back(std::make_unique<Part>(context_, ready_, next_part_++, types_));
  }
}

Task<Result<bool>> PartStream::next(query::RowStore& out) {
  open_parts();
  if (parts_.empty()) co_return false;
  std::vector<LaneBody> bodies;
  for (const auto& part : parts_) {
    if (part->ended || part->is_full()) continue;
    bodies.emplace_back([this, &part = *part]() -> Task<Result<void>> {
      const auto full = [&part] { return part.is_full(); };
      Result<bool> ended = co_await part.fed.feed(part.reader, part.position, full);
      if (!ended) {
        context_.control.stop();
        co_return std::unexpected(std::move(ended).error());
      }
      part.ended = *ended;
      co_return Result<void>();
    });
  }
  if (!bodies.empty()) {
    CO_TRY_VOID(co_await run_on_lanes(context_, std::move(bodies)));
  }
  while (!parts_.empty()) {
    Part& first = *parts_.front();
    take_rows(std::exchange(first.sink.store, query::RowStore(types_)), out);
    if (!first.ended) break;
    first.fed.report();
    parts_.pop_front();
  }
  co_return true;
}

void PartStream::take_rows(query::RowStore rows, query::RowStore& out) {
  const query::Limit& limit = ready_.stage->limit;
  const auto skipped =
      static_cast<std::size_t>(std::min<std::uint64_t>(limit.offset - rows_skipped_, rows.rows()));
  rows_skipped_ += skipped;
  const auto taken = static_cast<std::size_t>(
      std::min<std::uint64_t>(limit.limit - rows_taken_, rows.rows() - skipped));
  rows_taken_ += taken;
  if (taken == 0) return;
  if (taken == rows.rows() && out.rows() == 0) {
    out = std::move(rows);
    return;
  }
  std::vector<std::uint32_t> chosen(taken);
  std::iota(chosen.begin(), chosen.end(), static_cast<std::uint32_t>(skipped));
  out.append_rows(rows, chosen);
}

}  // namespace moraine::client
