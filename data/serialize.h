#pragma once

#include <string>

namespace google::protobuf {
class MessageLite;
}

namespace towerflow {

/// The bytes of a protocol buffer. Throws InvalidArgumentError for 2 GiB or more, which no reader
/// takes.
std::string serialize_message(const google::protobuf::MessageLite& message);

}  // namespace towerflow
