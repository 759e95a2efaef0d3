#include "yson/dsv_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "yson/number.h"

namespace moraine {
namespace {

using Kind = YsonEvent::Kind;

void append_scalar(std::string& out, const DsvSyntax& syntax, const YsonEvent& event) {
  switch (event.kind) {
    case Kind::kBoolean: out += event.as_boolean() ? "true" : "false"; break;
    case Kind::kInt64: append_decimal(out, event.as_int64()); break;
    case Kind::kUint64: append_decimal(out, event.as_uint64()); break;
    case Kind::kDouble:
      if (std::isfinite(event.as_double())) {
        append_yson_double(out, event.as_double());
      } else {
        append_shortest(out, event.as_double());
      }
      break;
    default: syntax.append_value(out, event.text); break;
  }
}

}  // namespace

bool DsvSink::on(const YsonEvent& event) {
  if (event.kind == Kind::kBeginAttributes && depth_ < 2) {
    return refuse(fmt::format("dsv: row {} has attributes", row_));
  }
  if (depth_ == 0) {
    if (event.kind != Kind::kBeginMap) return refuse(fmt::format("dsv: row {} is not a map", row_));
    depth_ = 1;
    begin_row();
    return true;
  }
  if (event.begins()) {
    if (!skips_nested_) {
      return refuse(fmt::format("dsv: column {:?} of row {} is a list or a map", key_, row_));
    }
    ++depth_;
    return true;
  }
  if (event.ends()) {
    if (--depth_ > 0) return true;
    const bool ended = end_row();
    ++row_;
    return ended;
  }
  if (depth_ > 1) return true;
  if (event.kind == Kind::kKey) {
    key_ = event.text;
  } else if (event.kind != Kind::kEntity) {
    field(key_, event);
  }
  return true;
}

DsvWriter::DsvWriter(std::string& out, DsvOptions options)
    : DsvSink(out, options.skip_unsupported_types),
      options_(std::move(options)),
      syntax_(options_, true) {}

void DsvWriter::begin_row() {
  empty_ = !options_.line_prefix;
  if (options_.line_prefix) out_ += *options_.line_prefix;
}

void DsvWriter::field(std::string_view key, const YsonEvent& scalar) {
  if (!empty_) out_.push_back(options_.field_separator);
  empty_ = false;
  syntax_.append_key(out_, key);
  out_.push_back(options_.key_value_separator);
  append_scalar(out_, syntax_, scalar);
}

bool DsvWriter::end_row() {
  out_.push_back(options_.record_separator);
  return true;
}

SchemafulDsvWriter::SchemafulDsvWriter(std::string& out, SchemafulDsvOptions options)
    : DsvSink(out, false), options_(std::move(options)), syntax_(options_) {
  values_.resize(options_.columns.size());
  for (std::size_t at = 0; at < options_.columns.size(); ++at) {
    places_.emplace(options_.columns[at], at);
    if (!options_.column_names_header) continue;
    out_ += options_.columns[at];
    const bool last = at + 1 == options_.columns.size();
    out_.push_back(last ? options_.record_separator : options_.field_separator);
  }
}

void SchemafulDsvWriter::begin_row() {
  for (Value& value : values_) value.present = false;
  next_ = 0;
}

SchemafulDsvWriter::Value* SchemafulDsvWriter::find(std::string_view key) {
  if (next_ >= options_.columns.size() || options_.columns[next_] != key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    next_ = found->second;
  }
  return &values_[next_++];
}

void SchemafulDsvWriter::field(std::string_view key, const YsonEvent& scalar) {
  Value* value = find(key);
  if (value == nullptr) return;
  value->present = true;
  value->text.clear();
  append_scalar(value->text, syntax_, scalar);
}

bool SchemafulDsvWriter::end_row() {
  for (std::size_t at = 0; at < values_.size(); ++at) {
    if (values_[at].present || options_.missing == SchemafulDsvOptions::Missing::kPrintSentinel) {
      continue;
    }
    if (options_.missing == SchemafulDsvOptions::Missing::kSkipRow) return true;
    return refuse(
        fmt::format("dsv: row {} has no value for column {:?}", row(), options_.columns[at]));
  }
  for (std::size_t at = 0; at < values_.size(); ++at) {
    if (at > 0) out_.push_back(options_.field_separator);
    out_ += values_[at].present ? values_[at].text : options_.sentinel;
  }
  out_.push_back(options_.record_separator);
  return true;
}

}  // namespace moraine
