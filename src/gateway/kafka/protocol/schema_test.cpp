// Every API in every version against the published layouts, which are repeated here in the notation
// below and read by an interpreter that is independent of the codec.
//
//   name:type  field        [t]  array       {...}  structure     ?  nullable, ?(n+) from version n
//   @n @n+ @a-b  versions that have the field       <tagN name:type>  field of the tag section
#include <gtest/gtest.h>

#include <cctype>
#include <charconv>
#include <limits>
#include <memory>

#include "gateway/kafka/protocol/messages.h"
#include "queue/kafka/test_bytes.h"

namespace moraine::kafka {
namespace {

// --- The notation --------------------------------------------------------------------------------

struct Versions {
  int first = 0;
  int last = std::numeric_limits<int>::max();

  bool have(int version) const { return version >= first && version <= last; }
};

struct Type;

struct Field {
  std::string name;
  std::shared_ptr<Type> type;
  Versions versions;
  Versions nullable{.first = std::numeric_limits<int>::max()};
  int tag = -1;
};

struct Type {
  std::string word;  // "i32", "array" or "struct".
  std::shared_ptr<Type> element;
  std::vector<Field> fields;
};

class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : text_(text) {}

  std::vector<Field> fields() {
    std::vector<Field> found;
    while (true) {
      while (accept(' ')) {
      }
      if (at_ == text_.size() || text_[at_] == '}') return found;
      int tag = -1;
      if (accept('<')) {
        EXPECT_EQ(word(), "tag");
        tag = number();
        EXPECT_TRUE(accept(' '));
      }
      found.push_back(field());
      found.back().tag = tag;
      if (tag >= 0) {
        EXPECT_TRUE(accept('>')) << text_.substr(at_);
      }
    }
  }

 private:
  Field field() {
    Field field;
    field.name = word();
    EXPECT_TRUE(accept(':')) << text_.substr(at_);
    field.type = type();
    if (accept('?')) {
      field.nullable = {};
      if (accept('(')) {
        field.nullable = versions();
        EXPECT_TRUE(accept(')'));
      }
    }
    if (accept('@')) field.versions = versions();
    return field;
  }

  std::shared_ptr<Type> type() {
    auto type = std::make_shared<Type>();
    if (accept('[')) {
      type->word = "array";
      type->element = this->type();
      EXPECT_TRUE(accept(']')) << text_.substr(at_);
    } else if (accept('{')) {
      type->word = "struct";
      type->fields = fields();
      EXPECT_TRUE(accept('}')) << text_.substr(at_);
    } else {
      type->word = word();
      while (at_ < text_.size() && std::isdigit(text_[at_]) != 0) type->word += text_[at_++];
    }
    return type;
  }

  Versions versions() {
    Versions found{number()};
    if (accept('+')) return found;
    found.last = accept('-') ? number() : found.first;
    return found;
  }

