#include "keyvalue/key_value.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/invariant.h"

namespace moraine {
namespace {

// References to the blobs of values that are being read.
class HeldBlobs {
 public:
  explicit HeldBlobs(KeyValueState& state) : state_(state) {}
  HeldBlobs(const HeldBlobs&) = delete;
  HeldBlobs& operator=(const HeldBlobs&) = delete;
  ~HeldBlobs() { release(); }

  void add(const StoredValue& value) {
    for (const ValuePiece& piece : value.pieces) {
      if (piece.is_inline()) continue;
      state_.hold(piece.id);
      ids_.push_back(piece.id);
    }
  }
  void release() {
    for (const BlobId& id : std::exchange(ids_, {})) state_.release(id);
  }

 private:
  KeyValueState& state_;
  std::vector<BlobId> ids_;
};

const Slice& inline_bytes(const ValuePiece& piece) {
  const Slice* const bytes = piece.inline_data.single();
  INVARIANT(bytes != nullptr, "an inline value of the state is in several slices");
  return *bytes;
}

}  // namespace

Task<Result<std::unique_ptr<KeyValue>>> KeyValue::boot(World world, BlobGroups& groups,
                                                       TabletInfo info, LeaderOptions options) {
  std::unique_ptr<KeyValue> tablet(new KeyValue(world, groups));
  CO_TRY(tablet->leader_,
         co_await Leader::boot(world, groups, std::move(info), tablet->state_, options));
  tablet->pending_lock_ = tablet->state_.lock_generation();
  co_return std::move(tablet);
}

Task<void> KeyValue::stop() {
  co_await leader_->stop(true);
}

Task<Result<void>> KeyValue::execute(std::vector<Command> commands,
                                     std::optional<std::uint64_t> lock) {
  CO_TRY_VOID(check(commands));
  auto transaction = std::make_shared<Transaction>();
  transaction->commands = std::move(commands);
  transaction->lock = lock;
  co_return co_await commit(std::move(transaction));
}

Task<Result<std::uint64_t>> KeyValue::acquire_lock() {
  auto transaction = std::make_shared<Transaction>();
  transaction->raise_lock = true;
  CO_TRY_VOID(co_await commit(transaction));
  co_return transaction->lock_given;
}

Task<Result<void>> KeyValue::commit(std::shared_ptr<Transaction> transaction) {
  CommitRequest request;
  for (ByteChain& piece : blob_pieces(transaction->commands)) {
    request.blobs.push_back({kFirstDataChannel, std::move(piece)});
  }
  for (const Command& command : transaction->commands) {
    if (const auto* write = std::get_if<WriteKey>(&command)) {
      request.body_bytes_hint +=
          write->key.size() + 64 + std::min(write->value.size(), kInlineValueMax);
    }
  }
  // With entries always in flight the view would never be dropped.
  request.after_confirmed = [this] { return view_.changed_keys() >= kViewKeysMax; };
  request.body = [this, transaction](const std::vector<BlobId>& blobs) {
    return run(*transaction, blobs);
  };
  Leader::Confirmed confirmed = [this, transaction](const std::vector<BlobId>&) {
    confirm(*transaction);
  };
  CO_TRY_VOID(co_await leader_->commit(std::move(request), std::move(confirmed)));
  co_return transaction->outcome;
}

// Runs in the order of the log, so `view_`, with the changes of every earlier transaction, is what
// the commands must see. A transaction that fails still has an (empty) body in the log.
ByteChain KeyValue::run(Transaction& transaction, const std::vector<BlobId>& blobs) {
  ++unconfirmed_;
  const auto now = static_cast<std::uint64_t>(world_.clock.since_epoch().count());
  if (transaction.lock && *transaction.lock != pending_lock_) {
    transaction.outcome = fail(Errc::kConflict, fmt::format("lock generation is {}, not {}",
                                                            pending_lock_, *transaction.lock));
  } else {
    transaction.outcome = run_commands(transaction.commands, blobs, now, view_);
  }
  if (!transaction.outcome) {
    view_.roll_back();
    transaction.unused = blobs;
    return encode_changes({});
  }
  std::vector<Change> changes = view_.changes();
  if (transaction.raise_lock) changes.push_back(SetLock{pending_lock_ + 1});
  ByteChain body = encode_changes(changes);
  if (body.size() > kBodyBytesMax) {
    view_.roll_back();
    transaction.unused = blobs;
    transaction.outcome =
        fail(Errc::kInvalidArgument,
             fmt::format("the transaction is too large: its changes have {} bytes", body.size()));
    return encode_changes({});
  }
  view_.accept();
  if (transaction.raise_lock) transaction.lock_given = ++pending_lock_;
  transaction.changes = std::move(changes);
  return body;
}

void KeyValue::confirm(Transaction& transaction) {
  state_.apply(transaction.changes);
  leader_->discard(transaction.unused);
  if (--unconfirmed_ == 0) view_.clear();
  discard_unreferenced();
}

void KeyValue::discard_unreferenced() {
  leader_->discard(state_.take_unreferenced());
}

std::optional<KeyInfo> KeyValue::find(const std::string& key) const {
  const auto found = state_.keys().find(key);
  if (found == state_.keys().end()) return std::nullopt;
  return KeyInfo{key, found->second.size(), found->second.created_ms};
}

std::vector<KeyInfo> KeyValue::list(const KeyRange& range, std::size_t most) const {
  std::vector<KeyInfo> found;
  auto at = range.from ? state_.keys().lower_bound(*range.from) : state_.keys().begin();
  for (; at != state_.keys().end() && !range.above(at->first) && found.size() < most; ++at) {
    if (range.below(at->first)) continue;
    found.push_back({at->first, at->second.size(), at->second.created_ms});
  }
  return found;
}

std::vector<std::uint64_t> KeyValue::piece_sizes(const std::string& key) const {
  std::vector<std::uint64_t> sizes;
  const auto found = state_.keys().find(key);
  if (found == state_.keys().end()) return sizes;
  for (const ValuePiece& piece : found->second.pieces) sizes.push_back(piece.size);
  return sizes;
}

Task<Result<blob::Colour>> KeyValue::ask_colour() {
  co_return co_await leader_->ask_colour();
}

Task<Result<Slice>> KeyValue::read(std::string key, std::uint64_t offset, std::uint64_t size) {
  const auto found = state_.keys().find(key);
  if (found == state_.keys().end()) {
    co_return fail(Errc::kNotFound, fmt::format("key {:?} does not exist", key));
  }
  const std::uint64_t total = found->second.size();
  if (offset > total) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("offset {} is past the end of the value at {}", offset, total));
  }
  const std::uint64_t wanted = size == 0 ? total - offset : std::min(size, total - offset);
  if (wanted > kReadBytesMax) {
    co_return fail(
        Errc::kInvalidArgument,
        fmt::format("{} bytes requested, at most {} can be read at once", wanted, kReadBytesMax));
  }
  co_return co_await read_value(found->second, offset, wanted);
}

