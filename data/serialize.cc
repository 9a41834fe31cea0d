#include "data/serialize.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message_lite.h>

#include <limits>

#include "core/graph/error.h"

namespace towerflow {

std::string serialize_deterministically(const google::protobuf::MessageLite& message) {
  const std::size_t size = message.ByteSizeLong();
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw errors::InvalidArgumentError(fmt::format(
        "a {} of {} bytes: protocol buffers hold less than 2 GiB", message.GetTypeName(), size));
  std::string bytes(size, '\0');
  // Into memory that is there already: a stream that grows a string ends the process when the
  // string gets no memory.
  google::protobuf::io::ArrayOutputStream stream(bytes.data(), static_cast<int>(size));
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  return bytes;
}

}  // namespace towerflow
