#pragma once

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/wire_format_lite.h>

#include <climits>
#include <cstdint>
#include <string_view>

#include "core/graph/error.h"

namespace towerflow::summary {

/// Maximum number of items, each of which takes more memory than its bytes: this many fit in
/// memory.
inline constexpr std::size_t kMostItems = 1U << 20;

/// Parses a message of at most 2 GiB; returns whether the bytes are valid. Silences protobuf, which
/// would report invalid UTF-8 in a damaged file on stderr each time; reporting is up to the caller.
inline bool parse_message(std::string_view bytes, google::protobuf::MessageLite& message) {
  const google::protobuf::LogSilencer silent;
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

/// Calls `take` with the bytes of each length-delimited field 1 of a message, one item at a time,
/// so that a message with millions of empty items is rejected before memory is allocated for them.
/// Throws DataLossError "damaged TYPE ..." and ResourceExhaustedError.
template <class Take>
void for_each_item(std::string_view bytes, const char* type, Take take) {
  namespace pb = google::protobuf;
  using pb::internal::WireFormatLite;
  const auto fail = [&] {
    throw errors::DataLossError(fmt::format("damaged {} of {} bytes", type, bytes.size()));
  };
  if (bytes.size() > INT_MAX) fail();
  pb::io::CodedInputStream input(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                 static_cast<int>(bytes.size()));
  constexpr auto kItem = WireFormatLite::MakeTag(1, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  std::size_t items = 0;
  while (const std::uint32_t tag = input.ReadTag()) {
    if (tag != kItem) {
      if (!WireFormatLite::SkipField(&input, tag)) fail();
      continue;
    }
    std::uint32_t length = 0;
    if (!input.ReadVarint32(&length)) fail();
    const auto begin = static_cast<std::size_t>(input.CurrentPosition());
    if (length > bytes.size() - begin) fail();
    if (++items > kMostItems) {
      throw errors::ResourceExhaustedError(
          fmt::format("a {} of more than {} items is refused", type, kMostItems));
    }
    if (!take(bytes.substr(begin, length))) fail();
    if (!input.Skip(static_cast<int>(length))) fail();
  }
  if (!input.ConsumedEntireMessage()) fail();
}

}  // namespace towerflow::summary
