// Time is a type, and only a Clock (runtime/clock.hpp) can tell it. The types are public: fenceline/time.hpp.
#pragma once

#include "fenceline/time.hpp"
