/* Includes the file of op_native: the same lines in another module. */
#include "op_native.c"
