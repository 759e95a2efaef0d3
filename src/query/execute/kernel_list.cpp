// Kernels of IN, BETWEEN and LIKE with constants.

#include <re2/re2.h>

#include <absl/container/flat_hash_set.h>
#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/utf8.h"
#include "query/execute/kernel.h"
#include "query/function/call.h"
#include "query/plan/evaluate.h"
#include "table/model/key.h"

namespace moraine::query {
namespace {

bool is_nan(const Value& value) {
  return value.type() == ValueType::kDouble && std::isnan(value.as_double());
}

// One column in a list of constants.
class InKernel final : public Kernel {
 public:
  explicit InKernel(const Expression& e)
      : Kernel(e.type),
        null_is_least_(e.nulls == NullRelation::kNullIsLeast),
        subject_(compile(e.operands[0])),
        is_empty_(e.operands.size() == 1) {
    for (std::size_t i = 1; i < e.operands.size(); ++i) {
      const Value& item = e.operands[i].literal;
      if (item.is_null()) {
        has_null_ = true;
      } else if (item.has_text()) {
        texts_.insert(item.text());
      } else {
        words_.insert(ordered(item.type(), word_of_value(item)));
      }
    }
    if (words_.size() <= kFewWords) few_.assign(words_.begin(), words_.end());
  }

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    TRY(const Column subject, subject_->eval(batch, rows));
    std::uint64_t* const words = buffer_.words();
    std::uint8_t* const nulls = buffer_.nulls();
    if (null_is_least_ || !words_.empty()) {
      TRY_VOID(refuse_nan(subject, rows));
    }
    for_each(rows, [&](std::size_t row) {
      const bool is_null = subject.type == ValueType::kNull || subject.is_null(row);
      const bool found = is_null ? null_is_least_ && has_null_ : contains(subject, row);
      words[row] = found ? 1 : 0;
      nulls[row] = !found && !null_is_least_ && !is_empty_ && (is_null || has_null_) ? 1 : 0;
    });
    return Column{
        .type = type(), .words = words, .nulls = null_is_least_ ? nullptr : buffer_.nulls()};
  }

 private:
  static constexpr std::size_t kFewWords = 8;

  bool contains(const Column& subject, std::size_t row) const {
    if (is_text(subject.type)) return texts_.contains(subject.text(row));
    const std::uint64_t word = ordered(subject.type, subject.words[subject.at(row)]);
    if (few_.empty()) return words_.contains(word);
    bool found = false;
    for (const std::uint64_t item : few_) found |= item == word;
    return found;
  }

  const bool null_is_least_;
  const KernelPtr subject_;
  const bool is_empty_;  // Nothing is in an empty list, whether it is null or not.
  bool has_null_ = false;
  std::vector<std::uint64_t> few_;
  absl::flat_hash_set<std::uint64_t> words_;
  absl::flat_hash_set<std::string_view> texts_;
  ColumnBuffer buffer_;
};

// A tuple in a list of constants, none of them null unless null equals null.
class TupleInKernel final : public Kernel {
 public:
  explicit TupleInKernel(const Expression& e)
      : Kernel(e.type), subject_(compile(std::span(e.operands).first(e.width))) {
    std::vector<Value> item(e.width);
    for (std::size_t i = e.width; i < e.operands.size(); i += e.width) {
      for (std::size_t j = 0; j < e.width; ++j) item[j] = e.operands[i + j].literal;
      items_.insert(table::encode_key(item));
    }
  }

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    columns_.clear();
    for (const KernelPtr& operand : subject_) {
      TRY(const Column column, operand->eval(batch, rows));
      TRY_VOID(refuse_nan(column, rows));
      columns_.push_back(column);
    }
    std::uint64_t* const words = buffer_.words();
    for_each(rows, [&](std::size_t row) {
      key_.clear();
      for (const Column& column : columns_) table::append_key_column(key_, column.value(row));
      words[row] = items_.contains(key_) ? 1 : 0;
    });
    return Column{.type = type(), .words = words};
  }

 private:
  const std::vector<KernelPtr> subject_;
  absl::flat_hash_set<std::string> items_;
  std::vector<Column> columns_;
  std::string key_;
  ColumnBuffer buffer_;
};

