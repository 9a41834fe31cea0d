#pragma once

#include <string>

#include "core/graph/array.h"
#include "core/graph/tensor.h"
#include "data/record_share.h"
#include "ops/data_flow/queue.h"

namespace towerflow::data::types {

/// Bytes of one record of CIFAR-10's binary version: a label, then the red, green and blue planes
/// of 32 x 32 bytes, each row by row (https://www.cs.toronto.edu/~kriz/cifar.html).
inline constexpr std::int64_t kCifar10RecordBytes = 1 + 3 * 32 * 32;

/// Images of CIFAR-10 and as many labels.
struct Cifar10Set {
  Array images;  ///< uint8 (N, 32, 32, 3)
  Array labels;  ///< uint8 (N), 0 to 9
};

}  // namespace towerflow::data::types

namespace towerflow::data {

/// Reads one file of CIFAR-10's binary version, plain or gzip (told apart by the first bytes).
/// Throws DataLossError, with the file's name and the numbers, for a size that is not a multiple of
/// the record size, an empty file or a label above 9; ResourceExhaustedError for more than a
/// million records. Allocates only as much memory as the file has data.
Cifar10Set read_cifar10_file(const std::string& path);

/// Reads the five files `data_batch_1.bin` .. `data_batch_5.bin` of a folder ("train") in this
/// order, or its `test_batch.bin` ("test"); each may end in ".gz". Throws InvalidArgumentError for
/// another name, NotFoundError if a file is missing.
Cifar10Set read_cifar10_set(const std::string& folder, const std::string& name);

}  // namespace towerflow::data

namespace towerflow::types {

/// One image of CIFAR-10 in a graph.
struct Cifar10Example {
  Tensor key;    ///< string []: "path:record number"
  Tensor label;  ///< int32 [1], 0 to 9 in the files of CIFAR-10
  Tensor image;  ///< uint8 [32, 32, 3]
};

}  // namespace towerflow::types

namespace towerflow {

/// Returns the next image of CIFAR-10's binary files, whose names come from `filename_queue`:
/// builds a FixedLengthRecordReader, which reads a share of the records, and the ops that split
/// them.
///
/// errors   those of a reader. Unlike `data::read_cifar10_file`, it ignores a partial record at the
///          end of a file and does not check labels
/// source   read_cifar10 of TensorFlow's CIFAR-10 tutorial
Cifar10Example read_cifar10(const QueueBase& filename_queue, data::RecordShare share = {},
                            Site site = Site::current());

}  // namespace towerflow
