// The assignment protocol of a group, and the subscriptions of its members: pure functions.
#pragma once

#include <string>
#include <vector>

#include "gateway/kafka/groups/group_record.h"

namespace moraine::kafka {

// The metadata of members of type "consumer" is parsed here; that of others is opaque.
inline constexpr const char* kConsumerProtocolType = "consumer";

using ProtocolLists = std::vector<const std::vector<MemberProtocol>*>;

// Null when the member does not support it.
const MemberProtocol* find_protocol(const std::vector<MemberProtocol>& protocols,
                                    const std::string& name);

// Whether one of `protocols` is known to all of `others`.
bool has_common_protocol(const std::vector<MemberProtocol>& protocols, const ProtocolLists& others);

// The protocol with the most votes; each member votes for the first of its own that all support. A
// tie is broken by the preference of the earlier member. Requires: one is common to all.
std::string choose_protocol(const ProtocolLists& members);

// The same names in the same order, with the same bytes.
bool same_protocols(const std::vector<MemberProtocol>& a, const std::vector<MemberProtocol>& b);

// The same names in the same order, and the same subscribed topics: owned partitions may differ.
bool same_wishes(const std::string& type, const std::vector<MemberProtocol>& a,
                 const std::vector<MemberProtocol>& b);

// Whether a consumer subscribes to the topic; true if its metadata cannot be parsed.
bool wants_topic(const std::vector<MemberProtocol>& protocols, const std::string& topic);

}  // namespace moraine::kafka
