#include "gateway/kafka/groups/protocol_choice.h"

#include <algorithm>

#include "base/invariant.h"
#include "gateway/kafka/protocol/consumer_protocol.h"

namespace moraine::kafka {
namespace {

bool known_to_all(const std::string& name, const ProtocolLists& members) {
  return std::ranges::all_of(members, [&](const std::vector<MemberProtocol>* protocols) {
    return find_protocol(*protocols, name) != nullptr;
  });
}

bool same_topics(const Slice& a, const Slice& b) {
  auto left = decode_subscription(a);
  auto right = decode_subscription(b);
  if (!left || !right) return equal(a, b);
  std::ranges::sort(left->topics);
  std::ranges::sort(right->topics);
  return left->topics == right->topics;
}

}  // namespace

const MemberProtocol* find_protocol(const std::vector<MemberProtocol>& protocols,
                                    const std::string& name) {
  const auto found = std::ranges::find(protocols, name, &MemberProtocol::name);
  return found == protocols.end() ? nullptr : &*found;
}

bool has_common_protocol(const std::vector<MemberProtocol>& protocols,
                         const ProtocolLists& others) {
  return std::ranges::any_of(protocols, [&](const MemberProtocol& protocol) {
    return known_to_all(protocol.name, others);
  });
}

std::string choose_protocol(const ProtocolLists& members) {
  INVARIANT(!members.empty(), "a protocol is chosen by members");
  std::vector<std::string> common;  // In the order of the first member: it breaks ties.
  for (const MemberProtocol& protocol : *members.front()) {
    if (known_to_all(protocol.name, members)) common.push_back(protocol.name);
  }
  INVARIANT(!common.empty(), "members joined without a common protocol");
  std::vector<std::size_t> votes(common.size(), 0);
  for (const std::vector<MemberProtocol>* protocols : members) {
    for (const MemberProtocol& protocol : *protocols) {
      const auto at = std::ranges::find(common, protocol.name);
      if (at == common.end()) continue;
      ++votes[static_cast<std::size_t>(at - common.begin())];
      break;
    }
  }
  return common[static_cast<std::size_t>(std::ranges::max_element(votes) - votes.begin())];
}

bool same_protocols(const std::vector<MemberProtocol>& a, const std::vector<MemberProtocol>& b) {
  return std::ranges::equal(a, b, [](const MemberProtocol& x, const MemberProtocol& y) {
    return x.name == y.name && equal(x.metadata, y.metadata);
  });
}

bool same_wishes(const std::string& type, const std::vector<MemberProtocol>& a,
                 const std::vector<MemberProtocol>& b) {
  if (type != kConsumerProtocolType) return same_protocols(a, b);
  return std::ranges::equal(a, b, [](const MemberProtocol& x, const MemberProtocol& y) {
    return x.name == y.name && same_topics(x.metadata, y.metadata);
  });
}

bool wants_topic(const std::vector<MemberProtocol>& protocols, const std::string& topic) {
  return std::ranges::any_of(protocols, [&](const MemberProtocol& protocol) {
    const auto subscription = decode_subscription(protocol.metadata);
    return !subscription ||
           std::ranges::find(subscription->topics, topic) != subscription->topics.end();
  });
}

}  // namespace moraine::kafka
