#pragma once

#include "dlo/store/sql/writer.h"
#include "dlo/store/sqlite/session.h"

namespace dlo::sqlite {

using Task = GroupTask<Session>;
using Writer = GroupWriter<Session>;

}  // namespace dlo::sqlite
