// Verbs: the commands of the `yt` program, as data: names, arguments, what is called, what is
// printed.
//
// clang-format off
//   argument  = a positional word, an option `--name VALUE`, or either: `get //a`, `get --path //a`
//   parameter = its name in the call; `-` becomes `_` where nothing else is said
// clang-format on
//
// Promise    Plain data. Names and arguments are those of `yt`; what is more is marked "(moraine)"
//            in its help.
// Tests      arguments_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/yt_client/yt_error.h"
#include "yson/node.h"

namespace moraine::app {

struct YtSession;
struct YtArguments;

struct VerbArgument {
  enum class Kind : std::uint8_t {
    kFlag,   // Sets %true.
    kClear,  // Sets %false.
    kText,
    kInteger,
    kNumber,
    kYson,    // Maps that are given several times are merged.
    kPath,    // Relative ones begin at --prefix.
    kFormat,  // A name, or YSON with options.
  };
  enum class Place : std::uint8_t { kOption, kPositional, kEither };
  enum class Count : std::uint8_t {
    kOne,
    kRepeated,  // `--name A --name B`: a list.
    kSeveral,   // `--name A B`, or all positional words that are left: a list.
  };

  std::string_view name;
  Kind kind = Kind::kText;
  std::string_view help = {};
  char letter = 0;
  Place place = Place::kOption;
  Count count = Count::kOne;
  bool required = false;
  std::string_view parameter = {};
  std::string_view choices = {};  // Separated by '|'.
  bool local = false;             // For this program; not sent.

  std::string key() const;
  bool takes_value() const { return kind != Kind::kFlag && kind != Kind::kClear; }
};

struct Verb {
  // What of an answer is printed.
  enum class Prints : std::uint8_t {
    kNothing,
    kField,     // A scalar: the field `field` of a map.
    kDocument,  // The answer, in the format of --format, else as pretty YSON.
  };
  using Run = YtResult<int> (*)(YtSession& session, const Verb& verb, YtArguments& arguments);

  std::string_view name;
  std::string_view group;
  std::string_view help;
  std::string_view command;
  std::vector<VerbArgument> arguments = {};
  Prints prints = Prints::kNothing;
  std::string_view field = {};
  Run run = nullptr;  // Null: one call, and its answer.
  std::string_view example = {};
};

// All verbs, in the order of the help.
const std::vector<Verb>& yt_verbs();
// Null: none.
const Verb* find_verb(std::string_view name);

// Arguments that every verb has: connection, transaction, --params.
const std::vector<VerbArgument>& common_arguments();

}  // namespace moraine::app
