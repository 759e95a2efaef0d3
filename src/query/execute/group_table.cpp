#include "query/execute/group_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace moraine::query {
namespace {

constexpr std::size_t kFirstSlots = 1'024;
// From so many slots on a probe misses the cache, and is asked for in advance.
constexpr std::size_t kPrefetchSlots = 32'768;
constexpr std::size_t kPrefetchDistance = 16;
// Combinations of codes whose numbers are remembered.
constexpr std::size_t kCombinationsMax = 65'536;
constexpr std::uint64_t kNullHash = 0x9e3779b97f4a7c15;

// Equal numbers have equal words.
std::uint64_t equal_word(ValueType type, std::uint64_t word) {
  constexpr std::uint64_t kMinusZero = std::uint64_t{1} << 63;
  return type == ValueType::kDouble && word == kMinusZero ? 0 : word;
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint64_t hash_word(std::uint64_t word) {
  return mix(word ^ 0x2d358dccaa6c78a5, 0x8bb84b93962eacc9);
}

std::uint64_t hash_text(std::string_view text) {
  // Short texts, which most keys are, as two words that overlap.
  if (text.size() <= 16) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    if (text.size() >= 8) {
      __builtin_memcpy(&a, text.data(), 8);
      __builtin_memcpy(&b, text.data() + text.size() - 8, 8);
    } else if (text.size() >= 4) {
      __builtin_memcpy(&a, text.data(), 4);
      __builtin_memcpy(&b, text.data() + text.size() - 4, 4);
    } else if (!text.empty()) {
      a = static_cast<unsigned char>(text[0]);
      b = static_cast<std::uint64_t>(static_cast<unsigned char>(text[text.size() / 2])) << 8 |
          static_cast<unsigned char>(text.back());
    }
    return mix(a ^ 0x2d358dccaa6c78a5 ^ text.size(), b ^ 0x8bb84b93962eacc9);
  }
  return XXH3_64bits(text.data(), text.size());
}

void hash_rows(std::span<const Column> keys, const Selection& rows, std::uint64_t* hashes) {
  for (std::size_t i = 0; i < rows.count; ++i) hashes[i] = kNullHash;
  for (const Column& key : keys) {
    const bool never = key.type == ValueType::kNull || key.all_null();
    for (std::size_t i = 0; i < rows.count; ++i) {
      const std::size_t row = key.at(rows[i]);
      std::uint64_t one = kNullHash;
      if (!never && !(key.nulls != nullptr && key.nulls[row] != 0)) {
        one = is_text(key.type) ? hash_text(key.text(row))
                                : hash_word(equal_word(key.type, key.words[row]));
      }
      hashes[i] = mix(hashes[i] ^ one, 0x9fb21c651e98df25);
    }
  }
}

bool equal_keys(std::span<const Column> a, std::size_t row_a, std::span<const Column> b,
                std::size_t row_b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool null_a = a[i].type == ValueType::kNull || a[i].is_null(row_a);
    const bool null_b = b[i].type == ValueType::kNull || b[i].is_null(row_b);
    if (null_a || null_b) {
      if (null_a != null_b) return false;
      continue;
    }
    const std::size_t at_a = a[i].at(row_a);
    const std::size_t at_b = b[i].at(row_b);
    if (is_text(a[i].type)) {
      if (a[i].text(row_a) != b[i].text(row_b)) return false;
    } else if (equal_word(a[i].type, a[i].words[at_a]) != equal_word(b[i].type, b[i].words[at_b])) {
      return false;
    }
  }
  return true;
}

GroupTable::GroupTable(std::span<const ValueType> types)
    : keys_(types),
      one_word_(types.size() == 1 && !is_text(types[0]) && types[0] != ValueType::kNull) {
  if (one_word_) {
    words_.resize(kFirstSlots);
  } else {
    slots_.resize(kFirstSlots);
  }
}

std::size_t GroupTable::bytes() const {
  return keys_.bytes() + words_.capacity() * sizeof(WordSlot) +
         slots_.capacity() * sizeof(HashSlot) + group_hashes_.capacity() * sizeof(std::uint64_t);
}

bool GroupTable::find(std::span<const Column> keys, const Selection& rows, std::uint32_t* ids) {
  new_rows_.clear();
  count_ = keys_.rows();
  if (is_coded(keys, rows)) return find_codes(keys, rows, ids);
  const bool fits = one_word_ ? find_words(keys[0], rows, ids) : find_hashes(keys, rows, ids);
  if (fits && !new_rows_.empty()) add_new(keys);
  return fits;
}

bool GroupTable::is_coded(std::span<const Column> keys, const Selection& rows) {
  std::size_t combinations = 1;
  for (const Column& key : keys) {
    if (key.codes == nullptr) return false;
    combinations *= std::size_t{key.table_size} + 1;
    if (combinations > kCombinationsMax) return false;
  }
  if (keys.empty()) return false;
  const bool same = std::ranges::equal(tables_, keys, {}, {}, &Column::table_id);
  if (same) return true;
  if (combinations > rows.count) return false;
  tables_.clear();
  for (const Column& key : keys) tables_.push_back(key.table_id);
  by_codes_.assign(combinations, kNone);
  return true;
}

