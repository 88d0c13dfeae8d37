// Results, errors and codes are public: fenceline/result.hpp. Three kinds of trouble have three answers: the world said
// no (a Result), we have a bug (check()), a library throws (its adapter catches and returns an Error).
#pragma once

#include "fenceline/result.hpp"
