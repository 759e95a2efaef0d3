#include "yson/skiff_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace moraine {
namespace {

using Kind = YsonEvent::Kind;
using Wire = SkiffType::Wire;

constexpr std::size_t kTableBytes = 2;
constexpr std::size_t kLengthBytes = 4;

std::uint64_t load_bytes(std::string_view bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  return word;
}

// As an integer of its size.
std::int64_t to_signed(std::uint64_t word, std::size_t bytes) {
  const auto shift = static_cast<int>(64 - 8 * bytes);
  return static_cast<std::int64_t>(word << shift) >> shift;
}

bool is_system(std::string_view name) {
  return name == kSkiffRowIndex || name == kSkiffRangeIndex || name == kSkiffKeySwitch;
}

}  // namespace

SkiffReader::SkiffReader(SkiffOptions options, YsonLimits limits)
    : options_(std::move(options)), limits_(limits) {
  const auto system = std::ranges::find_if(options_.row->children, is_system, &SkiffType::name);
  if (system == options_.row->children.end()) return;
  fail(fmt::format("rows that are written have no {};", system->name));
}

void SkiffReader::feed(std::string_view piece) {
  piece_offset_ = offset();
  piece_ = at_ = piece.data();
  end_ = piece.data() + piece.size();
}

SkiffReader::Step SkiffReader::fail(std::string_view what) {
  state_ = State::kFailed;
  error_ = {Errc::kInvalidArgument,
            fmt::format("skiff: {} in row {}, before byte {}", what, rows_, offset())};
  return YsonStep::kError;
}

std::optional<std::string_view> SkiffReader::take(std::size_t size) {
  if (std::exchange(kept_used_, false)) kept_.clear();
  const auto have = static_cast<std::size_t>(end_ - at_);
  if (kept_.empty() && have >= size) {
    const std::string_view bytes(at_, size);
    at_ += size;
    return bytes;
  }
  const std::size_t more = std::min(have, size - kept_.size());
  kept_.append(at_, more);
  at_ += more;
  if (kept_.size() < size) return std::nullopt;
  kept_used_ = true;
  return kept_;
}

SkiffReader::Step SkiffReader::missing() {
  if (state_ == State::kFailed) return YsonStep::kError;
  if (finished_) return fail("the input ends too early");
  if (offset() - row_offset_ > limits_.item_bytes_max) {
    return fail(fmt::format("more than {} bytes", limits_.item_bytes_max));
  }
  return YsonStep::kNeedInput;
}

YsonStep SkiffReader::next(YsonEvent& event) {
  for (;;) {
    Step step;
    switch (state_) {
      case State::kFailed: return YsonStep::kError;
      case State::kRow: step = row(event); break;
      case State::kOpen: step = open(event); break;
      case State::kValue: step = value(event); break;
      case State::kYson: step = inner(event); break;
    }
    if (step) return *step;
  }
}

SkiffReader::Step SkiffReader::emit(YsonEvent made, YsonEvent& event) {
  event = made;
  depth_ = open_.size();
  return YsonStep::kEvent;
}

SkiffReader::Step SkiffReader::row(YsonEvent& event) {
  if (kept_.empty() || kept_used_) row_offset_ = offset();
  const auto table = take(kTableBytes);
  if (!table) return finished_ && kept_.empty() ? YsonStep::kEnd : missing();
  if (load_bytes(*table) != 0) return fail("the number of the table is not 0");
  ++rows_;
  empty_ = 0;
  open_.push_back({.kind = Open::Kind::kRow, .type = options_.row.get()});
  state_ = State::kOpen;
  return emit(YsonEvent::of(Kind::kBeginMap), event);
}

SkiffReader::Step SkiffReader::end(YsonEvent::Kind kind, YsonEvent& event) {
  open_.pop_back();
  if (open_.empty()) state_ = State::kRow;
  return emit(YsonEvent::of(kind), event);
}

SkiffReader::Step SkiffReader::open(YsonEvent& event) {
  Open& top = open_.back();
  switch (top.kind) {
    case Open::Kind::kRow: return column(event);
    case Open::Kind::kRepeated: return repeated(event);
    case Open::Kind::kTuple:
      if (top.next == top.type->children.size()) return end(Kind::kEndList, event);
      type_ = &top.type->children[top.next++];
      state_ = State::kValue;
      return std::nullopt;
    case Open::Kind::kTagged:
      if (top.next == 0) {
        ++top.next;
        return emit(YsonEvent::int64(static_cast<std::int64_t>(top.tag)), event);
      }
      [[fallthrough]];
    case Open::Kind::kOptional:
      if (top.next == 2) return end(Kind::kEndList, event);
      top.next = 2;
      type_ = top.type;
      state_ = State::kValue;
      return std::nullopt;
  }
  return fail("a state that cannot be");
}

SkiffReader::Step SkiffReader::column(YsonEvent& event) {
  Open& top = open_.back();
  if (top.next == top.type->children.size()) return end(Kind::kEndMap, event);
  const SkiffType& child = top.type->children[top.next];
  if (child.name == kSkiffOtherColumns) {
    const auto yson = take_text();
    if (!yson) return missing();
    ++top.next;
    begin_inner(*yson, true);
    return std::nullopt;
  }
  ++top.next;
  type_ = &child;
  state_ = State::kValue;
  return emit(YsonEvent::key(child.name), event);
}