// One column between constants.
class BetweenKernel final : public Kernel {
 public:
  explicit BetweenKernel(const Expression& e) : Kernel(e.type), subject_(compile(e.operands[0])) {
    for (std::size_t i = 1; i < e.operands.size(); i += 2) {
      bounds_.push_back({e.operands[i].literal, e.operands[i + 1].literal});
      const ValueType type = e.operands[0].type;
      ordered_.push_back({ordered(type, word_of_value(bounds_.back().lower)),
                          ordered(type, word_of_value(bounds_.back().upper))});
    }
  }

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    TRY(const Column subject, subject_->eval(batch, rows));
    TRY_VOID(refuse_nan(subject, rows));
    std::uint64_t* const words = buffer_.words();
    for_each(rows, [&](std::size_t row) { words[row] = contains(subject, row) ? 1 : 0; });
    return Column{.type = type(), .words = words};
  }
  Result<std::size_t> filter(const Batch& batch, const Selection& rows,
                             std::uint32_t* out) override {
    TRY(const Column subject, subject_->eval(batch, rows));
    TRY_VOID(refuse_nan(subject, rows));
    std::size_t kept = 0;
    for_each(rows, [&](std::size_t row) {
      out[kept] = static_cast<std::uint32_t>(row);
      kept += contains(subject, row) ? 1 : 0;
    });
    return kept;
  }

 private:
  struct Bounds {
    Value lower;
    Value upper;
  };
  struct Words {
    std::uint64_t lower;
    std::uint64_t upper;
  };
  // Null, the least value, is below all lower bounds.
  bool contains(const Column& subject, std::size_t row) const {
    if (subject.is_null(row)) return false;
    bool inside = false;
    if (is_text(subject.type)) {
      const std::string_view text = subject.text(row);
      for (const Bounds& bounds : bounds_) {
        inside |= text >= bounds.lower.text() && text <= bounds.upper.text();
      }
      return inside;
    }
    const std::uint64_t word = ordered(subject.type, subject.words[subject.at(row)]);
    for (const Words& bounds : ordered_) inside |= word >= bounds.lower && word <= bounds.upper;
    return inside;
  }

  const KernelPtr subject_;
  std::vector<Bounds> bounds_;
  std::vector<Words> ordered_;
  ColumnBuffer buffer_;
};

// Whether the text has the part: its first and last bytes are compared at 16 places at once.
bool contains(std::string_view text, std::string_view part) {
  constexpr std::size_t kPlaces = 16;
  if (part.size() < 2 || text.size() < part.size() + kPlaces - 1) {
    return text.find(part) != std::string_view::npos;
  }
  const auto load = [](const char* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  };
  const std::size_t distance = part.size() - 1;
  const __m128i first = _mm_set1_epi8(part.front());
  const __m128i last = _mm_set1_epi8(part.back());
  const std::size_t end = text.size() - distance - kPlaces;  // The last place to begin at.
  for (std::size_t at = 0;; at = std::min(at + kPlaces, end)) {
    const char* const from = text.data() + at;
    const __m128i both = _mm_and_si128(_mm_cmpeq_epi8(load(from), first),
                                       _mm_cmpeq_epi8(load(from + distance), last));
    for (auto found = static_cast<unsigned>(_mm_movemask_epi8(both)); found != 0;
         found &= found - 1) {
      const char* const place = from + std::countr_zero(found);
      if (std::memcmp(place + 1, part.data() + 1, distance - 1) == 0) return true;
    }
    if (at == end) return false;
  }
}

// A text that matches a constant pattern.
class LikeKernel final : public Kernel {
 public:
  explicit LikeKernel(const Expression& e)
      : Kernel(e.type),
        subject_(compile(e.operands[0])),
        pattern_(e.operands[1].literal.text()),
        escape_(e.escape),
        ignore_case_(e.op == Operator::kIlike) {
    if (e.op == Operator::kRegexp) {
      re2::RE2::Options options;
      options.set_log_errors(false);
      regex_ =
          std::make_unique<re2::RE2>(re2::StringPiece(pattern_.data(), pattern_.size()), options);
      return;
    }
    simplify();
  }

