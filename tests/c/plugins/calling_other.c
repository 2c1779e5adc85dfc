/* calling.c as another library, whose code lies elsewhere in its image: who still has the address
 * of a function of calling.c finds no function here. */
__asm__(".text\n.skip 65536, 0\n");
#include "calling.c"
