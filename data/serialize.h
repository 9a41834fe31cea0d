#pragma once

#include <string>

namespace google::protobuf {
class MessageLite;
}

namespace towerflow {

/// The bytes of a protocol buffer, the same for equal messages: a map's order would else change
/// from run to run. Throws InvalidArgumentError for 2 GiB or more, which no reader takes.
std::string serialize_deterministically(const google::protobuf::MessageLite& message);

}  // namespace towerflow
