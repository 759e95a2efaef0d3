#include "keyvalue/commands.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine {
namespace {

bool goes_inline(const WriteKey& write) {
  return !write.force_blob && write.value.size() <= kInlineValueMax;
}

Result<void> check_key(const std::string& key) {
  if (key.empty() || key.size() > kKeyBytesMax) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("a key must have 1 to {} bytes, this one has {}", kKeyBytesMax, key.size()));
  }
  return {};
}

// The state of a run: the view, and the blobs not yet used.
struct Run {
  KeyView& view;
  const std::vector<BlobId>& blobs;
  std::uint64_t now_ms;
  std::size_t next_blob = 0;

  Result<void> operator()(const WriteKey& write) {
    StoredValue value;
    value.created_ms = now_ms;
    if (goes_inline(write)) {
      ValuePiece piece;
      piece.inline_data = write.value;
      piece.size = static_cast<std::uint32_t>(write.value.size());
      value.pieces.push_back(std::move(piece));
    } else {
      for (std::size_t at = 0; at < write.value.size(); at += kValueBlobBytesMax) {
        const std::size_t size = std::min(kValueBlobBytesMax, write.value.size() - at);
        value.pieces.push_back(
            {blobs.at(next_blob++), 0, static_cast<std::uint32_t>(size), ByteChain()});
      }
    }
    view.set(write.key, std::move(value));
    return {};
  }

  Result<void> operator()(const RenameKey& rename) {
    const StoredValue* found = view.find(rename.from);
    if (!found) {
      return fail(Errc::kNotFound, fmt::format("rename: key {:?} does not exist", rename.from));
    }
    StoredValue value = *found;
    value.created_ms = now_ms;
    view.erase(rename.from);
    view.set(rename.to, std::move(value));
    return {};
  }

  Result<void> operator()(const CopyKeys& copy) {
    std::vector<std::pair<std::string, StoredValue>> found;
    view.scan(copy.range, [&](const std::string& key, const StoredValue& value) {
      if (key.starts_with(copy.prefix_to_remove)) {
        found.emplace_back(copy.prefix_to_add + key.substr(copy.prefix_to_remove.size()), value);
      }
      return found.size() <= kKeysPerRangeMax;
    });
    if (found.size() > kKeysPerRangeMax) {
      return fail(Errc::kInvalidArgument, "copy: the range has too many keys");
    }
    for (auto& [key, value] : found) {
      TRY_VOID(check_key(key));
      view.set(std::move(key), std::move(value));
    }
    return {};
  }

  Result<void> operator()(const ConcatKeys& concat) {
    StoredValue joined;
    joined.created_ms = now_ms;
    for (const std::string& input : concat.inputs) {
      const StoredValue* found = view.find(input);
      if (!found) {
        return fail(Errc::kNotFound, fmt::format("concat: key {:?} does not exist", input));
      }
      joined.pieces.insert(joined.pieces.end(), found->pieces.begin(), found->pieces.end());
      if (!concat.keep_inputs) view.erase(input);
      if (joined.pieces.size() > kValuePiecesMax) {
        return fail(
            Errc::kInvalidArgument,
            fmt::format("concat: the value would have more than {} pieces", kValuePiecesMax));
      }
    }
    view.set(concat.output, std::move(joined));
    return {};
  }

  Result<void> operator()(const DeleteKeys& remove) {
    std::vector<std::string> keys;
    view.scan(remove.range, [&](const std::string& key, const StoredValue&) {
      keys.push_back(key);
      return keys.size() <= kKeysPerRangeMax;
    });
    if (keys.size() > kKeysPerRangeMax) {
      return fail(Errc::kInvalidArgument, "delete: the range has too many keys");
    }
    for (const std::string& key : keys) view.erase(key);
    return {};
  }
};

}  // namespace

bool KeyRange::below(const std::string& key) const {
  return from && (key < *from || (key == *from && !from_inclusive));
}

bool KeyRange::above(const std::string& key) const {
  return to && (key > *to || (key == *to && !to_inclusive));
}

KeyRange KeyRange::prefix(std::string prefix) {
  KeyRange range;
  std::string end = prefix;
  range.from = std::move(prefix);
  // The first key that does not begin with the prefix.
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (!end.empty()) {
    end.back() = static_cast<char>(end.back() + 1);
    range.to = std::move(end);
  }
  return range;
}

