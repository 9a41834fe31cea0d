#pragma once

#include <string>

namespace google::protobuf {
class MessageLite;
}

namespace towerflow {

/// Serializes a message. Throws InvalidArgumentError for 2 GiB or more, which protobuf cannot
/// parse.
std::string serialize_message(const google::protobuf::MessageLite& message);

}  // namespace towerflow
