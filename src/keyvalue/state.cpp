#include "keyvalue/state.h"

#include "base/invariant.h"

namespace moraine {
namespace {

constexpr std::size_t kPageBytes = 1u << 20;

std::size_t encoded_bytes(const std::string& key, const StoredValue& value) {
  std::size_t total = key.size() + 32;
  for (const ValuePiece& piece : value.pieces) total += 40 + piece.inline_data.size();
  return total;
}

Slice page_of(const std::vector<Change>& changes) {
  return encode_changes(changes, ChainWriter::Slices::kCopied).joined();
}

}  // namespace

void KeyValueState::release(const BlobId& id) {
  const auto found = references_.find(id);
  INVARIANT(found != references_.end(), "reference count of {} underflows", id.to_string());
  if (--found->second > 0) return;
  references_.erase(found);
  unreferenced_.push_back(id);
}

void KeyValueState::erase(const std::string& key) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return;
  bytes_ -= found->second.size();
  const StoredValue old = std::move(found->second);
  keys_.erase(found);
  for (const ValuePiece& piece : old.pieces) {
    if (!piece.is_inline()) release(piece.id);
  }
}

void KeyValueState::set(const std::string& key, const StoredValue& value) {
  // The new value first: it may share blobs with the old one.
  for (const ValuePiece& piece : value.pieces) {
    if (!piece.is_inline()) hold(piece.id);
  }
  erase(key);
  bytes_ += value.size();
  StoredValue& stored = keys_[key];
  stored = value;
  // Also releases the memory that was received with the bytes.
  for (ValuePiece& piece : stored.pieces) {
    if (piece.is_inline()) piece.inline_data = piece.inline_data.joined();
  }
}

// All references are acquired before any is released, so that a blob that only moves between keys
// is never unreferenced in between.
void KeyValueState::apply(const std::vector<Change>& changes) {
  std::vector<BlobId> held;
  for (const Change& change : changes) {
    const auto* write = std::get_if<SetKey>(&change);
    if (!write) continue;
    for (const ValuePiece& piece : write->value.pieces) {
      if (piece.is_inline()) continue;
      hold(piece.id);
      held.push_back(piece.id);
    }
  }
  for (const Change& change : changes) {
    if (const auto* write = std::get_if<SetKey>(&change)) {
      set(write->key, write->value);
    } else if (const auto* remove = std::get_if<EraseKey>(&change)) {
      erase(remove->key);
    } else {
      lock_generation_ = std::get<SetLock>(change).generation;
    }
  }
  for (const BlobId& id : held) release(id);
}

Result<void> KeyValueState::replay(const Slice& body) {
  TRY(const std::vector<Change> changes, decode_changes(body));
  apply(changes);
  unreferenced_.clear();
  return {};
}

Result<void> KeyValueState::restore(const std::vector<Slice>& pages) {
  for (const Slice& page : pages) {
    TRY_VOID(replay(page));
  }
  return {};
}

std::vector<Slice> KeyValueState::snapshot() const {
  std::vector<Slice> pages;
  std::vector<Change> changes{SetLock{lock_generation_}};
  std::size_t bytes = 0;
  for (const auto& [key, value] : keys_) {
    changes.push_back(SetKey{key, value});
    bytes += encoded_bytes(key, value);
    if (bytes < kPageBytes) continue;
    pages.push_back(page_of(changes));
    changes.clear();
    bytes = 0;
  }
  pages.push_back(page_of(changes));
  return pages;
}

std::vector<BlobId> KeyValueState::live_blobs() const {
  std::vector<BlobId> ids;
  for (const auto& [id, count] : references_) ids.push_back(id);
  return ids;
}

}  // namespace moraine
