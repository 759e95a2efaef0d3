// FetchWork: one Fetch request: its partitions, reading within the limits, and waiting for data.
//
// Promise    Answers as soon as there are min_bytes, at once on an error, and otherwise with the
//            available data when the time is over. Nothing is polled: partitions wake it. While it
//            waits it holds no data. All memory of the answer is reserved in the budget.
// Limits     kFetchBytesMax and kFetchWaitMax, whatever is requested, kFetchPartOfRest of the
//            memory that is left; whole batches only, and at least one from the first partition
//            that has any.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "gateway/kafka/server/handlers.h"
#include "io/event.h"

namespace moraine::kafka {

class FetchWork {
 public:
  FetchWork(ServerContext& server, FetchRequest request, RequestContext about);
  FetchWork(const FetchWork&) = delete;
  FetchWork& operator=(const FetchWork&) = delete;
  ~FetchWork();

  Task<FetchOutcome> run();

 private:
  struct Part {
    FetchResponse::Partition* answer = nullptr;
    TopicPtr topic;
    std::shared_ptr<queue::Partition> partition;  // Null: answered with an error.
    queue::Offset offset = 0;
    std::size_t bytes_max = 0;
    std::uint64_t watch = 0;          // 0: none.
    std::uint64_t written_bytes = 0;  // Of the partition, when it was read.
  };

  TopicPtr find_topic(const FetchRequest::Topic& asked) const;
  void find_parts();
  void keep_what_is_needed();
  Part find_part(const TopicPtr& topic, ErrorCode missing, const FetchRequest::Partition& asked,
                 FetchResponse::Partition& answer);
  // Sets the offsets of an answer; false: it became an error.
  bool set_offsets(Part& part);
  // After set_offsets(): nothing is stored from the part's offset on.
  static bool at_end(const Part& part) {
    return static_cast<std::int64_t>(part.offset) >= part.answer->high_watermark;
  }
  bool any_data();
  std::size_t room_needed() const;
  // Reserves memory for read_all(), and reads; on return all data is covered.
  Task<void> read_within_budget();
  Task<void> take_room(std::size_t bytes);
  Task<std::size_t> read_all();
  // Loads parts into the cache, from number `from` on.
  void read_ahead(std::size_t from, std::size_t bytes);
  // Returns the bytes of its records: at most `most`, or one batch if it is the first.
  std::size_t take_answer(Part& part, Result<queue::ReadAnswer> read, std::size_t most, bool first);
  void log_damage(const Part& part, const Error& error);
  // Copies slices that are a small part of a large buffer, unless memory is plenty.
  void copy_small_parts(std::vector<Slice>& slices);
  void drop_records();
  bool time_over() const;
  void watch_all();
  bool worth_reading() const;
  Task<void> wait_for_change();

  ServerContext& server_;
  FetchRequest request_;
  const RequestContext about_;
  const Instant deadline_;
  std::size_t bytes_max_;
  std::size_t bytes_min_;
  FetchResponse response_;
  std::vector<Part> parts_;
  ByteBudget::Lease room_;
  std::size_t held_bytes_ = 0;   // The memory of the records.
  std::size_t ready_bytes_ = 0;  // Found by the last read.
  bool failed_ = false;          // A partition has an error: it is answered at once.
  bool watching_ = false;
  std::uint64_t disconnect_hook_ = 0;
  // Set by callbacks of partitions and the client, which may come after the work has ended.
  const std::shared_ptr<Signal> changed_ = std::make_shared<Signal>(server_.executor);
};

}  // namespace moraine::kafka