SkiffReader::Step SkiffReader::repeated(YsonEvent& event) {
  const SkiffType& type = *open_.back().type;
  const auto tag = take_tag(type);
  if (!tag) return missing();
  if (*tag == (type.tag_bytes() == 1 ? 0xff : 0xffff)) return end(Kind::kEndList, event);
  if (*tag >= type.children.size()) return fail(fmt::format("a variant has no child {}", *tag));
  if (type.children.size() > 1) {
    return begin_list(Open::Kind::kTagged, &type.children[*tag], *tag, event);
  }
  type_ = &type.children.front();
  state_ = State::kValue;
  return std::nullopt;
}

SkiffReader::Step SkiffReader::begin_list(Open::Kind kind, const SkiffType* type, std::size_t tag,
                                          YsonEvent& event) {
  open_.push_back({.kind = kind, .type = type, .tag = tag});
  state_ = State::kOpen;
  return emit(YsonEvent::of(Kind::kBeginList), event);
}

SkiffReader::Step SkiffReader::value(YsonEvent& event) {
  const bool has_bytes = type_->wire != Wire::kNothing && type_->wire != Wire::kTuple;
  if (!has_bytes && ++empty_ > kSkiffEmptyMax) {
    return fail(fmt::format("more than {} values without bytes", kSkiffEmptyMax));
  }
  switch (type_->wire) {
    case Wire::kNothing: state_ = State::kOpen; return emit(YsonEvent::of(Kind::kEntity), event);
    case Wire::kString32:
    case Wire::kYson32: return text(event);
    case Wire::kVariant8:
    case Wire::kVariant16: return variant(event);
    case Wire::kRepeatedVariant8:
    case Wire::kRepeatedVariant16: return begin_list(Open::Kind::kRepeated, type_, 0, event);
    case Wire::kTuple: return begin_list(Open::Kind::kTuple, type_, 0, event);
    default: return fixed(event);
  }
}

SkiffReader::Step SkiffReader::fixed(YsonEvent& event) {
  const std::size_t size = type_->fixed_bytes();
  const auto bytes = take(size);
  if (!bytes) return missing();
  const std::uint64_t word = load_bytes(*bytes);
  state_ = State::kOpen;
  switch (type_->wire) {
    case Wire::kBoolean:
      if (word > 1) return fail("a boolean is neither 0 nor 1");
      return emit(YsonEvent::boolean(word != 0), event);
    case Wire::kDouble: return emit(YsonEvent::number(std::bit_cast<double>(word)), event);
    case Wire::kInt8:
    case Wire::kInt16:
    case Wire::kInt32:
    case Wire::kInt64: return emit(YsonEvent::int64(to_signed(word, size)), event);
    default: return emit(YsonEvent::uint64(word), event);
  }
}

std::optional<std::string_view> SkiffReader::take_text() {
  if (!text_size_) {
    const auto length = take(kLengthBytes);
    if (!length) return std::nullopt;
    const std::uint64_t size = load_bytes(*length);
    if (size > limits_.string_bytes_max) {
      fail(fmt::format("a text is longer than {} bytes", limits_.string_bytes_max));
      return std::nullopt;
    }
    text_size_ = size;
  }
  const auto bytes = take(*text_size_);
  if (bytes) text_size_.reset();
  return bytes;
}

SkiffReader::Step SkiffReader::text(YsonEvent& event) {
  const auto bytes = take_text();
  if (!bytes) return missing();
  if (type_->wire == Wire::kYson32) {
    begin_inner(*bytes, false);
    return std::nullopt;
  }
  state_ = State::kOpen;
  return emit(YsonEvent::string(*bytes), event);
}

std::optional<std::size_t> SkiffReader::take_tag(const SkiffType& type) {
  const auto bytes = take(type.tag_bytes());
  if (!bytes) return std::nullopt;
  return load_bytes(*bytes);
}

SkiffReader::Step SkiffReader::variant(YsonEvent& event) {
  const auto tag = take_tag(*type_);
  if (!tag) return missing();
  if (*tag >= type_->children.size()) return fail(fmt::format("a variant has no child {}", *tag));
  const SkiffType& child = type_->children[*tag];
  if (!type_->is_optional()) return begin_list(Open::Kind::kTagged, &child, *tag, event);
  if (*tag == 1 && child.is_optional()) return begin_list(Open::Kind::kOptional, &child, 0, event);
  type_ = &child;
  return std::nullopt;
}

// The bytes stay in place until the inner reader is at its end: nothing is taken meanwhile.
void SkiffReader::begin_inner(std::string_view yson, bool is_columns) {
  YsonLimits limits = limits_;
  limits.depth_max -= std::min(limits.depth_max, open_.size());
  inner_.emplace(YsonDocument::kNode, limits);
  inner_->feed(yson);
  inner_->finish();
  columns_depth_ = is_columns ? 1 : 0;
  state_ = State::kYson;
}

SkiffReader::Step SkiffReader::inner(YsonEvent& event) {
  const std::size_t before = inner_->depth();
  const YsonStep step = inner_->next(event);
  if (step == YsonStep::kError) return fail(inner_->error().context);
  if (step != YsonStep::kEvent) {
    state_ = State::kOpen;
    return std::nullopt;
  }
  // The brackets of a map whose pairs are columns are those of the row.
  const bool outside = columns_depth_ > 0 && (before == 0 || inner_->depth() == 0);
  if (outside && event.kind != Kind::kBeginMap && event.kind != Kind::kEndMap) {
    return fail("the other columns are not a map");
  }
  if (outside) return std::nullopt;
  depth_ = open_.size() + inner_->depth() - columns_depth_;
  return YsonStep::kEvent;
}

}  // namespace moraine
