// GroupTable: numbers distinct tuples of keys, from 0.
//
// Promise    Equal keys get equal numbers; new ones the next number. Tuples of one number, and of
//            texts of at most 7 bytes, are kept as one word; others by their hash.
// Threading  One thread at a time.
// Limits     kGroupsMax numbers.
// Tests      node/select_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "query/execute/row_store.h"

namespace moraine::query {

inline constexpr std::size_t kGroupsMax = std::size_t{1} << 30;

class GroupTable {
 public:
  explicit GroupTable(std::span<const ValueType> types);

  // ids[i]: the number of selected row i. False: more than kGroupsMax.
  bool find(std::span<const Column> keys, const Selection& rows, std::uint32_t* ids);
  std::size_t size() const { return keys_.rows(); }
  const RowStore& keys() const { return keys_; }
  std::size_t bytes() const;

 private:
  struct WordSlot {
    std::uint64_t word = 0;
    std::uint32_t id = kNone;
  };
  struct HashSlot {
    std::uint32_t salt = 0;
    std::uint32_t id = kNone;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  bool find_words(const Column& key, const Selection& rows, std::uint32_t* ids);
  // Keys that are all codes of small tables.
  bool is_coded(std::span<const Column> keys, const Selection& rows);
  bool find_codes(std::span<const Column> keys, const Selection& rows, std::uint32_t* ids);
  bool find_hashes(std::span<const Column> keys, const Selection& rows, std::uint32_t* ids);
  void hash(std::span<const Column> keys, const Selection& rows);
  bool equals(std::span<const Column> keys, std::size_t row, std::uint32_t id) const;
  static bool equals_stored(const Column& key, std::size_t row, const Column& stored,
                            std::uint32_t id);
  void add_new(std::span<const Column> keys);
  void grow_words();
  void grow_hashes();

  RowStore keys_;
  const bool one_word_;
  std::uint32_t null_id_ = kNone;            // Of the null of one word.
  std::vector<WordSlot> words_;              // A power of 2, at most half full.
  std::vector<HashSlot> slots_;              // The same.
  std::vector<Column> stored_;               // Of keys_, while a batch is looked up.
  std::vector<std::uint64_t> hashes_;        // Of the selected rows.
  std::vector<std::uint64_t> group_hashes_;  // Of each number, to grow.
  std::vector<std::uint32_t> new_rows_;      // Rows of the batch with new keys.
  std::vector<std::uint64_t> tables_;        // Of the keys' codes below.
  std::vector<std::uint32_t> by_codes_;      // Number of a combination of codes.
  std::vector<std::uint32_t> code_index_;    // Of the selected rows.
  std::vector<std::uint32_t> missing_;       // Rows whose combination has no number yet.
  std::vector<std::uint32_t> missing_codes_;
  std::vector<std::uint32_t> missing_ids_;
  std::size_t count_ = 0;  // With those that are not in keys_ yet.
};

std::uint64_t hash_word(std::uint64_t word);
std::uint64_t hash_text(std::string_view text);
// Of the rows' keys; equal keys have equal hashes. `hashes` has a place for each selected row.
void hash_rows(std::span<const Column> keys, const Selection& rows, std::uint64_t* hashes);
// Are the keys of two rows equal? Requires: the same types.
bool equal_keys(std::span<const Column> a, std::size_t row_a, std::span<const Column> b,
                std::size_t row_b);

}  // namespace moraine::query
