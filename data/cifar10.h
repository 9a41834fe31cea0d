#pragma once

#include <string>

#include "core/graph/array.h"
#include "core/graph/tensor.h"
#include "ops/data_flow/queue.h"

namespace towerflow::data::types {

/// Bytes of one record of CIFAR-10's binary version: a label, then 32 x 32 bytes of red, of green
/// and of blue, each row by row (https://www.cs.toronto.edu/~kriz/cifar.html).
inline constexpr std::int64_t kCifar10RecordBytes = 1 + 3 * 32 * 32;

/// Pictures of CIFAR-10, of equal number.
struct Cifar10Set {
  Array images;  ///< uint8 (N, 32, 32, 3)
  Array labels;  ///< uint8 (N), 0 to 9
};

}  // namespace towerflow::data::types

namespace towerflow::data {

/// Reads one file of CIFAR-10's binary version, plain or gzip, by its first bytes. DataLossError,
/// with the file's name and the figures, for a file that holds no whole number of records, none at
/// all, or a label above 9; ResourceExhaustedError for more than a million records. Memory is taken
/// only as far as the file holds data.
Cifar10Set read_cifar10_file(const std::string& path);

/// Reads the five files `data_batch_1.bin` .. `data_batch_5.bin` of a folder ("train"), one after
/// another, or its `test_batch.bin` ("test"); each may end in ".gz". InvalidArgumentError for
/// another name, NotFoundError where a file is absent.
Cifar10Set read_cifar10_set(const std::string& folder, const std::string& name);

}  // namespace towerflow::data

namespace towerflow::types {

/// One picture of CIFAR-10 in a graph.
struct Cifar10Example {
  Tensor key;    ///< string []: "path:number of the record"
  Tensor label;  ///< int32 [1], 0 to 9 in the files of CIFAR-10
  Tensor image;  ///< uint8 [32, 32, 3]
};

}  // namespace towerflow::types

namespace towerflow {

/// The next picture of CIFAR-10's binary files, whose names come from `filename_queue`: a
/// FixedLengthRecordReader and the operations that cut its records up.
///
/// errors   those of a reader; bytes at a file's end that make no whole record are passed over, and
///          labels are not looked at: `data::read_cifar10_file` checks both
/// source   read_cifar10 of TensorFlow's CIFAR-10 tutorial
Cifar10Example read_cifar10(const QueueBase& filename_queue, Site site = Site::current());

}  // namespace towerflow