bool GroupTable::find_codes(std::span<const Column> keys, const Selection& rows,
                            std::uint32_t* ids) {
  code_index_.assign(rows.count, 0);
  for (const Column& key : keys) {
    const std::uint32_t step = key.table_size + 1;
    for (std::size_t i = 0; i < rows.count; ++i) {
      const std::uint32_t row = rows[i];
      const std::uint32_t code =
          key.nulls != nullptr && key.nulls[row] != 0 ? key.table_size : key.codes[row];
      code_index_[i] = code_index_[i] * step + code;
    }
  }
  missing_.clear();
  missing_codes_.clear();
  for (std::size_t i = 0; i < rows.count; ++i) {
    std::uint32_t& id = by_codes_[code_index_[i]];
    if (id != kNone) continue;
    id = 0;  // Found below.
    missing_.push_back(rows[i]);
    missing_codes_.push_back(code_index_[i]);
  }
  if (!missing_.empty()) {
    missing_ids_.resize(missing_.size());
    const Selection missing{.rows = missing_.data(), .count = missing_.size()};
    if (!find_hashes(keys, missing, missing_ids_.data())) return false;
    if (!new_rows_.empty()) add_new(keys);
    for (std::size_t i = 0; i < missing_.size(); ++i)
      by_codes_[missing_codes_[i]] = missing_ids_[i];
  }
  for (std::size_t i = 0; i < rows.count; ++i) ids[i] = by_codes_[code_index_[i]];
  return true;
}

void GroupTable::add_new(std::span<const Column> keys) {
  keys_.append(keys, {.rows = new_rows_.data(), .count = new_rows_.size()});
}

bool GroupTable::find_words(const Column& key, const Selection& rows, std::uint32_t* ids) {
  // Room for all rows being new, so that no slot moves below.
  while ((count_ + rows.count) * 2 > words_.size()) grow_words();
  if (count_ + rows.count > kGroupsMax) return false;
  const std::size_t mask = words_.size() - 1;
  const bool far = words_.size() >= kPrefetchSlots;
  const bool has_nulls = !key.without_nulls();
  for (std::size_t i = 0; i < rows.count; ++i) {
    if (far && i + kPrefetchDistance < rows.count) {
      const std::size_t ahead = key.at(rows[i + kPrefetchDistance]);
      __builtin_prefetch(&words_[hash_word(equal_word(key.type, key.words[ahead])) & mask]);
    }
    const std::uint32_t row = rows[i];
    std::uint32_t* id = nullptr;
    if (has_nulls && key.is_null(row)) {
      id = &null_id_;
    } else {
      const std::uint64_t word = equal_word(key.type, key.words[key.at(row)]);
      std::size_t at = hash_word(word) & mask;
      while (words_[at].id != kNone && words_[at].word != word) at = (at + 1) & mask;
      words_[at].word = word;
      id = &words_[at].id;
    }
    if (*id == kNone) {
      *id = static_cast<std::uint32_t>(count_++);
      new_rows_.push_back(row);
    }
    ids[i] = *id;
  }
  return true;
}

void GroupTable::grow_words() {
  std::vector<WordSlot> old(words_.size() * 2);
  old.swap(words_);
  const std::size_t mask = words_.size() - 1;
  for (const WordSlot& slot : old) {
    if (slot.id == kNone) continue;
    std::size_t at = hash_word(slot.word) & mask;
    while (words_[at].id != kNone) at = (at + 1) & mask;
    words_[at] = slot;
  }
}

bool GroupTable::equals(std::span<const Column> keys, std::size_t row, std::uint32_t id) const {
  const std::size_t known = keys_.rows();
  if (id >= known) return equal_keys(keys, row, keys, new_rows_[id - known]);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!equals_stored(keys[i], row, stored_[i], id)) return false;
  }
  return true;
}

bool GroupTable::equals_stored(const Column& key, std::size_t row, const Column& stored,
                               std::uint32_t id) {
  const bool plain = key.nulls == nullptr && stored.nulls == nullptr && !key.constant;
  if (!plain || key.type == ValueType::kNull || key.type == ValueType::kDouble) {
    return equal_keys(std::span(&key, 1), row, std::span(&stored, 1), id);
  }
  return is_text(key.type) ? key.text(row) == stored.texts[id] : key.words[row] == stored.words[id];
}

bool GroupTable::find_hashes(std::span<const Column> keys, const Selection& rows,
                             std::uint32_t* ids) {
  while ((count_ + rows.count) * 2 > slots_.size()) grow_hashes();
  if (count_ + rows.count > kGroupsMax) return false;
  hashes_.resize(rows.count);
  hash_rows(keys, rows, hashes_.data());
  stored_.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) stored_.push_back(keys_.column(i));
  const std::size_t mask = slots_.size() - 1;
  const bool far = slots_.size() >= kPrefetchSlots;
  for (std::size_t i = 0; i < rows.count; ++i) {
    if (far && i + kPrefetchDistance < rows.count) {
      __builtin_prefetch(&slots_[hashes_[i + kPrefetchDistance] & mask]);
    }
    const std::uint32_t row = rows[i];
    const auto salt = static_cast<std::uint32_t>(hashes_[i] >> 32);
    std::size_t at = hashes_[i] & mask;
    while (slots_[at].id != kNone &&
           (slots_[at].salt != salt || !equals(keys, row, slots_[at].id))) {
      at = (at + 1) & mask;
    }
    if (slots_[at].id == kNone) {
      slots_[at] = {.salt = salt, .id = static_cast<std::uint32_t>(count_++)};
      new_rows_.push_back(row);
      group_hashes_.push_back(hashes_[i]);
    }
    ids[i] = slots_[at].id;
  }
  return true;
}

void GroupTable::grow_hashes() {
  std::vector<HashSlot> old(slots_.size() * 2);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t id = 0; id < group_hashes_.size(); ++id) {
    std::size_t at = group_hashes_[id] & mask;
    while (slots_[at].id != kNone) at = (at + 1) & mask;
    slots_[at] = {.salt = static_cast<std::uint32_t>(group_hashes_[id] >> 32), .id = id};
  }
}

}  // namespace moraine::query