  bool usable() const { return !regex_ || regex_->ok(); }

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    TRY(const Column subject, subject_->eval(batch, rows));
    if (subject.type == ValueType::kNull || subject.all_null()) return constant_null(type());
    std::uint64_t* const words = buffer_.words();
    for_each(rows, [&](std::size_t row) {
      if (!subject.is_null(row)) words[row] = matches(subject.text(row)) ? 1 : 0;
    });
    return Column{.type = type(),
                  .constant = subject.constant && rows.count > 0 && copy_first(words, rows),
                  .words = words,
                  .nulls = subject.nulls};
  }

 private:
  enum class Form : std::uint8_t { kGeneral, kEqual, kPrefix, kSuffix, kContains };

  static bool copy_first(std::uint64_t* words, const Selection& rows) {
    words[0] = words[rows[0]];
    return true;
  }

  // Recognises x, x%, %x and %x%.
  void simplify() {
    if (ignore_case_) return;
    std::string_view rest = pattern_;
    const bool open_begin = rest.starts_with('%');
    if (open_begin) rest.remove_prefix(1);
    const bool open_end = rest.ends_with('%');
    if (open_end) rest.remove_suffix(1);
    const std::string special{'%', '_', escape_};
    if (rest.find_first_of(special) != std::string_view::npos || escape_ == '%') return;
    if (!is_utf8(rest)) return;  // Characters are compared.
    middle_ = rest;
    form_ = open_begin ? (open_end ? Form::kContains : Form::kSuffix)
                       : (open_end ? Form::kPrefix : Form::kEqual);
    if (open_begin && !open_end && rest.empty()) form_ = Form::kPrefix;
  }

  bool matches(std::string_view text) const {
    if (regex_) return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *regex_);
    switch (form_) {
      case Form::kEqual: return text == middle_;
      case Form::kPrefix: return text.starts_with(middle_);
      case Form::kSuffix: return text.ends_with(middle_);
      case Form::kContains: return contains(text, middle_);
      case Form::kGeneral: break;
    }
    return like(text, pattern_, escape_, ignore_case_);
  }

  const KernelPtr subject_;
  const std::string_view pattern_;
  const char escape_;
  const bool ignore_case_;
  Form form_ = Form::kGeneral;
  std::string_view middle_;
  std::unique_ptr<re2::RE2> regex_;
  ColumnBuffer buffer_;
};

bool literals_from(const Expression& e, std::size_t first) {
  return std::all_of(
      e.operands.begin() + static_cast<std::ptrdiff_t>(first), e.operands.end(),
      [](const Expression& operand) { return operand.is_literal() && !is_nan(operand.literal); });
}

KernelPtr compile_in(const Expression& e) {
  if (!literals_from(e, e.width)) return nullptr;
  if (e.width == 1) {
    if (e.operands[0].type == ValueType::kNull) return nullptr;
    return std::make_unique<InKernel>(e);
  }
  // A NaN behind a column that differs is not looked at; a null makes the result unknown.
  const auto subject = std::span(e.operands).first(e.width);
  const bool doubles = std::ranges::any_of(
      subject, [](const Expression& part) { return part.type == ValueType::kDouble; });
  if (doubles || e.nulls == NullRelation::kNullGivesNull) return nullptr;
  return std::make_unique<TupleInKernel>(e);
}

KernelPtr compile_between(const Expression& e) {
  if (e.width != 1 || !literals_from(e, 1) || e.operands[0].type == ValueType::kNull) {
    return nullptr;
  }
  // A null bound, and in SQL a null subject, make it more than a comparison of values.
  const bool nulls = std::any_of(e.operands.begin() + 1, e.operands.end(),
                                 [](const Expression& bound) { return bound.literal.is_null(); });
  if (nulls || e.nulls == NullRelation::kNullGivesNull) return nullptr;
  return std::make_unique<BetweenKernel>(e);
}

KernelPtr compile_like(const Expression& e) {
  const Expression& pattern = e.operands[1];
  if (!pattern.is_literal() || pattern.literal.type() != ValueType::kString) return nullptr;
  if (e.operands[0].type != ValueType::kString) return nullptr;
  auto kernel = std::make_unique<LikeKernel>(e);
  if (!kernel->usable()) return nullptr;
  return kernel;
}

}  // namespace

KernelPtr compile_list(const Expression& e) {
  if (e.kind == ExpressionKind::kIn) return compile_in(e);
  if (e.kind == ExpressionKind::kBetween) return compile_between(e);
  return compile_like(e);
}

}  // namespace moraine::query
