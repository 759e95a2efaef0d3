// Model: what clients were promised, kept outside the system; the oracle of every run.
//
// Promise    Checks each reply against earlier requests and replies: an acknowledged blob is read
//            back exactly until a collect that may cover it was issued; a fenced writer never gets
//            OK; blocks never decrease. Requires only what must hold under every tolerated failure.
// Terms      confirmed: a put was acknowledged, or a restoring read returned OK. exposed: some
//            collect that was sent may remove it. doomed: an acknowledged collect must remove it.
// Threading  The thread of the simulation.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "blob/proxy/requests.h"
#include "sim/history.h"

namespace moraine::sim {

struct BlobRecord {
  bool confirmed = false;
  bool exposed = false;
  bool keep_sent = false;
  bool keep_agreed = false;
  bool do_not_keep_sent = false;
  bool do_not_keep_agreed = false;

  bool must_exist() const { return confirmed && !exposed; }
};

// Barriers of one (tablet, channel): the highest sent, and the highest agreed.
struct BarrierRecord {
  blob::GenStep soft_sent;
  blob::GenStep soft_agreed;
  blob::GenStep hard_sent;
  blob::GenStep hard_agreed;
};

struct TabletRecord {
  blob::Generation blocked_agreed = 0;
  blob::Generation blocked_sent = 0;
  std::map<blob::Generation, std::uint64_t> block_winners;  // The issuer that got OK.
  std::map<blob::BlobId, BlobRecord> blobs;
  std::map<blob::Channel, BarrierRecord> barriers;
};

class Model {
 public:
  using Tablets = std::map<blob::TabletId, TabletRecord>;

  explicit Model(History& history) : history_(history) {}

  TabletRecord& tablet(blob::TabletId id) { return tablets_[id]; }
  const Tablets& tablets() const { return tablets_; }
  BlobRecord* find(const blob::BlobId& id);
  bool doomed(const blob::BlobId& id, const BlobRecord& record) const;

  // What was known when the command was sent.
  struct Ticket {
    blob::Generation blocked = 0;
    std::set<blob::BlobId> must_exist;
    blob::GenStep agreed;  // For a collect: the barrier of its kind.
  };

  // Each pair: called when the command is sent, and when its reply arrives.
  Ticket put_sent(const blob::BlobId& id);
  void put_done(const Ticket& ticket, const blob::BlobId& id, const blob::PutResult& result);

  Ticket get_sent(const blob::GetRequest& request);
  void get_done(const Ticket& ticket, const blob::GetRequest& request,
                const blob::GetResult& result);

  Ticket block_sent(const blob::BlockRequest& request);
  void block_done(const Ticket& ticket, const blob::BlockRequest& request,
                  const blob::BlockResult& result);

  Ticket collect_sent(const blob::CollectRequest& request);
  void collect_done(const Ticket& ticket, const blob::CollectRequest& request,
                    const blob::CollectResult& result);

  Ticket range_sent(const blob::RangeRequest& request);
  void range_done(const Ticket& ticket, const blob::RangeRequest& request,
                  const blob::RangeResult& result);

  Ticket discover_sent(const blob::DiscoverRequest& request);
  void discover_done(const Ticket& ticket, const blob::DiscoverRequest& request,
                     const blob::DiscoverResult& result);

  Ticket blocked_sent(blob::TabletId tablet);
  void blocked_done(const Ticket& ticket, blob::TabletId tablet,
                    const blob::GetBlockResult& result);

 private:
  void expose(TabletRecord& tablet, const blob::CollectRequest& request);
  void check_data(const blob::BlobId& id, std::uint32_t shift, std::size_t size, const Slice& data);
  void check_blocked(blob::TabletId tablet, blob::Generation least, blob::Generation reported);
  // `id` was read: it must have been written; a restoring read confirms it.
  void seen(const blob::BlobId& id, bool restoring, const char* where);
  void lost(const blob::BlobId& id, const char* where);

  History& history_;
  Tablets tablets_;
};

}  // namespace moraine::sim
