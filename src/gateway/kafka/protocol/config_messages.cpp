#include "gateway/kafka/protocol/config_messages.h"

#include "gateway/kafka/protocol/message_codec_impl.h"

namespace moraine::kafka {

// --- DescribeConfigs -----------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, DescribeConfigsRequest::Resource>& m) {
  io(m.resource_type, m.resource_name, m.configuration_keys);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeConfigsRequest>& m) {
  io(m.resources);
  if (io.since(1)) io(m.include_synonyms);
  if (io.since(3)) io(m.include_documentation);
}

template <class Io>
void fields(Io& io, Like<Io, DescribeConfigsResponse::Synonym>& m) {
  io(m.name, m.value, m.source);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeConfigsResponse::Config>& m) {
  io(m.name, m.value, m.read_only);
  if (io.since(1)) {
    io(m.config_source);
  } else {
    io(m.is_default);
  }
  io(m.is_sensitive);
  if (io.since(1)) io(m.synonyms);
  if (io.since(3)) io(m.config_type, m.documentation);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeConfigsResponse::Resource>& m) {
  io(m.error_code, m.error_message, m.resource_type, m.resource_name, m.configs);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeConfigsResponse>& m) {
  io(m.throttle_time_ms, m.results);
}

// --- AlterConfigs, IncrementalAlterConfigs -------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, AlteredResource>& m) {
  io(m.error_code, m.error_message, m.resource_type, m.resource_name);
}

template <class Io>
void fields(Io& io, Like<Io, AlterConfigsRequest::Config>& m) {
  io(m.name, m.value);
}
template <class Io>
void fields(Io& io, Like<Io, AlterConfigsRequest::Resource>& m) {
  io(m.resource_type, m.resource_name, m.configs);
}
template <class Io>
void fields(Io& io, Like<Io, AlterConfigsRequest>& m) {
  io(m.resources, m.validate_only);
}
template <class Io>
void fields(Io& io, Like<Io, AlterConfigsResponse>& m) {
  io(m.throttle_time_ms, m.responses);
}

template <class Io>
void fields(Io& io, Like<Io, IncrementalAlterConfigsRequest::Config>& m) {
  io(m.name, m.config_operation, m.value);
}
template <class Io>
void fields(Io& io, Like<Io, IncrementalAlterConfigsRequest::Resource>& m) {
  io(m.resource_type, m.resource_name, m.configs);
}
template <class Io>
void fields(Io& io, Like<Io, IncrementalAlterConfigsRequest>& m) {
  io(m.resources, m.validate_only);
}
template <class Io>
void fields(Io& io, Like<Io, IncrementalAlterConfigsResponse>& m) {
  io(m.throttle_time_ms, m.responses);
}

MORAINE_KAFKA_API(DescribeConfigs);
MORAINE_KAFKA_API(AlterConfigs);
MORAINE_KAFKA_API(IncrementalAlterConfigs);

}  // namespace moraine::kafka
