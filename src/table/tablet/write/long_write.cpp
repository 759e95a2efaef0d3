// Writes that are too long for one entry of the log: their changes go into it in parts, before the
// record that commits or prepares them. Parts without such a record, after a crash or an error, are
// ignored; the log is kept from the first part on as long as the rows are only there.

#include <algorithm>

#include "table/tablet/table_impl.h"

namespace moraine::table {

// The number of parts; 0: the changes fit the record itself.
Task<Result<std::uint32_t>> TableTablet::Impl::log_parts(StoreNumber store, const TransactionId& id,
                                                         std::span<const RowChange> changes) {
  std::size_t bytes = 0;
  for (const RowChange& change : changes) bytes += change_bytes(change);
  const TabletLimits& limits = settings_.limits;
  if (bytes <= limits.write_bytes_max) co_return std::uint32_t{0};
  if (long_writes_ >= kLongWritesMax) {
    co_return fail(Errc::kOverloaded,
                   settings_.table_path + ": other long writes to the tablet are running; retry");
  }
  ++long_writes_;
  Encoder encoder;
  append_changes(encoder, changes);
  const Slice all = encoder.slice();
  std::uint32_t parts = 0;
  Result<void> written;
  for (std::size_t at = 0; at < all.size() && written; at += limits.write_part_bytes) {
    const std::size_t size = std::min(limits.write_part_bytes, all.size() - at);
    written = co_await log_part(store, id, parts++, all.span().subspan(at, size));
  }
  --long_writes_;
  if (written) co_return parts;
  if (!leader_->ended()) state_.parts_ended(id);
  // Parts alone change nothing.
  if (written.error().code == Errc::kUnknownOutcome) written.error().code = Errc::kUnavailable;
  co_return std::unexpected(std::move(written).error());
}

Task<Result<void>> TableTablet::Impl::log_part(StoreNumber store, const TransactionId& id,
                                               std::uint32_t number, ByteSpan bytes) {
  const PartRecord record{store, id, number, std::string(as_text(bytes))};
  co_return co_await log(encode(record), [this, store, id](const std::vector<BlobId>&) {
    state_.part_logged(store, id, leader_->position());
  });
}

Slice rows_record(StoreNumber store, Timestamp commit, const TabletWrite& write,
                  std::uint32_t parts) {
  if (parts == 0) return encode_rows(store, commit, write.transaction, write.changes);
  return encode_rows_of_parts(store, commit, write.transaction, parts);
}

}  // namespace moraine::table
