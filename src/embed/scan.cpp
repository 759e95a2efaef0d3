// Scans over all tablets of a table, one after the other.

#include <fmt/format.h>

#include <thread>

#include "embed/api_impl.h"

namespace moraine {

Value ScanBatch::Column::at(std::size_t row) const {
  if (!nulls.empty() && nulls[row] != 0) return Value();
  switch (type) {
    case ValueType::kNull: return Value();
    case ValueType::kInt64: return Value(static_cast<std::int64_t>(words[row]));
    case ValueType::kUint64: return Value(words[row]);
    case ValueType::kDouble: return Value(std::bit_cast<double>(words[row]));
    case ValueType::kBoolean: return Value(words[row] != 0);
    case ValueType::kString: return Value(texts[row]);
    case ValueType::kAny: return Value::any(texts[row]);
  }
  return Value();
}

Scan::Scan(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Scan::Scan(Scan&&) noexcept = default;
Scan& Scan::operator=(Scan&&) noexcept = default;
Scan::~Scan() = default;

Scan::Impl::~Impl() {
  if (registered) core->scans().remove(*this);
}

std::unexpected<Error> Scan::Impl::expired() const {
  return fail(Errc::kAborted,
              fmt::format("the scan was not used for {} ms and has expired; begin a new one",
                          timeout.count()));
}

// Begins a step, or fails without beginning it.
Result<void> Scan::Impl::begin_step() {
  State before = State::kIdle;
  while (!state.compare_exchange_weak(before, State::kStepping)) {
    if (before == State::kExpired) {
      Result<void> of_life = life ? life->use_by_scan() : Result<void>();
      if (of_life) of_life = expired();
      return of_life;
    }
    if (before == State::kStepping) {
      return fail(Errc::kInvalidArgument, "another step of this scan is still running");
    }
    before = State::kIdle;  // The sweep is short.
    std::this_thread::yield();
  }
  Result<void> used_now = life ? life->use_by_scan() : Result<void>();
  const bool idle = registered && !ended && Clock::now() - used > timeout;
  if (used_now && idle) used_now = expired();
  if (!used_now) {
    release();
    state.store(State::kExpired);
    return used_now;
  }
  if (!std::exchange(registered, true)) {
    used = Clock::now();
    core->scans().add(*this);
  }
  return {};
}

void Scan::Impl::end_step() {
  used = Clock::now();
  state.store(State::kIdle);
}

void Scan::Impl::end() {
  if (!std::exchange(ended, true)) core->scans().remove(*this);
}

bool Scan::Impl::release_if_idle(Clock::time_point now) {
  State idle = State::kIdle;
  if (!state.compare_exchange_strong(idle, State::kSwept)) return idle == State::kExpired;
  const bool over = now - used > timeout;
  if (over) release();
  state.store(over ? State::kExpired : State::kIdle);
  return over;
}

// Keeps the last batch readable.
void Scan::Impl::release() {
  if (scan) scan->release();
  tablet.reset();
  table.reset();
}

Result<bool> Scan::Impl::open_next() {
  scan.reset();
  if (rows_left == 0) return false;
  while (range < table->ranges.size()) {
    const std::size_t at = range++;
    const std::string& from = table->ranges[at].from;
    const bool last = at + 1 == table->ranges.size();
    const std::string to = last ? std::string() : table->ranges[at + 1].from;
    if (!request.bounds.to.empty() && from >= request.bounds.to) continue;
    if (!to.empty() && to <= request.bounds.from) continue;
    TRY(tablet, table->readable(at));
    request.row_limit = rows_left;
    TRY(scan, tablet->reader().scan(request));
    return true;
  }
  return false;
}

void Scan::Impl::show(ScanBatch& out) {
  out.rows = batch.rows;
  out.columns.resize(batch.columns.size());
  for (std::size_t i = 0; i < batch.columns.size(); ++i) {
    const table::ColumnVector& from = batch.columns[i];
    out.columns[i] = {from.type, from.words, from.texts, from.nulls};
  }
  rows_left -= std::min<std::uint64_t>(rows_left, batch.rows);
}

Result<bool> Scan::next(ScanBatch& batch) {
  TRY_VOID(impl_->begin_step());
  const Impl::Step running(*impl_);
  for (;;) {
    if (!impl_->scan) {
      TRY(const bool opened, impl_->open_next());
      if (!opened) {
        impl_->end();
        return false;
      }
    }
    TRY(const table::TabletScan::Step step, impl_->scan->next(impl_->batch));
    impl_->renew_use();
    if (step == table::TabletScan::Step::kEnd) {
      impl_->scan.reset();
    } else if (step == table::TabletScan::Step::kNeedsData) {
      const Result<void> loaded =
          impl_->core->get<Result<void>>([&] { return impl_->scan->load(); });
      if (!loaded) return std::unexpected(loaded.error());
    } else if (impl_->batch.rows > 0) {
      impl_->show(batch);
      return true;
    }
  }
}

Task<Result<bool>> Scan::next_async(ScanBatch& batch) {
  CO_TRY_VOID(impl_->begin_step());
  const Impl::Step running(*impl_);
  for (;;) {
    if (!impl_->scan) {
      CO_TRY(const bool opened, impl_->open_next());
      if (!opened) {
        impl_->end();
        co_return false;
      }
    }
    CO_TRY(const table::TabletScan::Step step, impl_->scan->next(impl_->batch));
    impl_->renew_use();
    if (step == table::TabletScan::Step::kEnd) {
      impl_->scan.reset();
    } else if (step == table::TabletScan::Step::kNeedsData) {
      CO_TRY_VOID(co_await impl_->scan->load());
    } else if (impl_->batch.rows > 0) {
      impl_->show(batch);
      co_return true;
    }
  }
}

}  // namespace moraine