const StoredValue* KeyView::find(const std::string& key) const {
  if (const auto over = overlay_.find(key); over != overlay_.end()) {
    return over->second ? &*over->second : nullptr;
  }
  const auto found = base_.find(key);
  return found == base_.end() ? nullptr : &found->second;
}

void KeyView::remember(const std::string& key) {
  const auto over = overlay_.find(key);
  undo_.emplace_back(key, over == overlay_.end() ? std::nullopt : std::optional(over->second));
}

void KeyView::set(std::string key, StoredValue value) {
  remember(key);
  changes_.push_back(SetKey{key, value});
  overlay_[std::move(key)] = std::move(value);
}

void KeyView::erase(const std::string& key) {
  remember(key);
  changes_.push_back(EraseKey{key});
  overlay_[key] = std::nullopt;
}

void KeyView::scan(const KeyRange& range,
                   const std::function<bool(const std::string&, const StoredValue&)>& visit) const {
  auto base = range.from ? base_.lower_bound(*range.from) : base_.begin();
  auto over = range.from ? overlay_.lower_bound(*range.from) : overlay_.begin();
  while (base != base_.end() || over != overlay_.end()) {
    const bool take_over =
        over != overlay_.end() && (base == base_.end() || over->first <= base->first);
    const std::string& key = take_over ? over->first : base->first;
    if (range.above(key)) return;
    const StoredValue* value =
        take_over ? (over->second ? &*over->second : nullptr) : &base->second;
    if (value && !range.below(key) && !visit(key, *value)) return;
    if (take_over && base != base_.end() && base->first == over->first) ++base;
    if (take_over) {
      ++over;
    } else {
      ++base;
    }
  }
}

void KeyView::accept() {
  undo_.clear();
  changes_.clear();
}

void KeyView::roll_back() {
  for (auto at = undo_.rbegin(); at != undo_.rend(); ++at) {
    if (at->second) {
      overlay_[at->first] = std::move(*at->second);
    } else {
      overlay_.erase(at->first);
    }
  }
  undo_.clear();
  changes_.clear();
}

void KeyView::clear() {
  overlay_.clear();
  undo_.clear();
}

Result<void> check(const std::vector<Command>& commands) {
  if (commands.size() > kTransactionCommandsMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("the transaction has {} commands, at most {} are allowed",
                            commands.size(), kTransactionCommandsMax));
  }
  for (const Command& command : commands) {
    if (const auto* write = std::get_if<WriteKey>(&command)) {
      TRY_VOID(check_key(write->key));
      if (write->force_blob && write->value.empty()) {
        return fail(Errc::kInvalidArgument, "an empty value cannot be a blob");
      }
    } else if (const auto* rename = std::get_if<RenameKey>(&command)) {
      TRY_VOID(check_key(rename->to));
    } else if (const auto* concat = std::get_if<ConcatKeys>(&command)) {
      TRY_VOID(check_key(concat->output));
    }
  }
  return {};
}

DeleteKeys delete_key(std::string key) {
  KeyRange range;
  range.from = key;
  range.to = std::move(key);
  range.to_inclusive = true;
  return {std::move(range)};
}

Result<void> run_commands(const std::vector<Command>& commands, const std::vector<BlobId>& blobs,
                          std::uint64_t now_ms, KeyView& view) {
  Run run{view, blobs, now_ms};
  for (const Command& command : commands) {
    TRY_VOID(std::visit(run, command));
  }
  return {};
}

std::vector<ByteChain> blob_pieces(const std::vector<Command>& commands) {
  std::vector<ByteChain> pieces;
  for (const Command& command : commands) {
    const auto* write = std::get_if<WriteKey>(&command);
    if (!write || goes_inline(*write)) continue;
    if (write->value.size() <= kValueBlobBytesMax) {
      if (!write->value.empty()) pieces.push_back(write->value);
      continue;
    }
    const Slice whole = write->value.joined();
    for (std::size_t at = 0; at < whole.size(); at += kValueBlobBytesMax) {
      pieces.push_back(whole.sub(at, std::min(kValueBlobBytesMax, whole.size() - at)));
    }
  }
  return pieces;
}

}  // namespace moraine
