// Any sequence of changes of a map: the same pairs in the same order as in a plain list of pairs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "yson/node.h"

namespace {

using namespace moraine;
using Model = std::vector<std::pair<std::string, std::int64_t>>;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

// Few distinct keys, some of which share their first eight bytes.
std::string key_of(std::uint8_t byte) {
  std::string key = (byte & 1) != 0 ? "prefix of eight" : "";
  key.push_back(static_cast<char>('a' + byte % 53));
  if (byte % 7 == 0) key.push_back('\0');
  return key;
}

void check(const YsonMap& map, const Model& model) {
  require(map.size() == model.size());
  for (std::size_t at = 0; at < model.size(); ++at) {
    require(map.pair(at).key == model[at].first);
    require(map.find(model[at].first) == &map.pair(at).node);
    require(*map.pair(at).node.as<std::int64_t>() == model[at].second);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  YsonMap map;
  Model model;
  for (std::size_t at = 0; at + 1 < size && at < 1000; at += 2) {
    const std::string key = key_of(data[at + 1]);
    const auto value = static_cast<std::int64_t>(at);
    const auto found = std::ranges::find(model, key, &Model::value_type::first);
    require((map.find(key) != nullptr) == (found != model.end()));
    switch (data[at] % 8) {
      case 0:
        require(map.erase(key) == (found != model.end()));
        if (found != model.end()) model.erase(found);
        break;
      case 1: {
        const auto odd = [](std::int64_t number) { return number % 6 == 2; };
        map.erase_if([&odd](const YsonPair& pair) { return odd(*pair.node.as<std::int64_t>()); });
        std::erase_if(model, [&odd](const auto& pair) { return odd(pair.second); });
        break;
      }
      case 2: map = YsonMap(map); break;
      default:
        map.set(key, value);
        if (found != model.end()) {
          found->second = value;
        } else {
          model.emplace_back(key, value);
        }
        break;
    }
  }
  check(map, model);
  return 0;
}
