// ReadSession: carries out the ReadPlans of many blobs, with few messages to each disk.
//
// Promise    Ends when every plan is done, at the deadline, or at once when a disk returns BLOCKED
//            or a newer config. When a disk is late its plans continue without it.
// Limits     A message has at most kPartQueriesMax queries for at most kGetReplyBytesMax bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blob/proxy/context.h"
#include "blob/proxy/failures.h"
#include "blob/proxy/read_plan.h"

namespace moraine::blob {

struct ReadMode {
  bool index_only = false;
  std::optional<TabletGeneration> force_block;
  std::optional<TabletGeneration> reader;
  Instant deadline;
};

class ReadSession {
 public:
  // The plans outlive the session.
  ReadSession(ProxyContext& context, ViewPtr view, ReadMode mode, std::vector<ReadPlan*> plans);

  // kOk: all plans are done. kBlocked, kDeadline: reason() has details. kRace: start again.
  Task<Status> run();
  std::string reason(std::string_view what) const { return failures_.reason(what); }

 private:
  struct Item {
    std::uint32_t plan = 0;
    ReadAsk ask;
  };
  struct Message {
    std::uint32_t order = 0;
    std::vector<Item> items;
    Instant sent;
    Instant hedge_at;
    bool waiting = true;
  };

  std::size_t bytes_of(const Item& item) const;
  void advance(std::uint32_t plan);
  void flush();
  void send(std::uint32_t order, std::vector<Item> items, std::size_t bytes);
  Instant next_hedge() const;
  void hedge();
  // kOk: the session continues.
  Status take(DiskEvent event);
  void take_answers(Message& message, const DiskReply& reply);
  void fail_items(const Message& message, std::size_t from);

  ProxyContext& context_;
  ViewPtr view_;
  ReadMode mode_;
  std::vector<ReadPlan*> plans_;
  std::size_t undone_;
  std::vector<bool> finished_;
  std::vector<std::vector<Item>> outbox_;  // By disk order.
  std::vector<Message> messages_;          // By tag.
  std::vector<ReadAsk> asks_;              // Scratch.
  ReplyQueue replies_;
  Failures failures_;
};

}  // namespace moraine::blob