  std::string word() {
    std::string found;
    while (at_ < text_.size() && (std::isalpha(text_[at_]) != 0 || text_[at_] == '_')) {
      found += text_[at_++];
    }
    EXPECT_FALSE(found.empty()) << text_.substr(at_);
    return found;
  }
  int number() {
    int found = -1;
    const auto end = std::from_chars(text_.data() + at_, text_.data() + text_.size(), found).ptr;
    at_ = static_cast<std::size_t>(end - text_.data());
    return found;
  }
  bool accept(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// --- Messages from it ----------------------------------------------------------------------------

enum class Content { kFull, kLeast, kFullWithUnknownTags };

// Writes one message by its schema with distinct values. kLeast has nulls and empty arrays.
class Generator {
 public:
  Generator(int version, bool flexible, Content content)
      : version_(version), flexible_(flexible), content_(content) {}

  std::string message(const std::vector<Field>& fields) {
    structure(fields);
    return std::move(bytes_);
  }

 private:
  bool least() const { return content_ == Content::kLeast; }

  void structure(const std::vector<Field>& fields) {
    for (const Field& field : fields) {
      if (field.tag < 0 && field.versions.have(version_)) value(field);
    }
    if (!flexible_) return;
    std::vector<std::string> tags;
    for (const Field& field : fields) {
      if (field.tag < 0 || !field.versions.have(version_) || least()) continue;
      std::string outer = std::exchange(bytes_, {});
      value(field);
      std::string content = std::exchange(bytes_, std::move(outer));
      tags.push_back(unsigned_text(static_cast<std::uint64_t>(field.tag)) +
                     unsigned_text(content.size()) + content);
    }
    if (content_ == Content::kFullWithUnknownTags) tags.push_back(std::string("\x4d\x03new"));
    bytes_ += unsigned_text(tags.size());
    for (const std::string& tag : tags) bytes_ += tag;
  }

  void value(const Field& field) {
    const std::string& word = field.type->word;
    if (word == "struct" && field.nullable.have(version_)) {
      big(1, least() ? -1 : 1);
      return least() ? void() : value(*field.type);
    }
    if (least() && field.nullable.have(version_)) return length(word, -1);
    if (word != "array") return value(*field.type);
    const int count = least() ? 0 : 2;
    length(word, count);
    for (int i = 0; i < count; ++i) value(*field.type->element);
  }

  void value(const Type& type) {
    if (type.word == "struct") return structure(type.fields);
    ++counter_;
    if (type.word == "bool") return big(1, 1);
    if (type.word == "uuid") {
      for (int i = 0; i < 16; ++i) big(1, counter_ + i);
    } else if (type.word.front() == 'i' || type.word == "f64") {
      big(std::stoi(type.word.substr(1)) / 8, counter_);
    } else {
      const std::string text = least() ? "" : fmt::format("{}-{}", type.word, counter_);
      length(type.word, static_cast<std::int64_t>(text.size()));
      bytes_ += text;
    }
  }

  void length(std::string_view word, std::int64_t length) {
    if (flexible_) {
      bytes_ += unsigned_text(static_cast<std::uint64_t>(length + 1));
    } else {
      big(word == "str" ? 2 : 4, length);
    }
  }

  void big(int size, std::int64_t number) {
    for (int i = size - 1; i >= 0; --i) bytes_ += static_cast<char>(number >> (8 * i));
  }
  static std::string unsigned_text(std::uint64_t number) {
    std::string text;
    for (; number >= 0x80; number >>= 7) text += static_cast<char>(0x80 | (number & 0x7f));
    return text + static_cast<char>(number);
  }

  const int version_;
  const bool flexible_;
  const Content content_;
  std::int64_t counter_ = 0;
  std::string bytes_;
};

// --- The layouts ---------------------------------------------------------------------------------

struct Layout {
  ApiKey api;
  int flexible_from;
  std::string_view request;
  std::string_view response;
};

constexpr int kNever = 99;
const Layout kLayouts[] = {
    {ApiKey::kProduce, 9,
     "transactional_id:str?@3+ acks:i16 timeout_ms:i32 "
     "topic_data:[{name:str partition_data:[{index:i32 records:records?}]}]",
     "responses:[{name:str partition_responses:[{index:i32 error_code:i16 base_offset:i64 "
     "log_append_time_ms:i64@2+ log_start_offset:i64@5+ record_errors:[{batch_index:i32 "
     "batch_index_error_message:str?}]@8+ error_message:str?@8+}]}] throttle_time_ms:i32@1+"},
    {ApiKey::kFetch, 12,
     "<tag0 cluster_id:str?@12+> replica_id:i32 max_wait_ms:i32 min_bytes:i32 max_bytes:i32@3+ "
     "isolation_level:i8@4+ session_id:i32@7+ session_epoch:i32@7+ topics:[{topic:str@0-12 "
     "topic_id:uuid@13 partitions:[{partition:i32 current_leader_epoch:i32@9+ fetch_offset:i64 "
     "last_fetched_epoch:i32@12+ log_start_offset:i64@5+ partition_max_bytes:i32}]}] "
     "forgotten_topics_data:[{topic:str@7-12 topic_id:uuid@13 partitions:[i32]}]@7+ "
     "rack_id:str@11+",
     "throttle_time_ms:i32@1+ error_code:i16@7+ session_id:i32@7+ responses:[{topic:str@0-12 "
     "topic_id:uuid@13 partitions:[{partition_index:i32 error_code:i16 high_watermark:i64 "
     "last_stable_offset:i64@4+ log_start_offset:i64@5+ "
     "<tag0 diverging_epoch:{epoch:i32 end_offset:i64}@12+> "
     "<tag1 current_leader:{leader_id:i32 leader_epoch:i32}@12+> "
     "<tag2 snapshot_id:{end_offset:i64 epoch:i32}@12+> "
     "aborted_transactions:[{producer_id:i64 first_offset:i64}]?@4+ "
     "preferred_read_replica:i32@11+ records:records?}]}]"},
    {ApiKey::kListOffsets, 6,
     "replica_id:i32 isolation_level:i8@2+ topics:[{name:str partitions:[{partition_index:i32 "
     "current_leader_epoch:i32@4+ timestamp:i64 max_num_offsets:i32@0}]}]",
     "throttle_time_ms:i32@2+ topics:[{name:str partitions:[{partition_index:i32 error_code:i16 "
     "old_style_offsets:[i64]@0 timestamp:i64@1+ offset:i64@1+ leader_epoch:i32@4+}]}]"},
    {ApiKey::kMetadata, 9,
     "topics:[{topic_id:uuid@10+ name:str?(10+)}]?(1+) allow_auto_topic_creation:bool@4+ "
     "include_cluster_authorized_operations:bool@8-10 include_topic_authorized_operations:bool@8+",
     "throttle_time_ms:i32@3+ brokers:[{node_id:i32 host:str port:i32 rack:str?@1+}] "
     "cluster_id:str?@2+ controller_id:i32@1+ topics:[{error_code:i16 name:str?(12) "
     "topic_id:uuid@10+ is_internal:bool@1+ partitions:[{error_code:i16 partition_index:i32 "
     "leader_id:i32 leader_epoch:i32@7+ replica_nodes:[i32] isr_nodes:[i32] "
     "offline_replicas:[i32]@5+}] topic_authorized_operations:i32@8+}] "
     "cluster_authorized_operations:i32@8-10"},
    {ApiKey::kOffsetCommit, 8,
     "group_id:str generation_id:i32@1+ member_id:str@1+ group_instance_id:str?@7+ "
     "retention_time_ms:i64@2-4 topics:[{name:str partitions:[{partition_index:i32 "
     "committed_offset:i64 committed_leader_epoch:i32@6+ commit_timestamp:i64@1 "
     "committed_metadata:str?}]}]",
     "throttle_time_ms:i32@3+ topics:[{name:str partitions:[{partition_index:i32 "
     "error_code:i16}]}]"},
    {ApiKey::kOffsetFetch, 6,
     "group_id:str@0-7 topics:[{name:str partition_indexes:[i32]}]?(2+)@0-7 "
     "groups:[{group_id:str topics:[{name:str partition_indexes:[i32]}]?}]@8 "
     "require_stable:bool@7+",
     "throttle_time_ms:i32@3+ topics:[{name:str partitions:[{partition_index:i32 "
     "committed_offset:i64 committed_leader_epoch:i32@5+ metadata:str? error_code:i16}]}]@0-7 "
     "error_code:i16@2-7 groups:[{group_id:str topics:[{name:str partitions:[{partition_index:i32 "
     "committed_offset:i64 committed_leader_epoch:i32 metadata:str? error_code:i16}]}] "
     "error_code:i16}]@8"},
    {ApiKey::kFindCoordinator, 3, "key:str@0-3 key_type:i8@1+ coordinator_keys:[str]@4",
     "throttle_time_ms:i32@1+ error_code:i16@0-3 error_message:str?@1-3 node_id:i32@0-3 "
     "host:str@0-3 port:i32@0-3 coordinators:[{key:str node_id:i32 host:str port:i32 "
     "error_code:i16 error_message:str?}]@4"},
    {ApiKey::kJoinGroup, 6,
     "group_id:str session_timeout_ms:i32 rebalance_timeout_ms:i32@1+ member_id:str "
     "group_instance_id:str?@5+ protocol_type:str protocols:[{name:str metadata:bytes}]",
     "throttle_time_ms:i32@2+ error_code:i16 generation_id:i32 protocol_type:str?@7 "
     "protocol_name:str?(7) leader:str member_id:str members:[{member_id:str "
     "group_instance_id:str?@5+ metadata:bytes}]"},
    {ApiKey::kHeartbeat, 4,
     "group_id:str generation_id:i32 member_id:str group_instance_id:str?@3+",
     "throttle_time_ms:i32@1+ error_code:i16"},
    {ApiKey::kLeaveGroup, 4,
     "group_id:str member_id:str@0-2 members:[{member_id:str group_instance_id:str?}]@3+",
     "throttle_time_ms:i32@1+ error_code:i16 members:[{member_id:str group_instance_id:str? "
     "error_code:i16}]@3+"},
    {ApiKey::kSyncGroup, 4,
     "group_id:str generation_id:i32 member_id:str group_instance_id:str?@3+ "
     "protocol_type:str?@5 protocol_name:str?@5 assignments:[{member_id:str assignment:bytes}]",
     "throttle_time_ms:i32@1+ error_code:i16 protocol_type:str?@5 protocol_name:str?@5 "
     "assignment:bytes"},
    {ApiKey::kDescribeGroups, 5, "groups:[str] include_authorized_operations:bool@3+",
     "throttle_time_ms:i32@1+ groups:[{error_code:i16 group_id:str group_state:str "
     "protocol_type:str protocol_data:str members:[{member_id:str group_instance_id:str?@4+ "
     "client_id:str client_host:str member_metadata:bytes member_assignment:bytes}] "
     "authorized_operations:i32@3+}]"},
    {ApiKey::kListGroups, 3, "states_filter:[str]@4+ types_filter:[str]@5+",
     "throttle_time_ms:i32@1+ error_code:i16 groups:[{group_id:str protocol_type:str "
     "group_state:str@4+ group_type:str@5+}]"},
    {ApiKey::kSaslHandshake, kNever, "mechanism:str", "error_code:i16 mechanisms:[str]"},
    {ApiKey::kApiVersions, 3, "client_software_name:str@3 client_software_version:str@3",
     "error_code:i16 api_keys:[{api_key:i16 min_version:i16 max_version:i16}] "
     "throttle_time_ms:i32@1+ "
     "<tag0 supported_features:[{name:str min_version:i16 max_version:i16}]@3> "
     "<tag1 finalized_features_epoch:i64@3> "
     "<tag2 finalized_features:[{name:str max_version_level:i16 min_version_level:i16}]@3> "
     "<tag3 zk_migration_ready:bool@3>"},
    {ApiKey::kCreateTopics, 5,
     "topics:[{name:str num_partitions:i32 replication_factor:i16 "
     "assignments:[{partition_index:i32 broker_ids:[i32]}] configs:[{name:str value:str?}]}] "
     "timeout_ms:i32 validate_only:bool@1+",
     "throttle_time_ms:i32@2+ topics:[{name:str topic_id:uuid@7 error_code:i16 "
     "error_message:str?@1+ <tag0 topic_config_error_code:i16@5+> num_partitions:i32@5+ "
     "replication_factor:i16@5+ configs:[{name:str value:str? read_only:bool config_source:i8 "
     "is_sensitive:bool}]?@5+}]"},
    {ApiKey::kDeleteTopics, 4,
     "topics:[{name:str? topic_id:uuid}]@6 topic_names:[str]@0-5 timeout_ms:i32",
     "throttle_time_ms:i32@1+ responses:[{name:str?(6) topic_id:uuid@6 error_code:i16 "
     "error_message:str?@5+}]"},
    {ApiKey::kDeleteRecords, 2,
     "topics:[{name:str partitions:[{partition_index:i32 offset:i64}]}] timeout_ms:i32",
     "throttle_time_ms:i32 topics:[{name:str partitions:[{partition_index:i32 low_watermark:i64 "
     "error_code:i16}]}]"},
    {ApiKey::kInitProducerId, 2,
     "transactional_id:str? transaction_timeout_ms:i32 producer_id:i64@3+ producer_epoch:i16@3+",
     "throttle_time_ms:i32 error_code:i16 producer_id:i64 producer_epoch:i16"},
    {ApiKey::kOffsetForLeaderEpoch, 4,
     "replica_id:i32@3+ topics:[{topic:str partitions:[{partition:i32 "
     "current_leader_epoch:i32@2+ leader_epoch:i32}]}]",
     "throttle_time_ms:i32@2+ topics:[{topic:str partitions:[{error_code:i16 partition:i32 "
     "leader_epoch:i32@1+ end_offset:i64}]}]"},
    {ApiKey::kAddPartitionsToTxn, 3,
     "transactional_id:str producer_id:i64 producer_epoch:i16 topics:[{name:str "
     "partitions:[i32]}]",
     "throttle_time_ms:i32 results_by_topic:[{name:str results_by_partition:[{partition_index:i32 "
     "partition_error_code:i16}]}]"},
    {ApiKey::kAddOffsetsToTxn, 3,
     "transactional_id:str producer_id:i64 producer_epoch:i16 group_id:str",
     "throttle_time_ms:i32 error_code:i16"},
    {ApiKey::kEndTxn, 3, "transactional_id:str producer_id:i64 producer_epoch:i16 committed:bool",
     "throttle_time_ms:i32 error_code:i16"},
    {ApiKey::kTxnOffsetCommit, 3,
     "transactional_id:str group_id:str producer_id:i64 producer_epoch:i16 generation_id:i32@3 "
     "member_id:str@3 group_instance_id:str?@3 topics:[{name:str partitions:[{partition_index:i32 "
     "committed_offset:i64 committed_leader_epoch:i32@2+ committed_metadata:str?}]}]",
     "throttle_time_ms:i32 topics:[{name:str partitions:[{partition_index:i32 error_code:i16}]}]"},
    {ApiKey::kDescribeAcls, 2,
     "resource_type_filter:i8 resource_name_filter:str? pattern_type_filter:i8@1+ "
     "principal_filter:str? host_filter:str? operation:i8 permission_type:i8",
     "throttle_time_ms:i32 error_code:i16 error_message:str? resources:[{resource_type:i8 "
     "resource_name:str pattern_type:i8@1+ acls:[{principal:str host:str operation:i8 "
     "permission_type:i8}]}]"},
    {ApiKey::kDescribeConfigs, 4,
     "resources:[{resource_type:i8 resource_name:str configuration_keys:[str]?}] "
     "include_synonyms:bool@1+ include_documentation:bool@3+",
     "throttle_time_ms:i32 results:[{error_code:i16 error_message:str? resource_type:i8 "
     "resource_name:str configs:[{name:str value:str? read_only:bool is_default:bool@0 "
     "config_source:i8@1+ is_sensitive:bool synonyms:[{name:str value:str? source:i8}]@1+ "
     "config_type:i8@3+ documentation:str?@3+}]}]"},
    {ApiKey::kAlterConfigs, 2,
     "resources:[{resource_type:i8 resource_name:str configs:[{name:str value:str?}]}] "
     "validate_only:bool",
     "throttle_time_ms:i32 responses:[{error_code:i16 error_message:str? resource_type:i8 "
     "resource_name:str}]"},
    {ApiKey::kDescribeLogDirs, 2, "topics:[{topic:str partitions:[i32]}]?",
     "throttle_time_ms:i32 error_code:i16@3+ results:[{error_code:i16 log_dir:str "
     "topics:[{name:str "
     "partitions:[{partition_index:i32 partition_size:i64 offset_lag:i64 is_future_key:bool}]}] "
     "total_bytes:i64@4+ usable_bytes:i64@4+}]"},
    {ApiKey::kSaslAuthenticate, 2, "auth_bytes:bytes",
     "error_code:i16 error_message:str? auth_bytes:bytes session_lifetime_ms:i64@1+"},
    {ApiKey::kCreatePartitions, 2,
     "topics:[{name:str count:i32 assignments:[{broker_ids:[i32]}]?}] timeout_ms:i32 "
     "validate_only:bool",
     "throttle_time_ms:i32 results:[{name:str error_code:i16 error_message:str?}]"},
    {ApiKey::kDeleteGroups, 2, "groups_names:[str]",
     "throttle_time_ms:i32 results:[{group_id:str error_code:i16}]"},
    {ApiKey::kElectLeaders, 2,
     "election_type:i8@1+ topic_partitions:[{topic:str partitions:[i32]}]? timeout_ms:i32",
     "throttle_time_ms:i32 error_code:i16@1+ replica_election_results:[{topic:str "
     "partition_result:[{partition_id:i32 error_code:i16 error_message:str?}]}]"},
    {ApiKey::kIncrementalAlterConfigs, 1,
     "resources:[{resource_type:i8 resource_name:str configs:[{name:str config_operation:i8 "
     "value:str?}]}] validate_only:bool",
     "throttle_time_ms:i32 responses:[{error_code:i16 error_message:str? resource_type:i8 "
     "resource_name:str}]"},
    {ApiKey::kListPartitionReassignments, 0,
     "timeout_ms:i32 topics:[{name:str partition_indexes:[i32]}]?",
     "throttle_time_ms:i32 error_code:i16 error_message:str? topics:[{name:str "
     "partitions:[{partition_index:i32 replicas:[i32] adding_replicas:[i32] "
     "removing_replicas:[i32]}]}]"},
    {ApiKey::kOffsetDelete, kNever,
     "group_id:str topics:[{name:str partitions:[{partition_index:i32}]}]",
     "error_code:i16 throttle_time_ms:i32 topics:[{name:str partitions:[{partition_index:i32 "
     "error_code:i16}]}]"},
    {ApiKey::kDescribeClientQuotas, 1,
     "components:[{entity_type:str match_type:i8 match:str?}] strict:bool",
     "throttle_time_ms:i32 error_code:i16 error_message:str? entries:[{entity:[{entity_type:str "
     "entity_name:str?}] values:[{key:str value:f64}]}]?"},
    {ApiKey::kDescribeUserScramCredentials, 0, "users:[{name:str}]?",
     "throttle_time_ms:i32 error_code:i16 error_message:str? results:[{user:str error_code:i16 "
     "error_message:str? credential_infos:[{mechanism:i8 iterations:i32}]}]"},
    {ApiKey::kDescribeCluster, 0, "include_cluster_authorized_operations:bool endpoint_type:i8@1+",
     "throttle_time_ms:i32 error_code:i16 error_message:str? endpoint_type:i8@1+ cluster_id:str "
     "controller_id:i32 brokers:[{broker_id:i32 host:str port:i32 rack:str?}] "
     "cluster_authorized_operations:i32"},
    {ApiKey::kListTransactions, 0,
     "state_filters:[str] producer_id_filters:[i64] duration_filter:i64@1+",
     "throttle_time_ms:i32 error_code:i16 unknown_state_filters:[str] "
     "transaction_states:[{transactional_id:str producer_id:i64 transaction_state:str}]"},
    {ApiKey::kDescribeTopicPartitions, 0,
     "topics:[{name:str}] response_partition_limit:i32 "
     "cursor:{topic_name:str partition_index:i32}?",
     "throttle_time_ms:i32 topics:[{error_code:i16 name:str? topic_id:uuid is_internal:bool "
     "partitions:[{error_code:i16 partition_index:i32 leader_id:i32 leader_epoch:i32 "
     "replica_nodes:[i32] isr_nodes:[i32] eligible_leader_replicas:[i32]? last_known_elr:[i32]? "
     "offline_replicas:[i32]}] topic_authorized_operations:i32}] "
     "next_cursor:{topic_name:str partition_index:i32}?"},
};

// --- The tests -----------------------------------------------------------------------------------

enum class Side { kRequest, kResponse };

// Decodes and encodes again; the error as text when it cannot be decoded.
Result<Slice> again(Side side, ApiKey api, std::int16_t version, const Slice& body) {
  Writer writer;
  if (side == Side::kRequest) {
    TRY(const AnyRequest request, decode_any_request(api, version, body));
    EXPECT_EQ(api_of(request), api);
    encode_any_body(writer, request, version);
  } else {
    TRY(const AnyResponse response, decode_any_response(api, version, body));
    EXPECT_EQ(api_of(response), api);
    encode_any_body(writer, response, version);
  }
  return joined(std::move(writer));
}

// Calls check(layout, side, fields, version) for everything in the table of api.h.
template <class Check>
void for_every_message(Check check) {
  for (const Layout& layout : kLayouts) {
    for (const Side side : {Side::kRequest, Side::kResponse}) {
      const std::string_view schema = side == Side::kRequest ? layout.request : layout.response;
      const std::vector<Field> fields = SchemaParser(schema).fields();
      const ApiInfo& api = api_info(layout.api);
      for (int version = api.version_min; version <= api.version_max; ++version) {
        SCOPED_TRACE(fmt::format("{} {} version {}", api.name,
                                 side == Side::kRequest ? "request" : "response", version));
        check(layout, side, fields, static_cast<std::int16_t>(version));
      }
    }
  }
}

Slice generated(const Layout& layout, const std::vector<Field>& fields, int version,
                Content content) {
  Generator generator(version, version >= layout.flexible_from, content);
  return Slice::copy_of(generator.message(fields));
}

TEST(Schema, HasALayoutForEveryApiOfTheTable) {
  ASSERT_EQ(std::size(kLayouts), apis().size());
  for (std::size_t i = 0; i < apis().size(); ++i) {
    EXPECT_EQ(kLayouts[i].api, apis()[i].key);
    const bool flexible = kLayouts[i].flexible_from <= apis()[i].version_max;
    EXPECT_EQ(flexible, apis()[i].flexible(apis()[i].version_max)) << apis()[i].name;
  }
}

TEST(Schema, EveryMessageIsReadAndWrittenAsPublished) {
  int messages = 0;
  for_every_message([&](const Layout& layout, Side side, const auto& fields, std::int16_t version) {
    for (const Content content : {Content::kFull, Content::kLeast}) {
      const Slice bytes = generated(layout, fields, version, content);
      const auto written = again(side, layout.api, version, bytes);
      ASSERT_TRUE(written.has_value()) << written.error().message() << "\n" << hex(bytes);
      EXPECT_EQ(hex(*written), hex(bytes));
      ++messages;
    }
  });
  EXPECT_GT(messages, 500);
}

TEST(Schema, UnknownTagsAreSkipped) {
  for_every_message([](const Layout& layout, Side side, const auto& fields, std::int16_t version) {
    const Slice plain = generated(layout, fields, version, Content::kFull);
    const Slice tagged = generated(layout, fields, version, Content::kFullWithUnknownTags);
    const auto written = again(side, layout.api, version, tagged);
    ASSERT_TRUE(written.has_value()) << written.error().message();
    EXPECT_EQ(hex(*written), hex(plain));
  });
}

TEST(Schema, AMessageCutAnywhereIsRefused) {
  for_every_message([](const Layout& layout, Side side, const auto& fields, std::int16_t version) {
    const Slice bytes = generated(layout, fields, version, Content::kFull);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto written = again(side, layout.api, version, bytes.sub(0, size));
      ASSERT_FALSE(written.has_value()) << size << " of " << bytes.size() << " bytes";
      EXPECT_EQ(written.error().code, Errc::kCorrupt);
    }
  });
}

TEST(Schema, VersionsOutsideTheTableAreRefused) {
  for (const ApiInfo& api : apis()) {
    for (const int version : {api.version_min - 1, api.version_max + 1}) {
      const auto request = decode_any_request(api.key, static_cast<std::int16_t>(version), {});
      ASSERT_FALSE(request.has_value());
      EXPECT_EQ(request.error().code, Errc::kUnsupported);
    }
  }
  EXPECT_EQ(decode_any_request(static_cast<ApiKey>(68), 0, {}).error().code, Errc::kUnsupported);
}

}  // namespace
}  // namespace moraine::kafka
