#pragma once

#include <string>

#include "dlo/cli/context.h"

namespace dlo::cli {

struct KeyArguments {
  std::string file;
  bool data_key = false;  // a new data key as well
};
/// A new master key, at the end of a key file that is made if it is not there.
int key_create(Context& context, const KeyArguments& arguments);
/// The master keys of the key file and the data keys of the office: ids, never secrets.
int key_list(Context& context);
/// Brings the office under the newest master key of the key file, and encrypts anew what is plain
/// or was encrypted with an older data key. After a kill, the same again goes on where it was.
int key_rotate(Context& context, const KeyArguments& arguments);

}  // namespace dlo::cli
