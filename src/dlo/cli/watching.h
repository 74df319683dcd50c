#pragma once

#include <cstddef>
#include <string>

#include "dlo/cli/context.h"
#include "dlo/cli/selection.h"
#include "dlo/cli/watch.h"

namespace dlo::cli {

struct TailArguments {
  Selection selection;
  std::size_t last = 10;  // of what is there already
  bool once = false;      // what is there, and end
  Millis every{500};
};
/// Dead letters as they die.
int tail(Context& context, const TailArguments& arguments);

/// Numbers, groups, queues and jobs on one screen; without a terminal, once.
int top(Context& context);

struct PortableArguments {
  Selection selection;
  std::string file;     // empty: standard output or input
  bool reveal = false;  // masked places too
  bool masked = false;  // masks instead of them, in a file that no office takes in
  std::string form;     // of an export: in the words of a document (R14), for other programs
};
/// Dead letters as a file that another office can take in: everything known of each, a line each.
int export_letters(Context& context, const PortableArguments& arguments);
/// What is there already stays as it is; lines that are not understood are counted, never fatal.
int import_letters(Context& context, const PortableArguments& arguments);

struct DoctorArguments {
  bool deep = false;  // the whole audit trail too
};
/// Checks, each with what to do; the worst of them is the exit.
int doctor(Context& context, const DoctorArguments& arguments);

}  // namespace dlo::cli
