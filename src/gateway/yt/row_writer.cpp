#include "gateway/yt/row_writer.h"

#include "yson/yson.h"

namespace moraine::yt {

YtResult<void> RowWriter::open(const DataFormat& format) {
  YT_TRY(sink_, make_sink(buffer_, format, YsonDocument::kListFragment));
  if (const auto* yson = format.as<YsonOptions>()) skips_nulls_ = yson->skip_null_values;
  if (const auto* json = format.as<JsonOptions>()) skips_nulls_ = json->skip_null_values;
  return {};
}

void RowWriter::on(const YsonEvent& event) {
  if (!failed_ && !sink_->on(event)) fail(sink_->error());
}

void RowWriter::fail(Error error) {
  failed_ = true;
  error_ = std::move(error);
}

void RowWriter::value(const Value& value) {
  switch (value.type()) {
    case ValueType::kNull: return on(YsonEvent::of(YsonEvent::Kind::kEntity));
    case ValueType::kInt64: return on(YsonEvent::int64(value.as_int64()));
    case ValueType::kUint64: return on(YsonEvent::uint64(value.as_uint64()));
    case ValueType::kDouble: return on(YsonEvent::number(value.as_double()));
    case ValueType::kBoolean: return on(YsonEvent::boolean(value.as_boolean()));
    case ValueType::kString: return on(YsonEvent::string(value.text()));
    case ValueType::kAny: break;
  }
  if (failed_) return;
  if (auto emitted = emit_yson(value.text(), *sink_); !emitted) fail(std::move(emitted).error());
}

void RowWriter::cell(std::string_view name, const Value& given) {
  if (skips_nulls_ && given.is_null()) return;
  on(YsonEvent::key(name));
  value(given);
}

Task<YtResult<void>> RowWriter::flush() {
  if (failed_) co_return std::unexpected(YtError(error_));
  if (buffer_.empty()) co_return YtResult<void>();
  sent_bytes_ += buffer_.size();
  co_return co_await output_.write(std::exchange(buffer_, std::string()));
}

}  // namespace moraine::yt
