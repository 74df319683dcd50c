#pragma once

#include <string>

#include "dlo/cli/context.h"

namespace dlo::cli {

struct KeyArguments {
  std::string file;
};
/// A new master key, at the end of a key file that is made if it is not there.
int key_create(Context& context, const KeyArguments& arguments);
/// The master keys of the key file and the data keys of the office: ids, never secrets.
int key_list(Context& context);
/// Brings the office under the newest master key of the key file.
int key_rotate(Context& context);

}  // namespace dlo::cli
