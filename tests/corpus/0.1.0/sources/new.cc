/* Memory from C, for platforms whose C++ library isn't linked. */
#include <cstdlib>
#include <new>

void *operator new(std::size_t size) { return std::malloc(size); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
