// Small text files: read whole within a bound, written whole or not at all.
//
// Errors     As disk_error() of io/real/disk_file.h; kInvalidArgument past the bound.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace moraine {

inline constexpr std::size_t kTextFileBytesMax = std::size_t{4} << 20;

// "-" is standard input.
Result<Slice> read_bytes(const std::string& path, std::size_t bytes_max);
Result<std::string> read_text(const std::string& path);
// Replaces the file; durable when this returns.
Result<void> write_text(const std::string& path, std::string_view text);
// Whether write_bytes() can write there; changes nothing. kInvalidArgument: the text says why not.
Result<void> check_output(const std::string& path);
// "-" is standard output. kInvalidArgument: the file cannot be opened.
Result<void> write_bytes(const std::string& path, ByteSpan bytes);

}  // namespace moraine
