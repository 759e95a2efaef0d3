#include "gateway/kafka/protocol/consumer_protocol.h"

#include "gateway/kafka/protocol/field_reader.h"
#include "gateway/kafka/protocol/field_writer.h"

namespace moraine::kafka {

template <class Io>
void fields(Io& io, Like<Io, Subscription>& m) {
  io(m.version, m.topics, m.user_data);
}
template <class Io>
void fields(Io& io, Like<Io, Assignment::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, Assignment>& m) {
  io(m.version, m.topics, m.user_data);
}

namespace {

template <class Message>
Result<Message> read(const Slice& bytes, std::string_view what) {
  Reader reader(bytes);
  FieldReader io(reader, bytes, 0, false);
  Message message;
  io.structure(message);
  if (!reader.failed()) return message;
  return fail(Errc::kCorrupt, fmt::format("{}: {}", what, reader.problem()));
}

template <class Message>
Slice written(const Message& message) {
  Writer writer;
  FieldWriter(writer, 0, false).structure(message);
  return Records{std::move(writer).finish()}.joined();
}

}  // namespace

Result<Subscription> decode_subscription(const Slice& metadata) {
  return read<Subscription>(metadata, "subscription");
}
Result<Assignment> decode_assignment(const Slice& assignment) {
  return read<Assignment>(assignment, "assignment");
}
Slice encode_subscription(const Subscription& subscription) {
  return written(subscription);
}
Slice encode_assignment(const Assignment& assignment) {
  return written(assignment);
}

}  // namespace moraine::kafka