Task<Result<RangeRead>> KeyValue::read_range(KeyRange range, std::uint64_t limit_bytes,
                                             bool with_data) {
  RangeRead result;
  std::vector<std::pair<KeyInfo, StoredValue>> chosen;
  const std::uint64_t limit = std::min<std::uint64_t>(limit_bytes, kReadBytesMax);
  std::uint64_t bytes = 0;
  auto at = range.from ? state_.keys().lower_bound(*range.from) : state_.keys().begin();
  for (; at != state_.keys().end() && !range.above(at->first); ++at) {
    if (range.below(at->first)) continue;
    const std::uint64_t cost = at->first.size() + (with_data ? at->second.size() : 0);
    if (bytes + cost > limit) {
      result.overrun = true;
      break;
    }
    bytes += cost;
    chosen.emplace_back(KeyInfo{at->first, at->second.size(), at->second.created_ms}, at->second);
  }
  // The blobs of a value that is deleted meanwhile stay until the last one is read.
  HeldBlobs held(state_);
  for (const auto& [info, value] : chosen) {
    if (with_data) held.add(value);
  }
  for (auto& [info, value] : chosen) {
    Slice data;
    if (with_data) {
      CO_TRY(data, co_await read_value(value, 0, info.size));
    }
    result.items.push_back({std::move(info), std::move(data)});
  }
  held.release();
  discard_unreferenced();
  co_return result;
}

Task<Result<Slice>> KeyValue::read_value(const StoredValue& value, std::uint64_t offset,
                                         std::uint64_t size) {
  std::vector<ValuePiece> wanted;
  std::uint64_t at = 0;
  for (const ValuePiece& piece : value.pieces) {
    const std::uint64_t from = std::max(offset, at);
    const std::uint64_t to = std::min(offset + size, at + piece.size);
    if (from < to) {
      ValuePiece part = piece;
      part.offset += static_cast<std::uint32_t>(from - at);
      part.size = static_cast<std::uint32_t>(to - from);
      if (piece.is_inline()) part.inline_data = inline_bytes(piece).sub(from - at, part.size);
      wanted.push_back(std::move(part));
    }
    at += piece.size;
  }
  return read_pieces(std::move(wanted), size);
}

// The blobs are held until all of them are read: a transaction meanwhile cannot delete them.
Task<Result<Slice>> KeyValue::read_pieces(std::vector<ValuePiece> pieces, std::uint64_t size) {
  std::vector<Result<Slice>> parts(pieces.size());
  TaskScope reads;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].is_inline()) {
      parts[i] = inline_bytes(pieces[i]);
      continue;
    }
    state_.hold(pieces[i].id);
    reads.spawn(read_piece(pieces[i].id, pieces[i].offset, pieces[i].size, parts[i]));
  }
  co_await reads.join();
  for (const ValuePiece& piece : pieces) {
    if (!piece.is_inline()) state_.release(piece.id);
  }
  discard_unreferenced();
  if (parts.size() == 1) co_return std::move(parts.front());
  Buffer joined(size);
  std::size_t filled = 0;
  for (const Result<Slice>& part : parts) {
    if (!part) co_return part;
    std::memcpy(joined.data() + filled, part->data(), part->size());
    filled += part->size();
  }
  co_return std::move(joined).freeze();
}

Task<void> KeyValue::read_piece(BlobId id, std::uint32_t offset, std::uint32_t size,
                                Result<Slice>& out) {
  blob::Proxy* group = groups_.group(leader_->info().group(id.channel(), id.generation()));
  if (!group) {
    out = fail(Errc::kNotFound, "the group of the blob is not in the config");
    co_return;
  }
  blob::GetRequest request;
  request.queries.push_back({id, offset, size});
  auto answer = co_await group->get(std::move(request));
  const bool ok = answer.items.size() == 1 && answer.items[0].status == blob::Status::kOk;
  if (ok) {
    out = std::move(answer.items[0].data);
    co_return;
  }
  const blob::Status status = answer.items.size() == 1 ? answer.items[0].status : answer.status;
  const bool damaged = answer.items.size() == 1 && answer.items[0].damaged;
  out = fail(damaged ? Errc::kCorrupt : Errc::kUnavailable,
             fmt::format("{}: {} {}", id.to_string(), to_string(status), answer.reason));
}

}  // namespace moraine
