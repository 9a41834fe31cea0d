#include "data/cifar10.h"

#include "data/file_readers.h"
#include "ops/array/cast.h"
#include "ops/array/strided_slice.h"
#include "ops/array/transpose.h"
#include "ops/array/view.h"
#include "ops/data_flow/decode_raw.h"

namespace towerflow {

Cifar10Example read_cifar10(const QueueBase& filename_queue, data::RecordShare share, Site site) {
  const FixedLengthRecordReader reader(data::kCifar10RecordBytes, {}, site);
  const KeyValue record = reader.read(filename_queue, {.share = share}, site);
  const Tensor bytes = decode_raw(Operand(record.value, site), uint8, {}, site);
  const auto at = [&](std::int64_t place) {
    return Operand(Array::of<std::int32_t>(Shape{1}, {static_cast<std::int32_t>(place)}), site);
  };
  const Tensor label = strided_slice(bytes, at(0), at(1), {}, site);
  Cifar10Example example{record.key, cast(label, int32, {}, site), {}};
  const Tensor planes = strided_slice(bytes, at(1), at(data::kCifar10RecordBytes), {}, site);
  const Tensor by_colour = reshape(planes, {3, 32, 32}, {}, site);
  example.image = transpose(by_colour, {1, 2, 0}, {}, site);
  example.label.set_shape({1});
  return example;
}

}  // namespace towerflow
