// when_all: runs several tasks concurrently on one thread.
//
//   std::vector<Task<Result<Timestamp>>> transfers;
//   for (...) transfers.push_back(transfer(db, accounts, from, to));
//   for (const auto& done : co_await when_all(std::move(transfers))) ...
//
// Promise    All tasks are started, in order, before any is awaited. It finishes when the last task
//            has finished, and returns their values in the order of the tasks.
// Threading  The tasks must finish on the thread that awaits when_all, as those of a Database do in
//            its run().
#pragma once

#include <coroutine>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "moraine/task.h"

namespace moraine {

namespace detail {

// Awaited by one coroutine until `left` others have finished.
class Countdown {
 public:
  explicit Countdown(std::size_t left) : left_(left) {}
  // Resumes the waiter, which may destroy this.
  void one_finished() {
    if (--left_ == 0 && waiter_) waiter_.resume();
  }

  bool await_ready() const noexcept { return left_ == 0; }
  void await_suspend(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }
  void await_resume() const noexcept {}

 private:
  std::size_t left_;
  std::coroutine_handle<> waiter_;
};

// The task's frame is destroyed before the waiter is resumed.
template <class T>
Task<void> run_into(Task<T> task, std::optional<T>& value, Countdown& running) {
  value.emplace(co_await Task<T>(std::move(task)));
  running.one_finished();
}
inline Task<void> run_and_count(Task<void> task, Countdown& running) {
  co_await Task<void>(std::move(task));
  running.one_finished();
}

}  // namespace detail

template <class T>
Task<std::vector<T>> when_all(std::vector<Task<T>> tasks) {
  std::vector<std::optional<T>> found(tasks.size());
  detail::Countdown running(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    spawn(detail::run_into(std::move(tasks[i]), found[i], running));
  }
  co_await running;
  std::vector<T> values;
  values.reserve(found.size());
  for (std::optional<T>& value : found) values.push_back(std::move(*value));
  co_return values;
}

inline Task<void> when_all(std::vector<Task<void>> tasks) {
  detail::Countdown running(tasks.size());
  for (Task<void>& task : tasks) spawn(detail::run_and_count(std::move(task), running));
  co_await running;
}

}  // namespace moraine
