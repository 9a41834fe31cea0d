#include "data/serialize.h"

#include <fmt/format.h>
#include <google/protobuf/message_lite.h>

#include <limits>

#include "core/graph/error.h"

namespace towerflow {

std::string serialize_message(const google::protobuf::MessageLite& message) {
  const std::size_t size = message.ByteSizeLong();
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw errors::InvalidArgumentError(fmt::format(
        "a {} of {} bytes: protocol buffers hold less than 2 GiB", message.GetTypeName(), size));
  // Not into one of protobuf's streams, which terminate the process if they get no memory.
  return message.SerializeAsString();
}

}  // namespace towerflow
