// Topics: a write is encoded on the caller's thread; the rest runs where the Task is awaited.

#include "moraine/topic.h"

#include <fmt/format.h>

#include "embed/api_impl.h"
#include "io/real/real_world.h"
#include "queue/kafka/key_hash.h"

namespace moraine {
namespace {

using ImplPtr = std::shared_ptr<const Topic::Impl>;

Task<Result<Written>> send(ImplPtr topic, Result<client::NewBatch> encoded) {
  CO_TRY(client::NewBatch batch, std::move(encoded));
  co_return co_await topic->core->topics().write(topic->info, std::move(batch));
}

Task<Result<MessageBatch>> read_from(ImplPtr topic, MessageReadOptions options) {
  co_return co_await topic->core->topics().read(topic->info, options);
}

Task<Result<void>> commit_to(ImplPtr topic, std::uint32_t partition, queue::ConsumerOffset offset) {
  co_return co_await topic->core->topics().commit(topic->info, partition, std::move(offset));
}

Task<Result<std::optional<CommittedOffset>>> find_committed(ImplPtr topic, std::string consumer,
                                                            std::uint32_t partition) {
  co_return co_await topic->core->topics().committed(topic->info, partition, std::move(consumer));
}

Task<Result<PartitionFigures>> figures_of(ImplPtr topic, std::uint32_t partition) {
  co_return co_await topic->core->topics().figures(topic->info, partition);
}

using CorePtr = std::shared_ptr<embed::DatabaseCore>;

Task<Result<Topic>> find_topic(CorePtr core, std::string name) {
  TopicPtr found = core->topics().topics().find(scheme_path(name));
  if (!found) co_return fail(Errc::kNotFound, fmt::format("no topic {}", name));
  co_return Topic::Impl::make(core, std::move(found));
}

Task<Result<Topic>> create(CorePtr core, std::string name, TopicSpec spec) {
  Topics& topics = core->topics().topics();
  CO_TRY(TopicPtr made, co_await topics.create(std::move(name), std::move(spec)));
  co_return Topic::Impl::make(core, std::move(made));
}

Task<Result<Topic>> alter(CorePtr core, std::string name, TopicChange change) {
  Topics& topics = core->topics().topics();
  CO_TRY(TopicPtr changed, co_await topics.alter(std::move(name), std::move(change)));
  co_return Topic::Impl::make(core, std::move(changed));
}

Task<Result<void>> remove(CorePtr core, std::string name) {
  co_return co_await core->topics().topics().remove(std::move(name));
}

Task<std::vector<TopicInfo>> list(CorePtr core) {
  std::vector<TopicInfo> topics;
  for (const TopicPtr& topic : core->topics().topics().list()) topics.push_back(*topic);
  co_return topics;
}

}  // namespace

Topic::Topic(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Topic Topic::Impl::make(CorePtr core, TopicPtr info) {
  return Topic(std::make_shared<const Impl>(std::move(core), std::move(info)));
}

const TopicInfo& Topic::info() const {
  return *impl_->info;
}

std::uint32_t Topic::partition_of(std::string_view key) const {
  const auto partitions = static_cast<std::int32_t>(impl_->info->partitions);
  return static_cast<std::uint32_t>(kafka::partition_of_key(as_bytes(key), partitions));
}

Task<Result<Written>> Topic::write(std::span<const Message> messages,
                                   const MessageWriteOptions& options) const {
  const std::uint32_t turn = impl_->turn.fetch_add(1, std::memory_order_relaxed);
  return send(impl_, client::encode_batch(*impl_->info, messages, options,
                                          SystemClock().since_epoch(), turn));
}

Task<Result<Written>> Topic::write(std::initializer_list<Message> messages,
                                   const MessageWriteOptions& options) const {
  return write(std::span(messages.begin(), messages.size()), options);
}

Task<Result<MessageBatch>> Topic::read(MessageReadOptions options) const {
  return read_from(impl_, options);
}

Task<Result<void>> Topic::commit(std::string consumer, std::uint32_t partition,
                                 std::uint64_t offset, std::string metadata) const {
  queue::ConsumerOffset committed;
  committed.consumer = std::move(consumer);
  committed.offset = offset;
  committed.metadata = std::move(metadata);
  committed.committed_ms = static_cast<std::uint64_t>(SystemClock().since_epoch().count());
  return commit_to(impl_, partition, std::move(committed));
}

Task<Result<std::optional<CommittedOffset>>> Topic::committed(std::string consumer,
                                                              std::uint32_t partition) const {
  return find_committed(impl_, std::move(consumer), partition);
}

Task<Result<PartitionFigures>> Topic::figures(std::uint32_t partition) const {
  return figures_of(impl_, partition);
}

Task<Result<Topic>> Database::topic(std::string_view name) const {
  return find_topic(impl_->core, std::string(name));
}

Task<Result<Topic>> Database::create_topic(std::string_view name, TopicSpec spec) {
  return create(impl_->core, scheme_path(name), std::move(spec));
}

Task<Result<Topic>> Database::alter_topic(std::string_view name, TopicChange change) {
  return alter(impl_->core, scheme_path(name), std::move(change));
}

Task<Result<void>> Database::remove_topic(std::string_view name) {
  return remove(impl_->core, scheme_path(name));
}

Task<std::vector<TopicInfo>> Database::list_topics() const {
  return list(impl_->core);
}

}  // namespace moraine
